//! Messages by their age and the delay of their reward: what campaigns that learn go by.

use clickhouse::Row;
use serde::Deserialize;

use super::{Cohort, outcomes::Among};
use crate::{Analytics, error::AnalyticsError};

const REWARDS: &str = include_str!("../sql/message_rewards.sql");

/// The age of a message whose reward window is over.
pub const CLOSED: u8 = u8::MAX;

/// The engagement that earns a reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewarded {
    /// The message is opened.
    Open,
    /// A link in it is clicked.
    Click,
    /// None of both: rewards are counted elsewhere, and no message has one here.
    Elsewhere,
}

/// What earns a reward, and how ages and delays are divided into intervals.
#[derive(Debug, Clone, Copy)]
pub struct RewardFilter {
    /// What earns a reward.
    pub rewarded: Rewarded,
    /// Milliseconds after its sending in which a message may earn it.
    pub window_ms: i64,
    /// The present in milliseconds since 1970.
    pub now_ms: i64,
    /// End of the first interval in milliseconds.
    pub first_interval_ms: i64,
    /// Intervals in which times double.
    pub intervals_a_doubling: u8,
    /// How many intervals there are.
    pub intervals: u8,
}

/// Messages of a variant of about the same age, with about the same delay of their reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct RewardGroup {
    /// The number of the variant in [`Cohort::variants`], from 1; 0 is any other.
    pub variant: u8,
    /// The interval of their age, or [`CLOSED`].
    pub age: u8,
    /// The interval of the delay; −1 without a reward.
    pub delay: i16,
    /// How many messages these are.
    pub messages: u64,
}

/// Counts messages by variant, age and delay of their reward.
///
/// # Errors
/// If ClickHouse is unavailable or the query exceeds its limits.
pub async fn rewards(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    filter: &RewardFilter,
) -> Result<Vec<RewardGroup>, AnalyticsError> {
    let Some(query) = cohort.ask(analytics, REWARDS, Among::All) else { return Ok(Vec::new()) };
    let query = query
        .param("clicks", filter.rewarded == Rewarded::Click)
        .param("counts_engagement", filter.rewarded != Rewarded::Elsewhere)
        .param("window_ms", filter.window_ms)
        .param("now_ms", filter.now_ms)
        .param("first_interval_ms", filter.first_interval_ms)
        .param("intervals_a_doubling", filter.intervals_a_doubling)
        .param("intervals", filter.intervals)
        .param("closed", CLOSED);
    query.fetch_all().await
}

//! How often messages earned a reward: what campaigns that learn go by.

use clickhouse::Row;
use serde::Deserialize;

use super::{Cohort, outcomes::Among};
use crate::{Analytics, error::AnalyticsError};

const REWARDS: &str = include_str!("../sql/message_rewards.sql");

/// What earns a reward.
#[derive(Debug, Clone, Copy)]
pub struct RewardFilter {
    /// A click; else an opening.
    pub by_clicks: bool,
    /// Milliseconds after its sending in which a message may earn it.
    pub window_ms: i64,
    /// Of messages sent until then, in milliseconds since 1970, it is known.
    pub settled_ms: i64,
}

/// What the messages of a variant earned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct Reward {
    /// The variant's place in [`Cohort::variants`], from 1; 0 is any other.
    pub variant: u8,
    /// Messages of which it is known: those whose time is over, and those rewarded before.
    pub sends: u64,
    /// Those of them that were rewarded.
    pub rewards: u64,
}

/// Counts rewards by variant.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn rewards(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    filter: &RewardFilter,
) -> Result<Vec<Reward>, AnalyticsError> {
    let Some(query) = cohort.ask(analytics, REWARDS, Among::All) else { return Ok(Vec::new()) };
    let query = query
        .param("clicks", filter.by_clicks)
        .param("window_ms", filter.window_ms)
        .param("settled_ms", filter.settled_ms);
    query.fetch_all().await
}

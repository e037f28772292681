//! People instead of messages: what comparisons count by.

use clickhouse::Row;
use serde::Deserialize;

use super::{Cohort, outcomes::Among};
use crate::{Analytics, error::AnalyticsError};

const PEOPLE_SUMS: &str = include_str!("../sql/message_people_sums.sql");
const MATURITY: &str = include_str!("../sql/message_maturity.sql");
const ASSIGNMENTS: &str = include_str!("../sql/message_assignments.sql");

/// Sums over the people of a variant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Row, Deserialize)]
pub struct PeopleSums {
    /// The variant's place in [`Cohort::variants`], from 1; 0 is any other, and a campaign without variants.
    pub variant: u8,
    /// People with a message that was sent, failed, was skipped or cancelled: of a variant after it was assigned.
    pub assigned: u64,
    /// People with a message that was sent.
    pub sent: u64,
    /// People of the control group.
    pub control: u64,
    /// People with a message that was sent and did not bounce: those of the sums below.
    pub reached: u64,
    /// Sum of their messages that were sent and did not bounce.
    pub messages: u64,
    /// Sum of the squares of each person's messages.
    pub messages_squared: u64,
    /// Sum of their opened messages.
    pub opened: u64,
    /// Sum of the squares of each person's opened messages.
    pub opened_squared: u64,
    /// Sum of each person's opened messages times their messages.
    pub opened_messages: u64,
    /// Sum of their clicked messages.
    pub clicked: u64,
    /// Sum of the squares of each person's clicked messages.
    pub clicked_squared: u64,
    /// Sum of each person's clicked messages times their messages.
    pub clicked_messages: u64,
}

/// Counts people by variant.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn people_sums(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
) -> Result<Vec<PeopleSums>, AnalyticsError> {
    match cohort.ask(analytics, PEOPLE_SUMS, Among::All) {
        Some(query) => Ok(query.fetch_all().await?),
        None => Ok(Vec::new()),
    }
}

/// How long ago the messages of a variant were decided: sent, failed, given up, or held back as the control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct Maturity {
    /// The variant's place in [`Cohort::variants`], from 1.
    pub variant: u8,
    /// Messages that were decided.
    pub messages: u64,
    /// Those of them whose attribution window is over.
    pub closed: u64,
    /// When the last was decided, in milliseconds since 1970, UTC.
    pub last_ms: i64,
    /// When the first of the youngest tenth was decided, in milliseconds since 1970, UTC.
    pub young_ms: i64,
}

/// Reports how long ago messages were decided, by variant. Windows of those decided until `closed_ms` are over.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn maturity(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    closed_ms: i64,
) -> Result<Vec<Maturity>, AnalyticsError> {
    match cohort.ask(analytics, MATURITY, Among::All) {
        Some(query) => Ok(query.param("closed_ms", closed_ms).fetch_all().await?),
        None => Ok(Vec::new()),
    }
}

/// People whose first variant was this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct Assignment {
    /// The variant's place in [`Cohort::variants`], from 1.
    pub variant: u8,
    /// How many of the given starts lie before their assignment.
    pub epoch: u32,
    /// How many people that are.
    pub people: u64,
}

/// Counts people by the variant they were assigned to first, and by the epoch of that. `starts_ms`: when each epoch
/// began, in milliseconds since 1970, UTC, ascending.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn assignments(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    starts_ms: &[i64],
) -> Result<Vec<Assignment>, AnalyticsError> {
    match cohort.ask(analytics, ASSIGNMENTS, Among::All) {
        Some(query) => Ok(query.param("epochs", starts_ms).fetch_all().await?),
        None => Ok(Vec::new()),
    }
}

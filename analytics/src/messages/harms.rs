//! Harm done by messages, and how their outcomes differ from day to day.

use clickhouse::Row;
use serde::Deserialize;

use super::{
    Cohort,
    outcomes::{Among, happened},
};
use crate::{Analytics, error::AnalyticsError};

const HARMS: &str = include_str!("../sql/message_harms.sql");
const DAYS: &str = include_str!("../sql/message_days.sql");
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// The events that are harm.
const ANY_HARM: u32 = happened::UNSUBSCRIBED
    | happened::COMPLAINED
    | happened::BOUNCED
    | happened::FAILED
    | happened::UNKNOWN;

/// People of a variant to one of whose messages this happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Row, Deserialize)]
#[expect(missing_docs, reason = "each counts the people of whom its name is true")]
pub struct Harms {
    /// The variant's place in [`Cohort::variants`], from 1.
    pub variant: u8,
    pub unsubscribed: u64,
    pub complained: u64,
    pub bounced: u64,
    pub failed: u64,
}

/// Counts people by harm; nothing of variants without any.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn harms(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
) -> Result<Vec<Harms>, AnalyticsError> {
    match cohort.ask(analytics, HARMS, Among::Messages(ANY_HARM)) {
        Some(query) => Ok(query.fetch_all().await?),
        None => Ok(Vec::new()),
    }
}

/// Messages of a variant that were decided on one day: sent, failed, given up, or held back as the control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct DayCount {
    /// The variant's place in [`Cohort::variants`], from 1.
    pub variant: u8,
    /// Days since 1970, UTC.
    pub day: i64,
    /// Messages that were decided: of a campaign that goes to each person once, people.
    pub people: u64,
    /// Messages that were sent and did not bounce.
    pub messages: u64,
    /// Those of them that were opened.
    pub opened: u64,
    /// Those of them that were clicked in.
    pub clicked: u64,
}

/// Counts messages by day, newest first.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn day_counts(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    rows_max: u64,
) -> Result<Vec<DayCount>, AnalyticsError> {
    match cohort.ask(analytics, DAYS, Among::All) {
        Some(query) => {
            Ok(query.param("day_ms", DAY_MS).param("rows_max", rows_max).fetch_all().await?)
        }
        None => Ok(Vec::new()),
    }
}

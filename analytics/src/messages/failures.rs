//! Why messages did not arrive.

use clickhouse::Row;
use serde::Deserialize;

use super::{
    Cohort,
    outcomes::{Among, happened},
};
use crate::{Analytics, error::AnalyticsError};

const FAILURES: &str = include_str!("../sql/message_failures.sql");
/// Codes in one answer; the rarest are left out.
const CODES_MAX: u64 = 1_000;
/// What was skipped for these rules had nowhere to go.
const SKIPS: &[&str] = &["no_address", "invalid_address"];

/// What may have kept a message from arriving.
const ASTRAY: u32 = happened::BOUNCED | happened::FAILED | happened::UNKNOWN | happened::SKIPPED;

/// A code under which messages did not arrive.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct Failure {
    /// The provider's code or ours.
    pub code: String,
    /// The words that came with it most often.
    pub words: String,
    /// Messages with this reason.
    pub count: u64,
}

/// Counts failed, bounced and unaddressed messages by code, the most frequent first.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn failures(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
) -> Result<Vec<Failure>, AnalyticsError> {
    let Some(query) = cohort.ask(analytics, FAILURES, Among::Messages(ASTRAY)) else {
        return Ok(Vec::new());
    };
    query.param("skips", SKIPS).param("codes_max", CODES_MAX).fetch_all().await
}

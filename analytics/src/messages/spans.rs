//! When messages left.

use clickhouse::Row;
use serde::Deserialize;

use super::{Cohort, outcomes::happened};
use crate::{Analytics, client, error::AnalyticsError};

const SPANS: &str = include_str!("../sql/message_spans.sql");

/// From when to when the messages of an occurrence left, or would have, were they not held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct Span {
    /// Which time the campaign went out.
    pub occurrence: u32,
    /// When the first did, in milliseconds since 1970.
    pub first_ms: i64,
    /// No earlier than when the last did, in milliseconds since 1970: of some it may be when they arrived.
    pub last_ms: i64,
}

/// When messages left, by occurrence; of a range of time only what lies in it.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn spans(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
) -> Result<Vec<Span>, AnalyticsError> {
    let query = client::read(analytics, SPANS)
        .param("workspace", cohort.workspace.to_string())
        .param("campaign", cohort.campaign.to_string());
    let query = happened::SPAN_PARAMETERS
        .into_iter()
        .fold(query, |query, (name, bits)| query.param(name, bits));
    let mut spans: Vec<Span> = query.fetch_all().await?;
    for span in &mut spans {
        span.first_ms = span.first_ms.max(cohort.start_ms.unwrap_or(i64::MIN));
        span.last_ms = span.last_ms.min(cohort.end_ms.unwrap_or(i64::MAX));
    }
    spans.retain(|span| span.first_ms <= span.last_ms);
    Ok(spans)
}

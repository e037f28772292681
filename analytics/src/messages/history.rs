//! What people did before a campaign assigned them to a variant.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use super::{Cohort, ConversionFilter, outcomes::Among, touches::of_people};
use crate::{Analytics, client, error::AnalyticsError, events::Range};

const ROWS: &str = include_str!("../sql/message_rows.sql");
const SUMS: &str = include_str!("../sql/message_history_sums.sql");
const FIRST_ASSIGNMENTS: &str = include_str!("../sql/message_first_assignments.sql");
const CONVERSIONS_TOTAL: &str = include_str!("../sql/message_conversions_total.sql");

/// How much there is to read of a campaign's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct CampaignRows {
    /// The campaign of these messages.
    #[serde(with = "clickhouse::serde::uuid")]
    pub campaign_id: Uuid,
    /// At least as many as its messages.
    pub rows: u64,
}

/// How much there is to read of these campaigns' messages; nothing of those without any.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn campaign_rows(
    analytics: &Analytics,
    workspace: Uuid,
    campaigns: &[Uuid],
) -> Result<Vec<CampaignRows>, AnalyticsError> {
    let campaigns: Vec<String> = campaigns.iter().map(Uuid::to_string).collect();
    client::read(analytics, ROWS)
        .param("workspace", workspace.to_string())
        .param("campaigns", campaigns)
        .fetch_all()
        .await
}

/// Which earlier messages are looked at.
#[derive(Debug, Clone, Copy)]
pub struct HistoryFilter<'a> {
    /// The other campaigns whose messages are read.
    pub campaigns: &'a [Uuid],
    /// Whether clicks count, and not opens.
    pub clicks: bool,
    /// How long before they were assigned people's messages count, in milliseconds.
    pub history_ms: i64,
}

/// Sums over the people of a variant: Y their opens or clicks, M their messages, X the share of the messages before that
/// they opened or clicked in.
#[derive(Debug, Clone, Copy, PartialEq, Row, Deserialize)]
#[expect(missing_docs, reason = "each sum is of the product that it is named by")]
pub struct HistorySums {
    /// The variant's place in [`Cohort::variants`], from 1.
    pub variant: u8,
    /// 1 of people who had messages before; X is 0 of the others.
    pub known: u8,
    pub people: u64,
    pub sum_x: f64,
    pub sum_y: f64,
    pub sum_m: f64,
    pub sum_xx: f64,
    pub sum_yy: f64,
    pub sum_mm: f64,
    pub sum_xy: f64,
    pub sum_xm: f64,
    pub sum_ym: f64,
}

/// Joins each person's messages of the cohort with those before; at most two rows a variant.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn history_sums(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    filter: &HistoryFilter<'_>,
) -> Result<Vec<HistorySums>, AnalyticsError> {
    let campaigns: Vec<String> = filter.campaigns.iter().map(Uuid::to_string).collect();
    match cohort.ask(analytics, SUMS, Among::All) {
        Some(query) => {
            let query = query
                .param("history", campaigns)
                .param("clicks", filter.clicks)
                .param("history_ms", filter.history_ms);
            Ok(query.fetch_all().await?)
        }
        None => Ok(Vec::new()),
    }
}

/// When a person was assigned first.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct FirstAssignment {
    /// The person's internal id.
    pub user_id: [u8; 12],
    /// The places of their variants in [`Cohort::variants`], from 1; of most people one.
    pub variants: Vec<u8>,
    /// In milliseconds since 1970, UTC.
    pub assigned_ms: i64,
}

/// When each of these people was assigned first; nothing of those who are not of the cohort. At most
/// [`super::PEOPLE_MAX`] people.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn first_assignments(
    analytics: &Analytics,
    cohort: &Cohort<'_>,
    people: &[[u8; 12]],
) -> Result<Vec<FirstAssignment>, AnalyticsError> {
    if people.is_empty() {
        return Ok(Vec::new());
    }
    let (condition, count) = of_people(people);
    match cohort.ask_further(analytics, FIRST_ASSIGNMENTS, &condition, Among::All) {
        Some(query) => Ok(query.param("people", count).fetch_all().await?),
        None => Ok(Vec::new()),
    }
}

/// How many events may be conversions, up to the filter's limit.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn conversions_total(
    analytics: &Analytics,
    workspace: Uuid,
    filter: &ConversionFilter<'_>,
) -> Result<u64, AnalyticsError> {
    let Some(range) = Range::new(Some(filter.start_ms), Some(filter.end_ms)) else {
        return Ok(0);
    };
    client::read(analytics, CONVERSIONS_TOTAL)
        .param("workspace", workspace.to_string())
        .param("event_name", filter.event_name)
        .param("start_ms", range.start_ms)
        .param("end_ms", range.end_ms)
        .param("events_max", filter.events_max)
        .fetch_one()
        .await
}

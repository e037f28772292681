//! Events that may be the success of a message, streamed, since they may be many.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use crate::{
    Analytics, client,
    error::AnalyticsError,
    events::{FIRST_OF_ORDERS, ORDER_COMPLETED, PersonIds, Range},
    reads::RowStream,
};

const CONVERSIONS: &str = include_str!("../sql/message_conversions.sql");
const BASE_CURRENCIES: &str = include_str!("../sql/order_base_currencies.sql");

/// Filter on the events that may be conversions.
#[derive(Debug, Clone)]
pub struct ConversionFilter<'a> {
    /// The name of the event. Of orders only the first event of each is answered.
    pub event_name: &'a str,
    /// Whether conditions on properties will be asked of it.
    pub with_properties: bool,
    /// Whether to leave out events that came with a public key, whose ids begin with `sdk:`.
    pub without_apps: bool,
    /// Only events tracked under one of these identifiers.
    pub identifiers: Option<&'a PersonIds>,
    /// Inclusive start, in milliseconds since 1970.
    pub start_ms: i64,
    /// Inclusive end, in milliseconds since 1970.
    pub end_ms: i64,
    /// Most events to answer.
    pub events_max: u64,
}

/// An event that names a person by at least one identifier.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct Conversion {
    /// As tracked in `userId`.
    pub user_id: String,
    /// As tracked in `serviceUserId`.
    pub service_user_id: String,
    /// As tracked in `anonymousId` without a user; it was linked to a profile.
    pub anonymous: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The caller's JSON, where it was asked for.
    pub properties: String,
    /// Whether there is any amount.
    pub is_paid: bool,
    /// Of an order, in ten thousandths of `currency`.
    pub amount: i64,
    /// ISO 4217 code, empty without one.
    pub currency: String,
    /// Of an order, in ten thousandths of `base_currency`.
    pub base_amount: i64,
    /// ISO 4217 code of `base_revenue`, empty without one.
    pub base_currency: String,
}

/// The answer, row by row.
pub struct Conversions {
    /// None where nothing can match.
    cursor: Option<RowStream<Conversion>>,
}

impl std::fmt::Debug for Conversions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversions").finish_non_exhaustive()
    }
}

impl Conversions {
    /// The next event, in no order; each comes once.
    ///
    /// # Errors
    /// When ClickHouse goes away or the question asks too much.
    pub async fn next(&mut self) -> Result<Option<Conversion>, AnalyticsError> {
        match &mut self.cursor {
            Some(cursor) => Ok(cursor.next().await?),
            None => Ok(None),
        }
    }
}

/// Asks for the events of a name.
///
/// # Errors
/// When ClickHouse is away.
pub fn conversions(
    analytics: &Analytics,
    workspace: Uuid,
    filter: &ConversionFilter<'_>,
) -> Result<Conversions, AnalyticsError> {
    let Some(range) = Range::new(Some(filter.start_ms), Some(filter.end_ms)) else {
        return Ok(Conversions { cursor: None });
    };
    let is_order = filter.event_name == ORDER_COMPLETED;
    let first = if is_order { format!("AND {FIRST_OF_ORDERS}") } else { String::new() };
    let query = client::read(analytics, &CONVERSIONS.replace("$and$", &first))
        .with_setting("max_result_rows", filter.events_max.to_string())
        .param("workspace", workspace.to_string())
        .param("event_name", filter.event_name)
        .param("with_properties", filter.with_properties)
        .param("without_apps", filter.without_apps)
        .param("everybody", filter.identifiers.is_none())
        .param("identifiers", filter.identifiers.map_or(&[][..], |ids| &ids.users))
        .param("anonymous_ids", filter.identifiers.map_or(&[][..], |ids| &ids.anonymous))
        .param("start_ms", range.start_ms)
        .param("end_ms", range.end_ms)
        .param("events_max", filter.events_max);
    Ok(Conversions { cursor: Some(query.fetch()?) })
}

/// The currency (ISO 4217) that every order of a workspace with a `base_currency` names; none where they
/// name several, or no order names one.
///
/// # Errors
/// When ClickHouse is away.
pub async fn sole_base_currency(
    analytics: &Analytics,
    workspace: Uuid,
) -> Result<Option<String>, AnalyticsError> {
    let query = client::read(analytics, BASE_CURRENCIES);
    let found: Vec<String> = query.param("workspace", workspace.to_string()).fetch_all().await?;
    Ok(<[String; 1]>::try_from(found).ok().map(|[only]| only))
}

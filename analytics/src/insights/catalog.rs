//! Names and properties of events, for those who explore.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use crate::{Analytics, client, error::AnalyticsError};

const NAMES: &str = include_str!("../sql/insight_event_names.sql");
const PROPERTIES: &str = include_str!("../sql/insight_properties.sql");

/// Events whose properties are looked at: the newest days of a name.
pub const SAMPLE_MAX: u64 = 10_000;
/// Values of a property that are listed; of a property with more there are none.
pub const FREQUENT_VALUES_MAX: u64 = 20;
/// Most properties of one event.
const PROPERTIES_MAX: u64 = 1_000;

/// Events of one name.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct EventName {
    /// The name that events carry.
    #[serde(rename = "event_name")]
    pub name: String,
    /// Events of the last 30 days.
    pub recent: u64,
    /// When the newest happened, in milliseconds since 1970.
    pub newest_at: i64,
}

/// A property of events of one name.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct PropertyFound {
    /// Its key at the top level.
    pub name: String,
    /// Events that were looked at.
    pub sampled: u64,
    /// Those that have it.
    pub events: u64,
    /// Types of its values, as ClickHouse names those of JSON.
    pub types: Vec<String>,
    /// Its values, the most frequent first, as text of at most 255 characters; none where there are many.
    pub values: Vec<String>,
    /// Events with each of these values.
    pub value_events: Vec<u64>,
}

/// The events of a workspace, those with the most of the last 30 days first.
///
/// # Errors
/// When ClickHouse is away.
pub async fn event_names(
    analytics: &Analytics,
    workspace: Uuid,
    limit: u64,
) -> Result<Vec<EventName>, AnalyticsError> {
    let asked = client::read(analytics, NAMES).param("workspace", workspace.to_string());
    asked.param("limit", limit).fetch_all().await
}

/// The properties of the newest events of a name, those of the most events first.
///
/// # Errors
/// When ClickHouse is away.
pub async fn properties(
    analytics: &Analytics,
    workspace: Uuid,
    event_name: &str,
) -> Result<Vec<PropertyFound>, AnalyticsError> {
    client::read(analytics, PROPERTIES)
        .param("workspace", workspace.to_string())
        .param("event_name", event_name)
        .param("sample", SAMPLE_MAX)
        .param("values_max", FREQUENT_VALUES_MAX)
        .param("limit", PROPERTIES_MAX)
        .fetch_all()
        .await
}

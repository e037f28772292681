//! Everything about a person, as JSON.

use clickhouse::query::BytesCursor;
use uuid::Uuid;

use crate::{Analytics, error::AnalyticsError};

const EVENTS: &str = include_str!("../sql/person_events.sql");
const MESSAGE_EVENTS: &str = include_str!("../sql/person_message_events.sql");

/// Longest an export may run, in seconds.
const SECONDS_MAX: &str = "300";

/// Every event of the person with these identifiers, an object a line.
///
/// # Errors
/// When ClickHouse is away.
pub fn events_of(
    analytics: &Analytics,
    workspace: Uuid,
    ids: &[String],
) -> Result<BytesCursor, AnalyticsError> {
    lines(analytics, EVENTS, workspace, ids)
}

/// What became of each message to the profiles with these internal ids, an object a line.
///
/// # Errors
/// When ClickHouse is away.
pub fn message_events_of(
    analytics: &Analytics,
    workspace: Uuid,
    ids: &[String],
) -> Result<BytesCursor, AnalyticsError> {
    lines(analytics, MESSAGE_EVENTS, workspace, ids)
}

fn lines(
    analytics: &Analytics,
    sql: &str,
    workspace: Uuid,
    ids: &[String],
) -> Result<BytesCursor, AnalyticsError> {
    let query = analytics
        .client()
        .query_raw(sql)
        .with_setting("max_execution_time", SECONDS_MAX)
        .with_setting("max_bytes_before_external_sort", "268435456")
        .param("workspace", workspace.to_string())
        .param("ids", ids.to_vec());
    Ok(query.fetch_bytes("JSONEachRow")?)
}

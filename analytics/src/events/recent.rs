//! Recent event ids, by which repeats are recognised after a restart.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use crate::{Analytics, client, error::AnalyticsError};

const RECENT_CLIENT_IDS: &str = include_str!("../sql/recent_client_ids.sql");

/// An id that a caller chose, on an event that the server stamped with its own time.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct RecentId {
    /// The workspace the event belongs to.
    #[serde(rename = "workspace_id", with = "clickhouse::serde::uuid")]
    pub workspace: Uuid,
    /// `eventName` of the event.
    #[serde(rename = "name")]
    pub event_name: String,
    /// `clientEventId` as the caller sent it.
    pub event_id: String,
    /// The time the first arrival was given, in milliseconds since 1970, UTC.
    pub timestamp_ms: i64,
}

/// Ids of server-stamped events since an instant, newest first, at most `limit`.
/// May also hold caller-stamped events of a month's first day, whose repeats bring their own time.
pub async fn recent_client_ids(
    analytics: &Analytics,
    since_ms: i64,
    limit: u32,
) -> Result<Vec<RecentId>, AnalyticsError> {
    let rows = client::read(analytics, RECENT_CLIENT_IDS)
        .param("since_ms", since_ms.max(0))
        .param("limit", limit)
        .fetch_all()
        .await?;
    Ok(rows)
}

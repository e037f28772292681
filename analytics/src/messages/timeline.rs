//! What happened to the messages of a campaign to one person.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use crate::{Analytics, client, error::AnalyticsError};

const TIMELINE: &str = include_str!("../sql/message_timeline.sql");
/// Most events of one person in a campaign, the oldest.
const EVENTS_MAX: u32 = 10_000;

/// Something that happened to a message.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct Happening {
    /// Id of the message.
    pub message: String,
    /// Which time the campaign went out; of a triggered one, which entry of theirs.
    pub occurrence: u32,
    /// The variant's id; empty where it was not known yet.
    pub variant: String,
    /// Channel the message was sent on.
    pub channel: String,
    /// What happened, in the word of `message_events`.
    pub kind: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// A machine did it.
    pub is_bot: bool,
    /// URL of a click, else empty.
    pub url: String,
    /// A link's label; of a bounce `hard` or `soft`.
    pub label: String,
    /// The button of an in-app message.
    pub button: String,
    /// The code of a failure, or the rule that held or skipped.
    pub code: String,
    /// Reason of a failure or skip in words, else empty.
    pub reason: String,
}

/// Events of all messages of a campaign to one person, oldest first.
///
/// # Errors
/// When ClickHouse is away.
pub async fn timeline(
    analytics: &Analytics,
    workspace: Uuid,
    campaign: Uuid,
    user: &str,
) -> Result<Vec<Happening>, AnalyticsError> {
    let query = client::read(analytics, TIMELINE)
        .param("workspace", workspace.to_string())
        .param("campaign", campaign.to_string())
        .param("user", user)
        .param("events_max", EVENTS_MAX);
    query.fetch_all().await
}

//! What happened to messages to one person, of whatever campaign.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use crate::{Analytics, client, error::AnalyticsError};

const EVENTS: &str = include_str!("../sql/message_events_of_users.sql");

/// Which of the message events of a person.
#[derive(Debug, Clone, Default)]
pub struct MessageEventFilter {
    /// The internal ids of the person's profiles.
    pub users: Vec<String>,
    /// Not before, in milliseconds since 1970.
    pub start_ms: Option<i64>,
    /// Not after, in milliseconds since 1970.
    pub end_ms: Option<i64>,
    /// Most events of the answer.
    pub limit: u32,
    /// How many newer ones are left out.
    pub offset: u64,
}

/// Something that happened to a message.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct MessageEvent {
    /// Id of the message.
    pub message: String,
    /// Id of its campaign; nil where it has none.
    #[serde(with = "clickhouse::serde::uuid")]
    campaign_or_nil: Uuid,
    /// Channel the message was sent on.
    pub channel: String,
    /// What happened, in the word of `message_events`.
    pub kind: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// A machine did it.
    pub is_bot: bool,
    /// The message was a test.
    pub is_test: bool,
    /// URL of a click, else empty.
    pub url: String,
    /// The code of a failure, or the rule that held or skipped.
    pub code: String,
    /// Reason of a failure or skip in words, else empty.
    pub reason: String,
}

impl MessageEvent {
    /// Id of the message's campaign, if it has one.
    pub fn campaign(&self) -> Option<Uuid> {
        Some(self.campaign_or_nil).filter(|id| !id.is_nil())
    }
}

/// What happened to messages to a person, newest first.
///
/// # Errors
/// When ClickHouse is away.
pub async fn of_users(
    analytics: &Analytics,
    workspace: Uuid,
    filter: &MessageEventFilter,
) -> Result<Vec<MessageEvent>, AnalyticsError> {
    let query = client::read(analytics, EVENTS)
        .param("workspace", workspace.to_string())
        .param("users", &filter.users)
        .param("start_ms", filter.start_ms.unwrap_or(i64::MIN))
        .param("end_ms", filter.end_ms.unwrap_or(i64::MAX))
        .param("limit", filter.limit)
        .param("offset", filter.offset);
    query.fetch_all().await
}

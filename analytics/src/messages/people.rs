//! Who was sent, opened or clicked messages, streamed, since they may be many.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use crate::{Analytics, client, error::AnalyticsError, events::Range, reads::RowStream};

const MESSAGE_PEOPLE: &str = include_str!("../sql/message_people.sql");
const MESSAGE_PERSON: &str = include_str!("../sql/message_person.sql");

/// What a recipient did with a message. What comes later means what came before: a click is an open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engagement {
    /// It was sent to them.
    Sent,
    /// The message was opened.
    Opened,
    /// They clicked in it.
    Clicked,
}

impl Engagement {
    /// The types of `message_events` that say so.
    const fn types(self) -> &'static [&'static str] {
        match self {
            Self::Sent => &["sent", "delivered", "opened", "clicked"],
            Self::Opened => &["opened", "clicked"],
            Self::Clicked => &["clicked"],
        }
    }
}

/// Whose messages are asked for.
#[derive(Debug, Clone)]
pub struct EngagementFilter {
    /// The engagement people must have had.
    pub engagement: Engagement,
    /// Only of this campaign.
    pub campaign: Option<Uuid>,
    /// Only on this channel.
    pub channel: Option<&'static str>,
    /// Inclusive start, in milliseconds since 1970, UTC.
    pub start_ms: Option<i64>,
    /// Inclusive end, in milliseconds since 1970, UTC.
    pub end_ms: Option<i64>,
    /// Only of these people, by internal id; of everyone where absent.
    pub among: Option<Vec<String>>,
    /// Most people to answer.
    pub people_max: u64,
}

#[derive(Debug, Row, Deserialize)]
struct Engaged {
    user_id: String,
}

/// The internal ids of people, one by one.
pub struct EngagedPeople {
    /// None where nothing can match.
    cursor: Option<RowStream<Engaged>>,
}

impl std::fmt::Debug for EngagedPeople {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngagedPeople").finish_non_exhaustive()
    }
}

impl EngagedPeople {
    /// The next person's internal id, in no order; each comes once.
    pub async fn next(&mut self) -> Result<Option<String>, AnalyticsError> {
        match &mut self.cursor {
            Some(cursor) => Ok(cursor.next().await?.map(|engaged| engaged.user_id)),
            None => Ok(None),
        }
    }
}

#[derive(Debug, Row, Deserialize)]
struct Rows {
    rows: u64,
}

/// Whether one person, by their internal id, is among those whom [`people`] answers.
///
/// # Errors
/// When ClickHouse is away.
pub async fn includes(
    analytics: &Analytics,
    workspace: Uuid,
    user_id: &str,
    filter: &EngagementFilter,
) -> Result<bool, AnalyticsError> {
    let Some(range) = Range::new(filter.start_ms, filter.end_ms) else { return Ok(false) };
    let query = client::read(analytics, MESSAGE_PERSON)
        .param("workspace", workspace.to_string())
        .param("any_campaign", filter.campaign.is_none())
        .param("campaign", filter.campaign.unwrap_or_default().to_string())
        .param("types", filter.engagement.types())
        .param("user", user_id)
        .param("any_channel", filter.channel.is_none())
        .param("channel", filter.channel.unwrap_or_default())
        .param("start_ms", range.start_ms)
        .param("end_ms", range.end_ms);
    let found: Rows = query.fetch_one().await?;
    Ok(found.rows > 0)
}

/// Asks who was sent, opened or clicked messages.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub fn people(
    analytics: &Analytics,
    workspace: Uuid,
    filter: &EngagementFilter,
) -> Result<EngagedPeople, AnalyticsError> {
    let Some(range) = Range::new(filter.start_ms, filter.end_ms) else {
        return Ok(EngagedPeople { cursor: None });
    };
    let query = client::read(analytics, MESSAGE_PEOPLE)
        .with_setting("max_result_rows", filter.people_max.to_string())
        .param("workspace", workspace.to_string())
        .param("any_campaign", filter.campaign.is_none())
        .param("campaign", filter.campaign.unwrap_or_default().to_string())
        .param("types", filter.engagement.types())
        .param("any_channel", filter.channel.is_none())
        .param("channel", filter.channel.unwrap_or_default())
        .param("start_ms", range.start_ms)
        .param("end_ms", range.end_ms)
        .param("any_user", filter.among.is_none())
        .param("among", filter.among.as_deref().unwrap_or_default())
        .param("people_max", filter.people_max);
    Ok(EngagedPeople { cursor: Some(query.fetch()?) })
}

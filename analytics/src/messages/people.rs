//! Who was sent, opened or clicked messages, streamed, since they may be many.

use clickhouse::Row;
use kernel::UserId;
use serde::Deserialize;
use uuid::Uuid;

use crate::{Analytics, client, error::AnalyticsError, events::Range, reads::RowStream};

const MESSAGE_PEOPLE: &str = include_str!("../sql/message_people.sql");
const PEOPLE_ENGAGED: &str = include_str!("../sql/people_engaged.sql");

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
    profile: [u8; 12],
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
    pub async fn next(&mut self) -> Result<Option<UserId>, AnalyticsError> {
        match &mut self.cursor {
            Some(cursor) => Ok(cursor.next().await?.map(|it| UserId::from_bytes(it.profile))),
            None => Ok(None),
        }
    }
}

/// How many message events of one person match each filter.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct EngagedTimes {
    /// The internal id of the person.
    pub user_id: String,
    /// Number of rows by filter; repeats may count more than once.
    pub times: Vec<u64>,
}

/// The rows that one of several filters counts, an expression.
fn counted(number: usize) -> String {
    format!(
        "countIf(({{any_campaign_{number}:Bool}} OR campaign_id = {{campaign_{number}:UUID}}) \
         AND type IN {{types_{number}:Array(String)}} \
         AND ({{any_channel_{number}:Bool}} OR channel = {{channel_{number}:String}}) \
         AND timestamp >= fromUnixTimestamp64Milli({{start_{number}:Int64}}, 'UTC') \
         AND timestamp <= fromUnixTimestamp64Milli({{end_{number}:Int64}}, 'UTC'))"
    )
}

/// Which of these people, by internal id, [`people`] answers for each filter. `among` and the limits of the filters do
/// not count.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn engaged_among(
    analytics: &Analytics,
    workspace: Uuid,
    users: &[String],
    filters: &[EngagementFilter],
) -> Result<Vec<EngagedTimes>, AnalyticsError> {
    let ranges: Vec<Option<Range>> =
        filters.iter().map(|filter| Range::new(filter.start_ms, filter.end_ms)).collect();
    let counts = ranges.iter().enumerate().map(|(number, range)| match range {
        Some(_) => counted(number),
        None => "toUInt64(0)".to_owned(),
    });
    let counts: Vec<String> = counts.collect();
    let mut query =
        client::read(analytics, &PEOPLE_ENGAGED.replace("$counts$", &counts.join(",\n        ")))
            .param("workspace", workspace.to_string())
            .param("users", users);
    for (number, (filter, range)) in filters.iter().zip(ranges).enumerate() {
        let Some(range) = range else { continue };
        query = query
            .param(&format!("any_campaign_{number}"), filter.campaign.is_none())
            .param(&format!("campaign_{number}"), filter.campaign.unwrap_or_default().to_string())
            .param(&format!("types_{number}"), filter.engagement.types())
            .param(&format!("any_channel_{number}"), filter.channel.is_none())
            .param(&format!("channel_{number}"), filter.channel.unwrap_or_default())
            .param(&format!("start_{number}"), range.start_ms)
            .param(&format!("end_{number}"), range.end_ms);
    }
    query.fetch_all().await
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

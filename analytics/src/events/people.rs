//! Who did something: the identifiers under which an event was tracked, streamed, since they may be many.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use super::{filter::Range, property::PropertyFilter};
use crate::{
    Analytics, client,
    error::AnalyticsError,
    reads::{Read, RowStream},
};

/// Narrows [`EVENT_PEOPLE`] to some people.
const AMONG: &str = "AND (user_id IN {among:Array(String)} OR service_user_id IN {among:Array(String)}
        OR user_id = '' AND service_user_id = '' AND anonymous_id IN {among_anonymous:Array(String)})";
const EVENT_PEOPLE: &str = include_str!("../sql/event_people.sql");
const IS_STORED_ONCE: &str = include_str!("../sql/event_is_stored_once.sql");

/// What events name people by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersonIds {
    /// In `userId` or `serviceUserId`.
    pub users: Vec<String>,
    /// In `anonymousId`, where there is no user.
    pub anonymous: Vec<String>,
}

/// Whose events are asked for.
#[derive(Debug, Clone)]
pub struct PeopleFilter {
    /// Name of the events that count.
    pub event_name: String,
    /// Inclusive start, in milliseconds since 1970, UTC.
    pub start_ms: Option<i64>,
    /// Inclusive end, in milliseconds since 1970, UTC.
    pub end_ms: Option<i64>,
    /// What its properties must equal.
    pub properties: Vec<PropertyFilter>,
    /// Only of people tracked by one of these identifiers; of everyone where absent.
    pub among: Option<PersonIds>,
    /// Most rows to answer.
    pub people_max: u64,
    /// Whether only who they are matters, and not how often: `times` may then count an event twice.
    pub any_times: bool,
}

impl PeopleFilter {
    /// What the properties of its events must equal, each after an `AND`.
    pub(super) fn properties_conditions(&self) -> String {
        let properties = self.properties.iter().enumerate();
        let conditions =
            properties.map(|(number, property)| format!("AND {}", property.condition(number)));
        conditions.collect::<Vec<_>>().join("\n    ")
    }

    /// The parameters of conditions on its events.
    pub(super) fn bind(&self, query: Read, workspace: Uuid, range: Range) -> Read {
        let query = query
            .param("workspace", workspace.to_string())
            .param("event_name", &self.event_name)
            .param("start_ms", range.start_ms)
            .param("end_ms", range.end_ms);
        let properties = self.properties.iter().enumerate();
        properties.fold(query, |query, (number, property)| property.bind(number, query))
    }

    /// Whether every event of its name is stored once, as far as that was not known. Looking costs a quarter of what FINAL
    /// does over fresh parts, and it seldom finds one that is not.
    pub(super) async fn is_stored_once(
        &self,
        analytics: &Analytics,
        workspace: Uuid,
        range: Range,
    ) -> Result<bool, AnalyticsError> {
        if analytics.uniqueness.is_proven() {
            return Ok(false);
        }
        let query = client::read(analytics, IS_STORED_ONCE)
            .param("workspace", workspace.to_string())
            .param("event_name", &self.event_name)
            .param("start_ms", range.start_ms)
            .param("end_ms", range.end_ms);
        Ok(query.fetch_one::<u8>().await? == 1)
    }
}

/// How often an event was tracked under one pair of identifiers, or without them under one anonymous id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracked {
    /// As tracked in `userId`.
    pub user_id: String,
    /// As tracked in `serviceUserId`.
    pub service_user_id: String,
    /// As tracked in `anonymousId` without a user; it was linked to a profile.
    pub anonymous_id: String,
    /// Number of events; stored repeats of one event count once.
    pub times: u64,
}

/// A row of `event_people.sql`.
#[derive(Debug, Row, Deserialize)]
struct TrackedRow {
    identifiers: String,
    times: u64,
}

impl From<TrackedRow> for Tracked {
    fn from(row: TrackedRow) -> Self {
        let TrackedRow { identifiers, times } = row;
        let none = String::new();
        match identifiers.split_once('\0') {
            None => Self {
                user_id: identifiers,
                service_user_id: none.clone(),
                anonymous_id: none,
                times,
            },
            Some((service, user)) => {
                let (service_user_id, anonymous) = (service.to_owned(), user.strip_prefix('\0'));
                let user_id = if anonymous.is_some() { none } else { user.to_owned() };
                let anonymous_id = anonymous.unwrap_or_default().to_owned();
                Self { user_id, service_user_id, anonymous_id, times }
            }
        }
    }
}

/// The answer, row by row.
pub struct People {
    /// None where nothing can match.
    cursor: Option<RowStream<TrackedRow>>,
}

impl std::fmt::Debug for People {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("People").finish_non_exhaustive()
    }
}

impl People {
    /// The next pair, in no order; each comes once.
    pub async fn next(&mut self) -> Result<Option<Tracked>, AnalyticsError> {
        match &mut self.cursor {
            Some(cursor) => Ok(cursor.next().await?.map(Tracked::from)),
            None => Ok(None),
        }
    }
}

/// Asks under which identifiers an event was tracked.
///
/// # Errors
/// When ClickHouse is away or the question asks too much.
pub async fn people(
    analytics: &Analytics,
    workspace: Uuid,
    filter: &PeopleFilter,
) -> Result<People, AnalyticsError> {
    let Some(range) = Range::new(filter.start_ms, filter.end_ms) else {
        return Ok(People { cursor: None });
    };
    let among = filter.among.as_ref().map_or("", |_| AMONG);
    let conditions = format!("{}\n    {among}", filter.properties_conditions());
    let mut sql = EVENT_PEOPLE.replace("$and$", &conditions);
    if filter.any_times
        && filter.among.is_none()
        && filter.is_stored_once(analytics, workspace, range).await?
    {
        sql = sql.replace("FROM events FINAL", "FROM events");
    }
    let mut query = filter
        .bind(client::read(analytics, &sql), workspace, range)
        .with_setting("max_result_rows", filter.people_max.to_string())
        .param("people_max", filter.people_max);
    if let Some(among) = &filter.among {
        query = query.param("among", &among.users).param("among_anonymous", &among.anonymous);
    }
    Ok(People { cursor: Some(query.fetch()?) })
}

//! `GET /users/:userId/events`: the events of one profile, by whichever of its ids they were tracked.

use analytics::events::{EventFilter, EventRow};
use axum::{Json, extract::State};
use kernel::{Error, EventTime, Result, Timestamp, UserId};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, DateRange, FromQuery, OffsetPage, PathOf, Query, QueryFields},
};

use crate::events::{
    model::sessions::{Session, Sessioned, group_by_session},
    ops,
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(list_user_events))
}

/// Events on a page where the caller asks for no number, and at most.
type Page = OffsetPage<50, 1000>;

/// Characters of an event name in the query string.
const EVENT_NAME_CHARS_MAX: usize = 255;

/// The query string, checked.
#[derive(Debug)]
pub(super) struct UserEventsQuery {
    event_name: Option<String>,
    range: DateRange,
    page: Page,
    group_by_session: bool,
}

impl FromQuery for UserEventsQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self {
            event_name: query.text("eventName", EVENT_NAME_CHARS_MAX),
            range: query.date_range(),
            page: Page::from_query(query),
            group_by_session: query.flag("groupBySession", false),
        }
    }
}

/// An event of one user.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct UserEvent {
    /// The stored event id.
    event_id: String,
    /// Name of the event.
    event_name: String,
    /// The caller's properties, as sent.
    #[schema(value_type = Object)]
    properties: Box<RawValue>,
    timestamp: EventTime,
    /// What the page is grouped by; not part of the answer.
    #[serde(skip)]
    session_id: String,
}

impl TryFrom<EventRow> for UserEvent {
    type Error = Error;

    fn try_from(row: EventRow) -> Result<Self> {
        Ok(Self {
            event_id: row.event_id,
            event_name: row.event_name,
            properties: RawValue::from_string(row.properties).map_err(anyhow::Error::from)?,
            timestamp: EventTime(Timestamp::from_millis(row.timestamp_ms)),
            session_id: row.session_id,
        })
    }
}

impl Sessioned for UserEvent {
    fn session_id(&self) -> &str {
        &self.session_id
    }

    fn timestamp(&self) -> Timestamp {
        self.timestamp.0
    }
}

/// A page of a user's events.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct UserEvents {
    /// The page, newest first.
    data: Vec<UserEvent>,
    /// Events that match in all.
    total: u64,
    /// The limit that was applied.
    limit: u32,
    /// The offset that was applied.
    offset: u64,
    /// The page's events by session; only with `groupBySession`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    sessions: Option<Vec<UserSession>>,
}

/// The events of one session on this page.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UserSession {
    /// `null` for the events that belong to no session.
    session_id: Option<String>,
    /// Time of its earliest event on the page.
    started_at: Timestamp,
    /// Time of its latest event on the page.
    ended_at: Timestamp,
    /// Whole seconds between the two.
    duration_seconds: i64,
    /// Its events on the page.
    event_count: usize,
    /// The events, newest first.
    events: Vec<UserEvent>,
}

impl From<Session<'_, UserEvent>> for UserSession {
    fn from(session: Session<'_, UserEvent>) -> Self {
        Self {
            session_id: session.session_id.map(str::to_owned),
            started_at: session.started_at,
            ended_at: session.ended_at,
            duration_seconds: session.duration_seconds(),
            event_count: session.events.len(),
            events: session.events.into_iter().cloned().collect(),
        }
    }
}

/// Lists the events of a user, newest first.
#[utoipa::path(
    get,
    path = "/users/{userId}/events",
    tag = "users",
    params(
        ("userId" = UserId, Path, description = "internal id, 24-hex"),
        ("limit" = Option<u32>, Query, description = "default 50, at most 1000"),
        ("offset" = Option<u64>, Query, description = "default 0"),
        ("startDate" = Option<kernel::schema::QueryMoment>, Query, description = "ISO 8601, inclusive"),
        ("endDate" = Option<kernel::schema::QueryMoment>, Query, description = "ISO 8601, inclusive; a date alone means its end"),
        ("eventName" = Option<String>, Query),
        ("groupBySession" = Option<bool>, Query, description = "also answer the page's events by session"),
    ),
    responses((status = 200, body = UserEvents))
)]
async fn list_user_events(
    State(app): State<Services>,
    caller: Caller<scope::UsersRead>,
    Query(query): Query<UserEventsQuery>,
    PathOf(user): PathOf<UserId>,
) -> ApiResult<Json<UserEvents>> {
    let filter = EventFilter {
        user_ids: None,
        anonymous_ids: Vec::new(),
        event_name: query.event_name,
        start_ms: query.range.start.map(Timestamp::millis),
        end_ms: query.range.end.map(Timestamp::millis),
        limit: query.page.limit,
        offset: query.page.offset,
    };
    let (rows, total) = ops::read::of_user(&app, caller.workspace(), user, filter).await?;
    let data: Vec<UserEvent> = rows.into_iter().map(UserEvent::try_from).collect::<Result<_>>()?;
    let sessions = query
        .group_by_session
        .then(|| group_by_session(&data).into_iter().map(UserSession::from).collect());
    let (limit, offset) = (query.page.limit, query.page.offset);
    Ok(Json(UserEvents { data, total, limit, offset, sessions }))
}

//! `GET /events/query`: events of the workspace, newest first.

use analytics::events::EventFilter;
use axum::{Json, extract::State};
use kernel::{Result, Timestamp};
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, DateRange, FromQuery, OffsetPage, Query, QueryFields},
};

use super::wire::Event;
use crate::events::ops;

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(query_events))
}

/// Events on a page by default, and at most.
type Page = OffsetPage<100, 1000>;

/// Characters of an id or name in the query string.
const FILTER_CHARS_MAX: usize = 255;

/// The query string of a request for events.
#[derive(Debug)]
pub(super) struct EventListQuery {
    user_id: Option<String>,
    event_name: Option<String>,
    range: DateRange,
    page: Page,
}

impl FromQuery for EventListQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self {
            user_id: query.text("userId", FILTER_CHARS_MAX),
            event_name: query.text("eventName", FILTER_CHARS_MAX),
            range: query.date_range(),
            page: Page::from_query(query),
        }
    }
}

/// Lists events, newest first.
#[utoipa::path(
    get,
    path = "/events/query",
    tag = "events",
    params(
        ("userId" = Option<String>, Query, description = "external id or internal id"),
        ("eventName" = Option<String>, Query),
        ("startDate" = Option<kernel::schema::QueryMoment>, Query, description = "ISO 8601, inclusive"),
        ("endDate" = Option<kernel::schema::QueryMoment>, Query, description = "ISO 8601, inclusive; a date alone means its end"),
        ("limit" = Option<u32>, Query, description = "default 100, at most 1000"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = [Event]))
)]
async fn query_events(
    State(app): State<Services>,
    caller: Caller<scope::EventsRead>,
    Query(query): Query<EventListQuery>,
) -> ApiResult<Json<Vec<Event>>> {
    let filter = EventFilter {
        user_ids: None,
        anonymous_ids: Vec::new(),
        event_name: query.event_name,
        start_ms: query.range.start.map(Timestamp::millis),
        end_ms: query.range.end.map(Timestamp::millis),
        limit: query.page.limit,
        offset: query.page.offset,
    };
    let rows = ops::read::query(&app, caller.workspace(), query.user_id, filter).await?;
    Ok(Json(rows.into_iter().map(Event::try_from).collect::<Result<_>>()?))
}

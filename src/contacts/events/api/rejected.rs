//! `GET /events/rejected`: events that were refused, newest first.

use axum::{Json, extract::State};
use kernel::{DayEdge, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, FromQuery, Query, QueryFields},
};

use crate::events::{
    model::rejected::{RefusedEvent, WantedRefusals},
    ops,
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(list_rejected_events))
}

/// Refused events of an answer by default, and at most.
const LIMIT_DEFAULT: i64 = 100;
const LIMIT_MAX: i64 = 1_000;

/// No workspace has as many.
const OFFSET_MAX: i64 = 100_000;

/// The query string of a request for refused events.
#[derive(Debug)]
pub(super) struct RejectedQuery(WantedRefusals);

impl FromQuery for RejectedQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        let limit = query.integer("limit", LIMIT_DEFAULT, 1..=LIMIT_MAX);
        let since = query.timestamp("since", DayEdge::Start);
        let offset = query.integer("offset", 0, 0..=OFFSET_MAX);
        Self(WantedRefusals { since: since.unwrap_or(Timestamp::from_millis(0)), offset, limit })
    }
}

/// Events that were refused.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RejectedList {
    /// The newest are first.
    data: Vec<ListedRejection>,
    /// All that were refused since then, those that are only counted included.
    total: u64,
}

/// An event that was refused.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ListedRejection {
    at: Timestamp,
    /// Its name, if it has one.
    name: Option<String>,
    /// The user id that it was sent with.
    user_id: Option<String>,
    /// The id that its sender gave it: `clientEventId`, `messageId` or `uuid`.
    message_id: Option<String>,
    reason: String,
    /// The id of the key it was sent with.
    key_id: String,
    /// Its text as it was sent, cut after 2,048 bytes. Of what was refused after it was acknowledged, a JSON object made of
    /// what it said.
    body: String,
}

impl From<RefusedEvent> for ListedRejection {
    fn from(event: RefusedEvent) -> Self {
        Self {
            at: event.at,
            name: event.name,
            user_id: event.user_id,
            message_id: event.client_event_id,
            reason: event.reason,
            key_id: event.key_id,
            body: event.body,
        }
    }
}

/// Lists the events that were refused in the last seven days, newest first: of each workspace the newest 10,000 of its
/// servers and the newest 1,000 of those with SDK keys.
///
/// Where not all fit into an answer, half of it is kept for either, since anyone can send with an SDK key; `offset` leads to
/// the others.
#[utoipa::path(
    get,
    path = "/events/rejected",
    tag = "events",
    params(
        ("since" = Option<kernel::schema::QueryMoment>, Query, description = "ISO 8601, inclusive; default seven days ago"),
        ("limit" = Option<u32>, Query, description = "default 100, at most 1000"),
        ("offset" = Option<u32>, Query, description = "default 0"),
    ),
    responses((status = 200, body = RejectedList))
)]
async fn list_rejected_events(
    State(app): State<Services>,
    caller: Caller<scope::EventsRead>,
    Query(RejectedQuery(wanted)): Query<RejectedQuery>,
) -> ApiResult<Json<RejectedList>> {
    let found = ops::rejected::list(&app, caller.workspace(), wanted).await?;
    let data = found.events.into_iter().map(ListedRejection::from).collect();
    Ok(Json(RejectedList { data, total: found.total }))
}

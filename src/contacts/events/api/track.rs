//! `POST /events/track`: one event or an array of them, answered once they are durable.

use axum::{Json, extract::State};
use ingest::{
    admit::{Rejected as Refused, Sender},
    intake::Answer,
    model::limits::EVENTS_PER_REQUEST_MAX,
};
use kernel::schema::{one_or_list, with_any_of};
use serde::Serialize;
use utoipa::ToSchema;
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, JsonBytes, TRACK_BODY_BYTES_MAX},
};

use crate::events::ops;

/// An event as the caller sends it.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body for openapi; the write path parses it")]
struct TrackedEventFields {
    /// The caller's id of the user. One of `userId`, `serviceUserId`, `anonymousId`, `userAlias` is required.
    #[schema(max_length = 255)]
    user_id: Option<String>,
    /// Name of the event.
    #[schema(min_length = 1, max_length = 255)]
    event_name: String,
    /// Up to 200 keys, 51,200 bytes, nesting depth 5.
    #[schema(value_type = Option<Object>)]
    properties: Option<serde_json::Value>,
    /// ISO 8601 text or epoch milliseconds; default the server's time.
    #[schema(value_type = Option<kernel::schema::EventMoment>)]
    timestamp: Option<String>,
    /// The internal id of the user, 24-hex.
    #[schema(pattern = "^(?:[0-9a-fA-F]{24})?$")]
    service_user_id: Option<String>,
    #[schema(max_length = 255)]
    anonymous_id: Option<String>,
    /// An alias of the user.
    user_alias: Option<UserAlias>,
    #[schema(max_length = 255)]
    session_id: Option<String>,
    #[schema(max_length = 255)]
    device_id: Option<String>,
    /// Becomes the stored event id; a repeat of it is recorded once.
    #[schema(max_length = 255)]
    client_event_id: Option<String>,
}

/// A user by a label and a name under it.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body for openapi; the write path parses it")]
struct UserAlias {
    #[schema(min_length = 1, max_length = 255)]
    alias_label: String,
    #[schema(min_length = 1, max_length = 255)]
    alias_name: String,
}

with_any_of!(
    /// An event as the caller sends it.
    TrackedEvent = TrackedEventFields,
    ["userId", "serviceUserId", "anonymousId", "userAlias"]
);

one_or_list!(
    /// One event, or up to 500 of them.
    pub TrackBody = TrackedEvent,
    EVENTS_PER_REQUEST_MAX
);

/// The answer: to a single event its id, to an array the verdicts.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Tracked {
    /// One event was recorded.
    #[serde(rename_all = "camelCase")]
    One {
        /// The stored event id.
        event_id: String,
        success: bool,
    },
    /// An array was judged element by element.
    Many { processed: usize, accepted: usize, rejected: Vec<Rejected> },
}

/// An element that was refused.
#[derive(Debug, Serialize, ToSchema)]
pub struct Rejected {
    /// Zero-based position in the request's array.
    index: usize,
    /// Its event name, when it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name: Option<String>,
    reason: String,
}

impl From<Answer> for Tracked {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::One { event_id } => Self::One { event_id, success: true },
            Answer::Many { processed, accepted, rejected } => Self::Many {
                processed,
                accepted,
                rejected: rejected.into_iter().map(Rejected::from).collect(),
            },
        }
    }
}

impl From<Refused> for Rejected {
    fn from(refused: Refused) -> Self {
        Self { index: refused.index, name: refused.name, reason: refused.errors.join("; ") }
    }
}

/// Records one event or an array of events.
#[utoipa::path(
    post,
    path = "/events/track",
    tag = "events",
    request_body = TrackBody,
    responses((status = 200, body = Tracked, description = "durable; visible to queries within a second"))
)]
pub(super) async fn track_events(
    State(app): State<Services>,
    caller: Caller<scope::EventsWrite>,
    body: JsonBytes<TRACK_BODY_BYTES_MAX>,
) -> ApiResult<Json<Tracked>> {
    let answer = ops::track::track(&app, Sender::Server, caller.workspace(), body).await?;
    Ok(Json(Tracked::from(answer)))
}

//! `POST /events/track`: one event or an array of them, answered once they are durable.

use axum::{Json, extract::State};
use http::HeaderMap;
use ingest::{
    admit::{Rejected as Refused, Sender},
    intake::Answer,
    model::limits::{EVENT_NAME_CHARS_MAX, EVENTS_PER_REQUEST_MAX, IDENTIFIER_CHARS_MAX},
};
use kernel::fields::describe::described;
use kernel::{
    Error, Result,
    fields::{Fields, FromFields},
    schema::{EventMoment, one_or_list, with_any_of},
};
use serde::Serialize;
use utoipa::{
    ToSchema,
    openapi::{ObjectBuilder, Type},
};
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, JsonBytes, TRACK_BODY_BYTES_MAX},
};

use crate::events::ops::{self, track::TrackKey};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(track_events))
}

/// An event as the caller sends it. The write path reads it; a test holds both together.
struct TrackedEventFields;

impl FromFields for TrackedEventFields {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let mut identifier = |name, about: Option<&'static str>| {
            let field = body.optional(name);
            let field = match about {
                Some(about) => field.about(about),
                None => field,
            };
            field.text(0..=IDENTIFIER_CHARS_MAX);
        };
        let user = "The caller's id of the user. One of `userId`, `serviceUserId`, `anonymousId`, \
            `userAlias` is required.";
        identifier("userId", Some(user));
        identifier("anonymousId", None);
        identifier("sessionId", None);
        identifier("deviceId", None);
        let event_id = "Becomes the stored event id; a repeat of it is recorded once.";
        identifier("clientEventId", Some(event_id));
        body.required("eventName").about("Name of the event.").text(1..=EVENT_NAME_CHARS_MAX);
        body.optional("properties")
            .about("Up to 200 keys, 51,200 bytes, nesting depth 5.")
            .json_object();
        body.optional("timestamp")
            .about("ISO 8601 text or epoch milliseconds; default the server's time.")
            .as_type::<EventMoment>()
            .json();
        body.optional("serviceUserId")
            .about("The internal id of the user, 24-hex.")
            .as_schema(|| {
                let text = ObjectBuilder::new().schema_type(Type::String);
                text.pattern(Some("^(?:[0-9a-fA-F]{24})?$")).into()
            })
            .json();
        body.optional("userAlias").about("An alias of the user.").as_type::<UserAlias>().json();
        Self
    }
}

described!(
    /// An event as the caller sends it.
    TrackedEventFields as "TrackedEventFields"
);

/// An alias of a user: a label and a name.
struct UserAlias;

impl FromFields for UserAlias {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        body.required("aliasLabel").text(1..=IDENTIFIER_CHARS_MAX);
        body.required("aliasName").text(1..=IDENTIFIER_CHARS_MAX);
        Self
    }
}

described!(
    /// An alias of a user: a label and a name.
    UserAlias as "UserAlias"
);

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

/// The answer: the id of a single event, or the result of each element of an array.
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
    /// An array was checked element by element.
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

/// Says whose times the events have.
const TIMESTAMPS: &str = "millrace-timestamps";
/// A server's, which gave them when it received the events without a `timestamp`.
const OF_RECEIPT: &str = "received";

/// Whether the events were stamped by a server before.
fn sender(headers: &HeaderMap) -> Result<Sender<'static>> {
    match headers.get(TIMESTAMPS) {
        None => Ok(Sender::Server),
        Some(value) if value == OF_RECEIPT => Ok(Sender::ServerOfStampedEvents),
        Some(_) => Err(Error::bad_request("Millrace-Timestamps must be received")),
    }
}

/// Records one event or an array of events.
#[utoipa::path(
    post,
    path = "/events/track",
    tag = "events",
    params(("Millrace-Timestamps" = Option<String>, Header, description = "`received`: a server gave these events their \
        `timestamp` when it received them, so that a `clientEventId` counts once as it does without one. For imports of exports.")),
    request_body = TrackBody,
    responses((status = 200, body = Tracked, description = "durable; visible to queries within a second"))
)]
async fn track_events(
    State(app): State<Services>,
    caller: Caller<scope::EventsWrite>,
    headers: HeaderMap,
    body: JsonBytes<TRACK_BODY_BYTES_MAX>,
) -> ApiResult<Json<Tracked>> {
    let key = TrackKey { workspace: caller.workspace(), id: caller.key() };
    let answer = ops::track::track(&app, sender(&headers)?, key, body).await?;
    Ok(Json(Tracked::from(answer)))
}

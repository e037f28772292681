//! `GET /events/live`: events as they arrive and as they are refused, as Server-Sent Events.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::stream;
use http::{HeaderName, HeaderValue, header::CACHE_CONTROL};
use ingest::{admit::calls::Adjustments, rejected::KeptRejection};
use kernel::{Timestamp, fields::Words};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::time::{Interval, MissedTickBehavior, interval};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, FromQuery, Query, QueryFields},
};

use crate::events::{
    model::live::{AcceptedEvent, LiveFilter, LiveStatus, ShownProperties},
    ops::live::{LiveUpdate, LiveWatch, watch},
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(watch_events))
}

/// Characters of a name or an id in the query string.
const FILTER_CHARS_MAX: usize = 255;
/// Interval of comments while nothing arrives, so that proxies keep the connection.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
/// Interval of checks whether the key is still live.
const KEY_CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Answers with this header are passed on by nginx as they come.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

const STATUSES: &Words<LiveStatus> =
    &[("accepted", LiveStatus::Accepted), ("rejected", LiveStatus::Rejected)];

/// The query string of a stream.
#[derive(Debug)]
pub(super) struct LiveQuery(LiveFilter);

impl FromQuery for LiveQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self(LiveFilter {
            name: query.text("name", FILTER_CHARS_MAX),
            user: query.text("userId", FILTER_CHARS_MAX),
            status: query.one_of("status", STATUSES),
        })
    }
}

/// An event of the stream; those of the type `sampled` have the one field `leftOut`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LiveEvent {
    /// `accepted` if it is stored, `rejected` if it was refused.
    status: &'static str,
    /// The stored id; of a refused event the id that its sender gave it.
    event_id: Option<String>,
    name: Option<String>,
    /// The id it was tracked with: the external one, else the internal one.
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    anonymous_id: Option<String>,
    /// The properties of an accepted event, up to 4,096 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    properties: Option<Box<RawValue>>,
    /// The first 4,096 bytes of longer properties.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    properties_beginning: Option<String>,
    /// When it happened; of an accepted event.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    timestamp: Option<Timestamp>,
    received_at: Timestamp,
    /// The id of the key it was sent with.
    key_id: String,
    /// What was changed about an accepted call of an event SDK; missing where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    adjusted: Option<Adjusted>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
    /// The text of a refused event, cut after 2,048 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    body: Option<String>,
}

/// What was changed about a call of an event SDK.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LiveAdjusted)]
struct Adjusted {
    /// Names that were replaced by those that are used here.
    renamed: u64,
    /// Parts of its context that break a limit of properties.
    cut: u64,
    /// Traits without a user, and those that its key may not set.
    dropped: u64,
}

impl From<Adjustments> for Adjusted {
    fn from(Adjustments { renamed, cut, dropped }: Adjustments) -> Self {
        Self { renamed, cut, dropped }
    }
}

/// The data of an event of the type `sampled`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    left_out: u64,
}

impl From<AcceptedEvent> for LiveEvent {
    fn from(event: AcceptedEvent) -> Self {
        let (properties, properties_beginning) = match event.properties {
            ShownProperties::Whole(text) => (RawValue::from_string(text).ok(), None),
            ShownProperties::Cut(text) => (None, Some(text)),
        };
        Self {
            status: "accepted",
            event_id: Some(event.event_id),
            name: Some(event.name),
            user_id: event.user_id,
            anonymous_id: event.anonymous_id,
            properties,
            properties_beginning,
            timestamp: Some(event.timestamp),
            received_at: event.received_at,
            key_id: event.key_id,
            adjusted: event.adjusted.map(Adjusted::from),
            reason: None,
            body: None,
        }
    }
}

impl From<&KeptRejection> for LiveEvent {
    fn from(event: &KeptRejection) -> Self {
        Self {
            status: "rejected",
            event_id: event.event_id.clone(),
            name: event.name.clone(),
            user_id: event.user_id.clone(),
            anonymous_id: None,
            properties: None,
            properties_beginning: None,
            timestamp: None,
            received_at: Timestamp::from_millis(event.at_ms),
            key_id: event.key_id.clone(),
            adjusted: None,
            reason: Some(event.reason.clone()),
            body: Some(event.body.clone()),
        }
    }
}

/// Streams events as they arrive in the process that answers, at most 100 a second.
///
/// Accepted events are shown once they are durable. What is left out is counted in an event of the type `sampled`. The
/// stream ends when the key is revoked or the server stops.
#[utoipa::path(
    get,
    path = "/events/live",
    tag = "events",
    params(
        ("name" = Option<String>, Query),
        ("userId" = Option<String>, Query, description = "external id or internal id"),
        ("status" = Option<String>, Query, description = "`accepted` or `rejected`; default both"),
    ),
    responses((
        status = 200,
        body = LiveEvent,
        content_type = "text/event-stream",
        description = "Server-Sent Events; the schema is that of their data"
    ))
)]
async fn watch_events(
    State(app): State<Services>,
    caller: Caller<scope::EventsRead>,
    Query(LiveQuery(filter)): Query<LiveQuery>,
) -> ApiResult<Response> {
    let watch = watch(&app, caller.workspace(), filter)?;
    let mut key_checks = interval(KEY_CHECK_INTERVAL);
    key_checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let open = OpenStream { app, caller, watch, key_checks, is_new: true };
    let events = stream::unfold(open, async |mut open| {
        let event = open.next().await?;
        Some((Ok::<_, Infallible>(event), open))
    });
    let heartbeats = KeepAlive::new().interval(HEARTBEAT_INTERVAL).text("heartbeat");
    let mut response = Sse::new(events).keep_alive(heartbeats).into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

/// A stream that is being answered.
struct OpenStream {
    app: Services,
    caller: Caller<scope::EventsRead>,
    watch: LiveWatch,
    key_checks: Interval,
    is_new: bool,
}

impl OpenStream {
    /// The next event; none when the key is revoked or the server stops.
    async fn next(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.is_new) {
            // So that a client knows that it listens before something arrives.
            return Some(Event::default().comment("listening"));
        }
        loop {
            tokio::select! {
                biased;
                _ = self.key_checks.tick() => {
                    if !self.caller.is_still_admitted(self.app.auth()).await {
                        return None;
                    }
                }
                update = self.watch.next() => return event_of(update?),
            }
        }
    }
}

fn event_of(update: LiveUpdate) -> Option<Event> {
    let event = match update {
        LiveUpdate::Accepted(event) => Event::default().json_data(LiveEvent::from(event)),
        LiveUpdate::Rejected(event) => Event::default().json_data(LiveEvent::from(&*event)),
        LiveUpdate::Sampled(left_out) => {
            Event::default().event("sampled").json_data(Sampled { left_out })
        }
    };
    // Texts and numbers can always be written.
    event.ok()
}

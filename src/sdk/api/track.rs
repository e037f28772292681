//! `POST /v1/track`: events from apps, with the rules of `POST /events/track`. Their ids are prefixed, and
//! only events that `[sdk] trusted_events` names trigger campaigns.

use axum::{
    Json,
    extract::{FromRequest as _, FromRequestParts as _, Request, State},
    response::{IntoResponse as _, Response},
};
use contacts::events::{
    api::{TrackBody, Tracked},
    ops::{self, track::TrackKey},
};
use ingest::admit::Sender;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::SdkTracker,
    http::{ApiResult, JsonBytes},
};

use crate::{
    SdkState,
    event_sdks::{self, Received},
};

pub(super) fn routes() -> OpenApiRouter<SdkState> {
    OpenApiRouter::new().routes(routes!(track_from_app))
}

/// Largest body of `POST /v1/track` after decompression: a single device needs no more.
const APP_TRACK_BODY_BYTES_MAX: usize = 2 << 20;

/// The answer to an app, or to an event SDK.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = AppTracked)]
enum TrackAnswer {
    App(Tracked),
    EventSdk(Received),
}

/// Records events of an app: one, or an array of up to 500. They are stored under `sdk:<clientEventId>`. Without
/// `X-SDK-Key` it takes one event in the form of Segment's protocol, with a write key.
#[utoipa::path(
    post,
    path = "/v1/track",
    tag = "sdk",
    security(("sdk_key" = [])),
    request_body = TrackBody,
    responses((status = 200, body = TrackAnswer, description = "stored durably; visible to queries within a second"))
)]
async fn track_from_app(State(app): State<SdkState>, request: Request) -> Response {
    if event_sdks::is_with_write_key(request.headers()) {
        let answer = event_sdks::track(&app, request).await.map(TrackAnswer::EventSdk).map(Json);
        return event_sdks::with_code(answer.into_response());
    }
    from_app(&app, request).await.map(TrackAnswer::App).map(Json).into_response()
}

async fn from_app(app: &SdkState, request: Request) -> ApiResult<Tracked> {
    let (mut head, body) = request.into_parts();
    let caller = SdkTracker::from_request_parts(&mut head, app).await?;
    let request = Request::from_parts(head, body);
    let body = JsonBytes::<APP_TRACK_BODY_BYTES_MAX>::from_request(request, app).await?;
    let sender = Sender::App { trusted_events: app.sdk_trusted_events() };
    let key = TrackKey { workspace: caller.workspace(), id: caller.key() };
    let answer = ops::track::track(app, sender, key, body).await?;
    Ok(Tracked::from(answer))
}

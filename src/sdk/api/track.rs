//! `POST /v1/track`: events from apps, with the rules of `POST /events/track`. Their ids are prefixed, and
//! only events that `[sdk] trusted_events` names trigger campaigns.

use axum::{Json, extract::State};
use contacts::events::{
    api::{TrackBody, Tracked},
    ops::{self, track::TrackKey},
};
use ingest::admit::Sender;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::SdkTracker,
    http::{ApiResult, JsonBytes},
};

use crate::SdkState;

pub(super) fn routes() -> OpenApiRouter<SdkState> {
    OpenApiRouter::new().routes(routes!(track_from_app))
}

/// Largest body of `POST /v1/track` after decompression: a single device needs no more.
const APP_TRACK_BODY_BYTES_MAX: usize = 2 << 20;

/// Records events of an app: one, or an array of up to 500. They are stored under `sdk:<clientEventId>`.
#[utoipa::path(
    post,
    path = "/v1/track",
    tag = "sdk",
    security(("sdk_key" = [])),
    request_body = TrackBody,
    responses((status = 200, body = Tracked, description = "stored durably; visible to queries within a second"))
)]
async fn track_from_app(
    State(app): State<SdkState>,
    caller: SdkTracker,
    body: JsonBytes<APP_TRACK_BODY_BYTES_MAX>,
) -> ApiResult<Json<Tracked>> {
    let sender = Sender::App { trusted_events: app.sdk_trusted_events() };
    let key = TrackKey { workspace: caller.workspace(), id: caller.key() };
    let answer = ops::track::track(&app, sender, key, body).await?;
    Ok(Json(Tracked::from(answer)))
}

//! `POST /v1/track`: events out of an app, by the rules of `POST /events/track`; but under ids of their own, and
//! setting off only what `[sdk] trusted_events` names.

use axum::{Json, extract::State};
use contacts::events::{
    api::{TrackBody, Tracked},
    ops,
};
use ingest::admit::Sender;
use web::{
    auth::SdkTracker,
    http::{ApiResult, JsonBytes},
};

use crate::SdkState;

/// Largest body of `POST /v1/track`, decompressed, in bytes: one device has no more to tell at a time.
const APP_TRACK_BODY_BYTES_MAX: usize = 2 << 20;

/// Records events of an app: one, or an array of up to 500. They are stored under `sdk:<clientEventId>`.
#[utoipa::path(
    post,
    path = "/v1/track",
    tag = "sdk",
    security(("sdk_key" = [])),
    request_body = TrackBody,
    responses((status = 200, body = Tracked, description = "durable; visible to queries within a second"))
)]
pub(super) async fn track_from_app(
    State(app): State<SdkState>,
    caller: SdkTracker,
    body: JsonBytes<APP_TRACK_BODY_BYTES_MAX>,
) -> ApiResult<Json<Tracked>> {
    let sender = Sender::App { trusted_events: app.sdk_trusted_events() };
    let answer = ops::track::track(&app, sender, caller.workspace(), body).await?;
    Ok(Json(Tracked::from(answer)))
}

//! `POST /v1/track`: events out of an app, by the rules of `POST /events/track`.

use axum::{Json, extract::State};

use crate::{
    app::App,
    auth::SdkCaller,
    events::{
        api::{TrackBody, Tracked},
        ops,
    },
    http::JsonBytes,
    kernel::Result,
};

/// Largest body of `POST /v1/track`, decompressed, in bytes: one device has no more to tell at a time.
const APP_TRACK_BODY_BYTES_MAX: usize = 2 << 20;

/// Records events of an app: one, or an array of up to 500.
#[utoipa::path(
    post,
    path = "/v1/track",
    tag = "sdk",
    security(("sdk_key" = [])),
    request_body = TrackBody,
    responses((status = 200, body = Tracked, description = "durable; visible to queries within a second"))
)]
pub(super) async fn track_from_app(
    State(app): State<App>,
    caller: SdkCaller,
    body: JsonBytes<APP_TRACK_BODY_BYTES_MAX>,
) -> Result<Json<Tracked>> {
    let answer = ops::track::track(&app, caller.workspace(), body).await?;
    Ok(Json(Tracked::from(answer)))
}

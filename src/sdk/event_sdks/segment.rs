//! The HTTP API of Segment, which RudderStack took over.

use axum::{
    Json, Router,
    extract::{Request, State},
    routing::post,
};
use ingest::admit::calls::{CallKind, Protocol};
use serde::Serialize;
use utoipa::ToSchema;
use web::http::ApiResult;

use super::receive::{CallRoute, MISSING, receive};
use crate::SdkState;

/// The telemetry of analytics.js.
pub(super) const TELEMETRY: &str = "/v1/m";
/// Where RudderStack's browser SDK sends what is left when a page closes.
pub(super) const BEACON: &str = "/beacon/v1/batch";

/// A path and the type of its calls; none where calls say it.
pub(super) struct SegmentPath {
    pub(super) path: &'static str,
    pub(super) kind: Option<CallKind>,
}

const fn path(path: &'static str, kind: Option<CallKind>) -> SegmentPath {
    SegmentPath { path, kind }
}

/// The routes of calls, but for `/v1/track`. Browsers use those of one letter.
pub(super) const PATHS: [SegmentPath; 14] = [
    path("/v1/batch", None),
    path("/v1/import", None),
    path("/v1/identify", Some(CallKind::Identify)),
    path("/v1/page", Some(CallKind::Page)),
    path("/v1/screen", Some(CallKind::Screen)),
    path("/v1/group", Some(CallKind::Group)),
    path("/v1/alias", Some(CallKind::Alias)),
    path("/v1/b", None),
    path("/v1/t", Some(CallKind::Track)),
    path("/v1/i", Some(CallKind::Identify)),
    path("/v1/p", Some(CallKind::Page)),
    path("/v1/s", Some(CallKind::Screen)),
    path("/v1/g", Some(CallKind::Group)),
    path("/v1/a", Some(CallKind::Alias)),
];

/// The answer to calls that are durable.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
// Otherwise the schema of the answer to an app would fit this one, too.
#[serde(deny_unknown_fields)]
pub(crate) struct Received {
    pub(crate) success: bool,
}

pub(super) fn routes() -> Router<SdkState> {
    let with_kinds = PATHS.iter().fold(Router::new(), |routes, route| {
        let kind = route.kind;
        routes.route(
            route.path,
            post(async move |State(app): State<SdkState>, request: Request| {
                calls(&app, request, kind).await
            }),
        )
    });
    with_kinds.route(TELEMETRY, post(async || Json(Received { success: true }))).route(
        BEACON,
        post(async |State(app): State<SdkState>, request: Request| {
            calls(&app, request, None).await
        }),
    )
}

/// Records one event that came with a write key to the route that apps use as well.
pub(crate) async fn track(app: &SdkState, request: Request) -> ApiResult<Received> {
    // As apps are answered that send no key.
    let (kind, missing) = (Some(CallKind::Track), "Missing SDK key");
    receive(app, request, CallRoute { protocol: Protocol::Segment, kind, missing }).await?;
    Ok(Received { success: true })
}

async fn calls(
    app: &SdkState,
    request: Request,
    kind: Option<CallKind>,
) -> ApiResult<Json<Received>> {
    let route = CallRoute { protocol: Protocol::Segment, kind, missing: MISSING };
    receive(app, request, route).await?;
    Ok(Json(Received { success: true }))
}

//! The capture API of PostHog.

use axum::{
    Json, Router,
    extract::{Request, State},
    routing::post,
};
use ingest::admit::calls::Protocol;
use serde_json::{Value, json};
use web::http::ApiResult;

use super::receive::{CallRoute, MISSING, caller_of_posthog, receive};
use crate::SdkState;

/// The routes, as SDKs write them.
pub(super) const PATHS: [&str; 12] = [
    "/batch/",
    "/batch",
    "/capture/",
    "/capture",
    "/e/",
    "/e",
    "/i/v0/e/",
    "/i/v0/e",
    "/flags/",
    "/flags",
    "/decide/",
    "/decide",
];

pub(super) fn routes() -> Router<SdkState> {
    PATHS.iter().fold(Router::new(), |routes, path| {
        let handler = match path.trim_end_matches('/') {
            "/flags" | "/decide" => post(flags),
            "/i/v0/e" => post(capture_v0),
            _ => post(capture),
        };
        routes.route(path, handler)
    })
}

async fn calls(app: &SdkState, request: Request) -> ApiResult<()> {
    let route = CallRoute { protocol: Protocol::PostHog, kind: None, missing: MISSING };
    receive(app, request, route).await
}

async fn capture(State(app): State<SdkState>, request: Request) -> ApiResult<Json<Value>> {
    calls(&app, request).await?;
    Ok(Json(json!({"status": 1})))
}

async fn capture_v0(State(app): State<SdkState>, request: Request) -> ApiResult<Json<Value>> {
    calls(&app, request).await?;
    Ok(Json(json!({"status": "Ok"})))
}

/// There are no feature flags here, and nothing else of what the SDKs ask for.
async fn flags(State(app): State<SdkState>, request: Request) -> ApiResult<Json<Value>> {
    caller_of_posthog(&app, request).await?;
    Ok(Json(json!({
        "flags": {},
        "featureFlags": {},
        "featureFlagPayloads": {},
        "errorsWhileComputingFlags": false,
        "config": {"enable_collect_everything": false},
        "supportedCompression": ["gzip", "gzip-js"],
        "sessionRecording": false,
        "surveys": false,
        "siteApps": [],
    })))
}

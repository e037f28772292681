//! What posthog-js asks for before it starts, first as a script and then as JSON. Without an answer it logs errors on each
//! page, and sends events uncompressed.

use axum::{
    Json, Router,
    extract::{Request, State},
    response::IntoResponse,
    routing::get,
};
use http::header::CONTENT_TYPE;
use kernel::Error;
use secrecy::SecretString;
use serde_json::{Value, json};
use web::{auth::WriteKey, http::ApiResult};

use super::receive::MISSING;
use crate::SdkState;

const SCRIPT: &str = "/array/{key}/config.js";
const PLAIN: &str = "/array/{key}/config";
pub(super) const PATHS: [&str; 2] = [SCRIPT, PLAIN];

pub(super) fn routes() -> Router<SdkState> {
    Router::new().route(SCRIPT, get(script)).route(PLAIN, get(plain))
}

async fn script(State(app): State<SdkState>, request: Request) -> ApiResult<impl IntoResponse> {
    let key = verified(&app, request, "/config.js").await?;
    let entry = json!({"config": config(&key), "siteApps": []});
    let name = "window._POSTHOG_REMOTE_CONFIG";
    let text = format!("({name} = {name} || {{}})[{}] = {entry};", json!(key));
    Ok(([(CONTENT_TYPE, "text/javascript; charset=utf-8")], text))
}

async fn plain(State(app): State<SdkState>, request: Request) -> ApiResult<Json<Value>> {
    let key = verified(&app, request, "/config").await?;
    Ok(Json(config(&key)))
}

/// The key in the path; keys have no characters that are escaped there.
async fn verified(app: &SdkState, request: Request, end: &str) -> ApiResult<String> {
    let (mut head, _) = request.into_parts();
    let key = head.uri.path().strip_prefix("/array/").and_then(|path| path.strip_suffix(end));
    let key = key.filter(|key| !key.is_empty()).ok_or(Error::Unauthenticated(MISSING))?.to_owned();
    WriteKey::verify(&SecretString::from(key.as_str()), &mut head, app).await?;
    Ok(key)
}

/// Only what a page captures itself is sent: there is no use for the rest here. Without a word on surveys their script is not
/// asked for.
fn config(key: &str) -> Value {
    json!({
        "token": key,
        "supportedCompression": ["gzip", "gzip-js"],
        "defaultIdentifiedOnly": true,
        "autocapture_opt_out": true,
        "autocaptureExceptions": false,
        "captureDeadClicks": false,
        "capturePerformance": false,
        "heatmaps": false,
        "sessionRecording": false,
        "siteApps": [],
    })
}

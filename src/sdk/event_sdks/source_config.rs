//! What RudderStack's SDK for browsers asks for before it starts.

use axum::{
    Json, Router,
    extract::{Request, State},
    routing::get,
};
use serde_json::{Value, json};
use web::http::ApiResult;

use super::receive::caller_of_head;
use crate::SdkState;

/// Its SDK asks with the last slash.
pub(super) const PATHS: [&str; 2] = ["/sourceConfig", "/sourceConfig/"];

pub(super) fn routes() -> Router<SdkState> {
    PATHS.iter().fold(Router::new(), |routes, path| routes.route(path, get(source_config)))
}

/// A source without destinations, so that the SDK loads no further scripts, and without reports on itself.
async fn source_config(State(app): State<SdkState>, request: Request) -> ApiResult<Json<Value>> {
    let (mut head, _) = request.into_parts();
    let key = caller_of_head(&app, &mut head).await?;
    Ok(Json(json!({
        "source": {
            "id": key.workspace().to_string(),
            "name": "Millrace",
            "workspaceId": key.workspace().to_string(),
            "enabled": true,
            "config": {
                "statsCollection": {"errors": {"enabled": false}, "metrics": {"enabled": false}},
            },
            "destinations": [],
        },
    })))
}

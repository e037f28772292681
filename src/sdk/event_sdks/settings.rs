//! What analytics.js asks for before it starts: where to send, and with which key.

use axum::{
    Json, Router,
    extract::{Request, State},
    routing::get,
};
use kernel::Error;
use secrecy::SecretString;
use serde_json::{Value, json};
use url::Url;
use web::{auth::WriteKey, http::ApiResult};

use super::receive::MISSING;
use crate::SdkState;

pub(super) const PATH: &str = "/v1/projects/{key}/settings";
/// Where the path of a call begins.
const API_PATH: &str = "/v1";

pub(super) fn routes() -> Router<SdkState> {
    Router::new().route(PATH, get(settings))
}

async fn settings(State(app): State<SdkState>, request: Request) -> ApiResult<Json<Value>> {
    let (mut head, _) = request.into_parts();
    let key = key(head.uri.path()).ok_or(Error::Unauthenticated(MISSING))?;
    WriteKey::verify(&SecretString::from(key.as_str()), &mut head, &app).await?;
    let ServerAddress { protocol, host } = address(app.links().public_url());
    Ok(Json(json!({
        "integrations": {
            "Segment.io": {
                "apiKey": key,
                "apiHost": host,
                "protocol": protocol,
                "unbundledIntegrations": [],
                "addBundledMetadata": true,
                "maybeBundledConfigIds": {},
                "versionSettings": {"version": "4.4.7", "componentTypes": ["browser"]},
            },
        },
        "plan": {"track": {"__default": {"enabled": true, "integrations": {}}}},
        "edgeFunction": {},
        "analyticsNextEnabled": true,
        "middlewareSettings": {},
        "enabledMiddleware": {},
        "metrics": {"sampleRate": 0, "host": host},
        "legacyVideoPluginsEnabled": false,
        "remotePlugins": [],
    })))
}

/// The key in the path; keys have no characters that are escaped there.
fn key(path: &str) -> Option<String> {
    let key = path.strip_prefix("/v1/projects/")?.strip_suffix("/settings")?;
    (!key.is_empty()).then(|| key.to_owned())
}

/// This server as the SDK writes addresses: `<protocol>://<host>/t`.
struct ServerAddress {
    protocol: String,
    host: String,
}

fn address(public_url: &Url) -> ServerAddress {
    let host = public_url.host_str().unwrap_or_default();
    let port = public_url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = public_url.path().trim_end_matches('/');
    ServerAddress {
        protocol: public_url.scheme().to_owned(),
        host: format!("{host}{port}{path}{API_PATH}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_its_port_and_path() {
        for (url, protocol, host) in [
            ("https://m.example", "https", "m.example/v1"),
            ("http://127.0.0.1:8080/", "http", "127.0.0.1:8080/v1"),
            ("https://shop.example/millrace/", "https", "shop.example/millrace/v1"),
        ] {
            let address = address(&Url::parse(url).unwrap());
            assert_eq!((address.protocol.as_str(), address.host.as_str()), (protocol, host));
        }
    }
}

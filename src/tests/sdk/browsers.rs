//! CORS: pages of other origins may call `/v1`, and nothing else.

use reqwest::Method;
use serde_json::json;

use super::Device;
use crate::kit::{Client, Workspace};

const PAGE: &str = "https://shop.example";
const ALLOWED: &str = "access-control-allow-origin";

#[tokio::test]
async fn every_sdk_route_answers_cors_preflights() {
    let client = Client::anonymous();
    for (path, methods) in [
        ("/v1/track", "POST"),
        ("/v1/devices", "POST"),
        ("/v1/devices/a-token", "DELETE"),
        ("/v1/in-app/messages", "GET"),
        ("/v1/in-app/events", "POST"),
        ("/v1/subscriptions/channel", "POST"),
        ("/v1/subscriptions/group", "POST"),
    ] {
        let preflight = client
            .request(Method::OPTIONS, path)
            .header("origin", PAGE)
            .header("access-control-request-method", methods)
            .header("access-control-request-headers", "x-sdk-key,content-type");
        let answer = client.send(preflight, 204).await;
        assert_eq!(answer.headers[ALLOWED], "*", "{path}");
        assert_eq!(answer.headers["access-control-allow-methods"], methods, "{path}");
        let allowed = answer.headers["access-control-allow-headers"].to_str().unwrap();
        assert!(allowed.starts_with("x-sdk-key, x-user-token, content-type"), "{path}: {allowed}");
        assert!(!answer.headers.contains_key("access-control-allow-credentials"), "{path}");
    }
}

#[tokio::test]
async fn cors_applies_to_answers_and_errors_of_sdk_routes_only() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let client = Client::anonymous();
    let event = json!({"userId": "ann", "eventName": "A"});
    let track = |body| device.request(Method::POST, "/v1/track").header("origin", PAGE).json(body);
    assert_eq!(client.send(track(&event), 200).await.headers[ALLOWED], "*");
    assert_eq!(client.send(track(&json!({})), 400).await.headers[ALLOWED], "*");
    let keyless = client.request(Method::POST, "/v1/track").header("origin", PAGE).json(&event);
    let refused = client.send(keyless, 401).await;
    assert_eq!(refused.headers[ALLOWED], "*");
    assert_eq!(refused.json()["statusCode"], 401);
    for path in ["/users", "/livez", "/openapi.json"] {
        let request = workspace.api.request(Method::GET, path).header("origin", PAGE);
        assert!(!client.send(request, 200).await.headers.contains_key(ALLOWED), "{path}");
        let preflight = client.request(Method::OPTIONS, path).header("origin", PAGE);
        client.send(preflight, 405).await;
    }
    let unasked = device.request(Method::POST, "/v1/track").json(&event);
    assert!(!client.send(unasked, 200).await.headers.contains_key(ALLOWED));
}

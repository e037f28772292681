//! Every answer of 400 and above has the one error body, whichever layer made it.

use reqwest::Method;
use serde_json::{Value, json};

use crate::kit::{Client, Workspace};

fn assert_error_body(body: &Value, status: u16, path: &str) {
    let fields: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = vec!["message", "path", "statusCode", "timestamp"];
    if status == 400 {
        expected.insert(0, "errors");
    }
    let mut sorted = fields.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected, "{body}");
    assert_eq!(body["statusCode"], status);
    assert_eq!(body["path"], path);
    let timestamp = body["timestamp"].as_str().unwrap();
    assert!(chrono::DateTime::parse_from_rfc3339(timestamp).is_ok() && timestamp.ends_with('Z'));
    assert!(!body["message"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn every_error_has_the_same_envelope() {
    let workspace = Workspace::new().await;
    let none = workspace.with_scopes("users:delete").await;
    for (client, method, path, body, status) in [
        (&workspace.api, Method::GET, "/nowhere?a=1", None, 404),
        (&workspace.api, Method::GET, "/events", None, 404),
        (&workspace.api, Method::GET, "/events/track", None, 405),
        (&workspace.api, Method::DELETE, "/events/query", None, 405),
        (&Client::anonymous(), Method::POST, "/events/track", Some("{}"), 401),
        (&none, Method::POST, "/events/track", Some("{}"), 403),
        (&workspace.api, Method::POST, "/events/track", Some("{"), 400),
        (&workspace.api, Method::POST, "/events/aggregate", Some("{"), 400),
        (&workspace.api, Method::POST, "/events/aggregate", Some("[]"), 400),
        (&workspace.api, Method::GET, "/events/query?startDate=x&endDate=y", None, 400),
        (&workspace.api, Method::GET, "/users/0123456789abcdef01234567/events?a=%00", None, 404),
    ] {
        let mut request = client.request(method.clone(), path);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        let answer = client.send(request, status).await;
        assert_error_body(&answer.json(), status, path);
        assert_eq!(answer.headers["content-type"], "application/json");
        if status == 405 {
            assert!(answer.headers.contains_key("allow"), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn unknown_routes_are_404_and_wrong_methods_405_before_authentication() {
    let anonymous = Client::anonymous();
    anonymous.get("/nowhere", 404).await;
    anonymous.get("/events/track", 405).await;
    anonymous.get("/events/query", 401).await;
}

#[tokio::test]
async fn several_field_errors_have_a_generic_message_and_a_single_one_its_own() {
    let workspace = Workspace::new().await;
    let answer =
        workspace.api.post("/events/aggregate", &json!({"eventName": 1, "groupBy": 2}), 400).await;
    assert_eq!(answer.json()["message"], "Bad Request");
    assert_eq!(answer.errors().len(), 2);
    let answer = workspace.api.post("/events/aggregate", &json!({"eventName": 1}), 400).await;
    assert_eq!(answer.json()["message"], "eventName must be a string");
    assert_eq!(answer.errors(), ["eventName must be a string"]);
}

#[tokio::test]
async fn the_request_id_is_echoed_or_generated() {
    let workspace = Workspace::new().await;
    let request =
        workspace.api.request(Method::GET, "/events/query").header("x-request-id", "mine-1");
    let answer = workspace.api.send(request, 200).await;
    assert_eq!(answer.headers["x-request-id"], "mine-1");
    let minted = workspace.api.get("/nowhere", 404).await;
    assert!(!minted.headers["x-request-id"].is_empty());
}

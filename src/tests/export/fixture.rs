//! Events to export, and exports that are read whole.

use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::kit::{Client, Workspace, eventually};

/// Tracks events, and waits until an export has so many.
pub(super) async fn track(workspace: &Workspace, events: &[Value], exported: usize) {
    for some in events.chunks(500) {
        let answer = workspace.api.post("/events/track", &json!(some), 200).await.json();
        assert_eq!(answer["rejected"], json!([]));
    }
    until_exported(&workspace.api, exported).await;
}

pub(super) async fn until_exported(client: &Client, count: usize) {
    eventually("the events are there", || async {
        (rows(client, "").await.len() == count).then_some(())
    })
    .await;
}

/// Opens an export of events.
pub(super) async fn open(client: &Client, query: &str, accept: &str) -> Response {
    open_at(client, &format!("/events/export{query}"), accept).await
}

/// Opens an export. All tests share the places of the server, so it waits for one.
pub(super) async fn open_at(client: &Client, path: &str, accept: &str) -> Response {
    eventually("there is a place for an export", || async {
        let request = client.request(Method::GET, path);
        let response = request.header("accept", accept).send().await.unwrap();
        (response.status() != StatusCode::TOO_MANY_REQUESTS).then_some(response)
    })
    .await
}

/// The bytes of an export of events that ends well.
pub(super) async fn bytes(client: &Client, query: &str) -> Vec<u8> {
    bytes_at(client, &format!("/events/export{query}")).await
}

/// The bytes of an export that ends well.
pub(super) async fn bytes_at(client: &Client, path: &str) -> Vec<u8> {
    let response = open_at(client, path, "*/*").await;
    assert_eq!(response.status(), StatusCode::OK);
    response.bytes().await.unwrap().to_vec()
}

/// The rows of an export of events in NDJSON.
pub(crate) async fn rows(client: &Client, query: &str) -> Vec<Value> {
    rows_at(client, &format!("/events/export{query}")).await
}

/// The rows of an export in NDJSON.
pub(super) async fn rows_at(client: &Client, path: &str) -> Vec<Value> {
    let text = String::from_utf8(bytes_at(client, path).await).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// An export of which a part came, and that has its place until it is dropped.
pub(super) async fn began_at(client: &Client, path: &str) -> Response {
    let mut response = open_at(client, path, "*/*").await;
    assert_eq!(response.status(), StatusCode::OK);
    assert!(response.chunk().await.unwrap().is_some());
    response
}

/// Two exports are running, which is all that a workspace may.
pub(super) async fn has_no_place(client: &Client, path: &str) {
    let answer = client.send(client.request(Method::GET, path), 429).await;
    assert_eq!(answer.headers["retry-after"], "10");
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("2 exports running"), "{message}");
}

/// An export breaks off once its key, which was revoked, is refused at a path.
pub(super) async fn breaks_off(client: &Client, path: &str, export: Response) {
    eventually("the key is refused", || async {
        let response = client.request(Method::GET, path).send().await.unwrap();
        (response.status() == StatusCode::UNAUTHORIZED).then_some(())
    })
    .await;
    let rest = export.bytes().await;
    assert!(rest.is_err(), "{} bytes came, as if they were all", rest.unwrap().len());
}

/// An export has the type of its format, and is not stored on its way.
pub(super) async fn has_type(
    client: &Client,
    path: &str,
    [accept, expected]: [&str; 2],
) -> Response {
    let response = open_at(client, path, accept).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], expected, "{path} {accept}");
    assert_eq!(response.headers()["cache-control"], "no-store");
    response
}

pub(super) fn column<'r>(rows: &'r [Value], name: &str) -> Vec<&'r str> {
    rows.iter().map(|row| row[name].as_str().unwrap()).collect()
}

/// Events of a small shop: all kinds of identifiers, texts that need quoting, orders.
pub(super) fn shop() -> Vec<Value> {
    vec![
        json!({"userId": "ann", "eventName": "Page Viewed", "clientEventId": "v-1", "sessionId": "s",
            "deviceId": "d", "anonymousId": "cookie", "timestamp": "2026-03-01T10:00:00.000Z",
            "properties": {"title": "a \"b\",\nc\r\nd; é 日本 =1+1", "nested": {"n": 1.5, "list": [1, null]}}}),
        json!({"anonymousId": "cookie", "eventName": "Page Viewed", "timestamp": "2026-03-01T10:00:00.001Z"}),
        json!({"userAlias": {"aliasLabel": "crm", "aliasName": "77"}, "eventName": "Called",
            "clientEventId": "c-1", "timestamp": "2026-03-01T10:00:00.001Z", "properties": {"big": 1e300}}),
        json!({"serviceUserId": "0123456789abcdef01234567", "eventName": "Called", "clientEventId": "c-1",
            "timestamp": "2026-03-02T00:00:00.000Z"}),
        json!({"userId": "ann", "eventName": "Order Completed", "clientEventId": "o-1",
            "timestamp": "2026-03-03T12:00:00.000Z",
            "properties": {"orderId": "1001", "total": 49.9, "currency": "EUR"}}),
        json!({"userId": "bob", "eventName": "Order Completed", "clientEventId": "o-2",
            "timestamp": "2026-03-04T12:00:00.000Z", "properties": {"orderId": "1001", "total": 10}}),
        json!({"userId": "bob", "eventName": "Order Completed", "clientEventId": "o-3",
            "timestamp": "2026-04-01T00:00:00.000Z", "properties": {"total": "0.1234", "currency": "usd"}}),
        json!({"userId": "bob", "eventName": "Order Completed", "clientEventId": "o-4",
            "timestamp": "2026-04-01T00:00:00.000Z", "properties": {"total": "free"}}),
    ]
}

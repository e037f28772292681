//! Every error has the one body, whatever produced it.

use serde_json::json;

use super::kit::{Answer, start};

#[tokio::test]
async fn an_unknown_route_is_404_with_path_and_query_as_received() {
    let server = start().await;
    server.get("/no/such%20route?a=1&b=%zz").await.refused(
        404,
        "Not Found",
        "/no/such%20route?a=1&b=%zz",
    );
}

#[tokio::test]
async fn a_wrong_method_is_405_and_says_which_are_allowed() {
    let server = start().await;
    let answer = server.get("/things").await;
    answer.refused(405, "Method Not Allowed", "/things");
    assert_eq!(answer.headers["allow"], "POST");
    let answer = server.post("/named/1", &[], Vec::new()).await;
    answer.refused(405, "Method Not Allowed", "/named/1");
    assert_eq!(answer.headers["allow"], "GET,HEAD");
}

#[tokio::test]
async fn a_panic_is_500_without_its_message() {
    let server = start().await;
    let answer = server.get("/panics").await;
    answer.refused(500, "Internal Server Error", "/panics");
    assert!(!answer.text.contains("secret"));
    server.get("/named/7").await;
}

#[tokio::test]
async fn every_failed_field_is_listed_in_order() {
    let server = start().await;
    let body = json!({"name": "", "size": 10}).to_string().into_bytes();
    let answer = server.post("/things", &[("content-type", "application/json")], body).await;
    let refused = answer.refused(400, "Bad Request", "/things");
    assert_eq!(
        refused["errors"],
        json!(["name must be between 1 and 5 characters", "size must be between 0 and 9"])
    );
}

#[tokio::test]
async fn malformed_json_is_a_single_cause() {
    let server = start().await;
    for body in ["{\"name\"", "", "[1", "\u{0}", &"[".repeat(10_000), &"{\"a\":".repeat(10_000)] {
        let answer = server.post("/things", &[], body.into()).await;
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("body is not valid JSON: "), "{message}");
        let refused = answer.refused(400, &message, "/things");
        assert_eq!(refused["errors"], json!([message]));
    }
}

#[tokio::test]
async fn a_content_type_other_than_json_is_415() {
    let server = start().await;
    let answer = server.post("/things", &[("content-type", "text/plain")], b"{}".to_vec()).await;
    answer.refused(415, "Content-Type must be application/json", "/things");
    let named = br#"{"name":"a"}"#;
    for form in ["application/json; charset=utf-8", "application/cloudevents+json"] {
        let answer = server.post("/things", &[("content-type", form)], named.to_vec()).await;
        assert_eq!((answer.status, answer.json()), (200, json!({"name": "a"})));
    }
    let answer = server.post("/things", &[], named.to_vec()).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_rejection_of_the_framework_is_rewritten() {
    let server = start().await;
    let form = [("content-type", "application/json")];
    let answer = server.post("/foreign?x", &form, b"{".to_vec()).await;
    let refused = answer.refused(400, "Bad Request", "/foreign?x");
    assert_eq!(refused["errors"].as_array().unwrap().len(), 1);
    server.post("/foreign", &[], b"{}".to_vec()).await.refused(
        415,
        "Unsupported Media Type",
        "/foreign",
    );
}

#[tokio::test]
async fn a_path_that_cannot_be_read_does_not_exist() {
    let server = start().await;
    for path in ["/named/x", "/named/99999999999", "/named/%00", "/named/%ff"] {
        server.get(path).await.refused(404, "Not Found", path);
    }
    assert_eq!(server.get("/named/7").await.json(), json!({"id": 7}));
}

#[tokio::test]
async fn a_head_request_is_refused_without_a_body() {
    let server = start().await;
    let answer = Answer::of(reqwest::Client::new().head(server.url("/nowhere"))).await;
    assert_eq!((answer.status, answer.text.as_str()), (404, ""));
}

#[tokio::test]
async fn the_order_of_checks_is_route_method_credential_body() {
    let server = start().await;
    let text = [("content-type", "text/plain")];
    server.get("/guarded").await.refused(405, "Method Not Allowed", "/guarded");
    let answer = server.post("/guarded", &text, b"{".to_vec()).await;
    answer.refused(401, "Missing API key", "/guarded");
    assert_eq!(answer.headers["www-authenticate"], "Bearer");
    for credential in ["Bearer x", "Bearer mr_short_secret", "Basic eA==", "Bearer a.b.c"] {
        let answer = server.post("/guarded", &[("authorization", credential)], b"{".to_vec()).await;
        answer.refused(401, "Invalid API key", "/guarded");
    }
}

#[tokio::test]
async fn a_key_never_seen_is_503_while_postgres_is_away() {
    let server = start().await;
    let key = format!("Bearer mr_abcdefghijkl_{}", "x".repeat(43));
    let answer = server.post("/guarded", &[("authorization", &key)], b"{}".to_vec()).await;
    answer.refused(503, "The control-plane store is unavailable", "/guarded");
    assert_eq!(answer.headers["retry-after"], "1");
}

#[tokio::test]
async fn health_checks_use_the_same_error_body() {
    use crate::http::health::{Condition, Store};
    let server = start().await;
    assert_eq!(server.get("/livez").await.json(), json!({"status": "ok"}));
    let answer = server.get("/readyz").await;
    answer.refused(503, "PostgreSQL and ClickHouse are not ready", "/readyz");
    server.app.readiness.set(Store::Postgres, Condition::Ready);
    server.app.readiness.set(Store::Clickhouse, Condition::Ready);
    assert_eq!(server.get("/readyz").await.status, 200);
}

#[tokio::test]
async fn a_request_id_is_returned_or_created() {
    let server = start().await;
    for path in ["/livez", "/nowhere", "/panics"] {
        let request = reqwest::Client::new().get(server.url(path)).header("x-request-id", "abc-1");
        assert_eq!(Answer::of(request).await.headers["x-request-id"], "abc-1");
        assert_eq!(server.get(path).await.headers["x-request-id"].len(), 32);
    }
}

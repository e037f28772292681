//! Forms of bodies, and bodies that are refused.

use std::io::Write as _;

use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::*;

/// Bytes of the largest body.
const LIMIT: usize = 4 << 20;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn json_is_read_whatever_the_content_type_says() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write").await;
    let body = |id: &str| {
        json!({"batch": [{"type": "track", "event": "E", "userId": "ann", "messageId": id}]})
            .to_string()
    };
    for (id, form) in
        ["application/json", "text/plain", "application/x-www-form-urlencoded", "image/png"]
            .iter()
            .enumerate()
    {
        let request = sender.request("/v1/batch").header("content-type", *form);
        sender.http.send(request.body(body(&id.to_string())), 200).await;
    }
    let packed = gzip(body("gzip").as_bytes());
    let form = "application/x-www-form-urlencoded";
    let request = sender.request("/v1/batch").header("content-type", form);
    sender.http.send(request.header("content-encoding", "gzip").body(packed.clone()), 200).await;
    // Without a header that says so.
    sender
        .http
        .send(sender.request("/v1/batch").body(gzip(body("gzip without a header").as_bytes())), 200)
        .await;
    let fields = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("data", &body("form"))
        .finish();
    sender.http.send(sender.request("/v1/batch").body(fields), 200).await;
    let coded = format!("data={}", BASE64_STANDARD.encode(body("base64")).replace('+', "%2B"));
    sender.http.send(sender.request("/v1/batch").body(coded), 200).await;
    events(&workspace, "ann", 8).await;
}

#[tokio::test]
async fn broken_bodies_are_400_and_too_long_ones_413() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write").await;
    for (body, expected) in [
        ("", "body is not valid JSON"),
        ("{", "body is not valid JSON"),
        ("data=***", "body must be JSON"),
        ("{}", "body must contain an event or a batch"),
        ("[]", "body must contain an event or a batch"),
        (r#"{"batch":[]}"#, "body must contain at least 1 event"),
        (r#"{"batch":5}"#, "batch must be an array"),
        (r#"{"sentAt":"2026-11-21"}"#, "body must contain an event or a batch"),
    ] {
        let request = sender.request("/v1/batch").body(body);
        let refused = sender.http.send(request, 400).await.json();
        assert_eq!(refused["code"], 400, "{body}");
        assert!(refused["message"].as_str().unwrap().starts_with(expected), "{body}: {refused}");
    }
    let around = r#"{"batch":[{"type":"track","event":"E","userId":"ann","x":""}]}"#.len();
    let body = |length: usize| {
        format!(
            r#"{{"batch":[{{"type":"track","event":"E","userId":"ann","x":"{}"}}]}}"#,
            "x".repeat(length - around)
        )
    };
    sender.http.send(sender.request("/v1/batch").body(body(LIMIT)), 200).await;
    let refused =
        sender.http.send(sender.request("/v1/batch").body(body(LIMIT + 1)), 413).await.json();
    assert_eq!(refused["code"], 413);
    let packed = gzip(body(LIMIT + 1).as_bytes());
    let packed = sender.request("/v1/batch").header("content-encoding", "gzip").body(packed);
    sender.http.send(packed, 413).await;
    events(&workspace, "ann", 1).await;
}

#[tokio::test]
async fn many_tiny_and_only_faulty_events_are_answered_200() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write").await;
    let body = format!(r#"{{"batch":[{}1]}}"#, "1,".repeat(99_999));
    sender.http.send(sender.request("/v1/batch").body(body), 200).await;
    let batches = format!(r#"{{"batch":[{}{{}}]}}"#, r#"{"batch":[{}]},"#.repeat(1_000));
    sender.http.send(sender.request("/v1/batch").body(batches), 200).await;
    sender.batch(&[json!({"type": "track", "event": "E", "userId": "ann"})]).await;
    events(&workspace, "ann", 1).await;
}

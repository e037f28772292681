//! Invalid bodies: a clear error, no 5xx, nothing half-stored.

use std::io::Write as _;

use reqwest::Method;
use serde_json::{Value, json};

use super::track::events_of;
use crate::kit::Workspace;

const TRACK: &str = "/events/track";

#[tokio::test]
async fn invalid_json_is_400_with_the_byte_offset() {
    let workspace = Workspace::new().await;
    for body in [
        "",
        " ",
        "{",
        "{\"userId\":",
        "nonsense",
        "{'userId':'a'}",
        "[{},]",
        "{}{}",
        "\u{feff}{}x",
        "{\"userId\":\"\\ud800\",\"eventName\":\"A\"}",
        "{\"userId\":\"a\tb\",\"eventName\":\"A\"}",
    ] {
        let answer = workspace.api.post_bytes(TRACK, body, 400).await;
        let errors = answer.errors();
        assert_eq!(errors.len(), 1, "{body:?}: {errors:?}");
    }
    for bytes in [&b"\xff\xfe"[..], b"{\"userId\":\"\xff\",\"eventName\":\"A\"}", b"\0"] {
        workspace.api.post_bytes(TRACK, bytes, 400).await;
    }
    for body in [json!("text"), json!(1), json!(null), json!(true)] {
        workspace.api.post(TRACK, &body, 400).await;
    }
}

#[tokio::test]
async fn one_element_nested_10_000_deep_never_breaks_the_server() {
    let workspace = Workspace::new().await;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
        // An array of arrays is an array with one element that is no event.
        let expected = if open == "[" { 200 } else { 400 };
        workspace.api.post_bytes(TRACK, deep.clone(), expected).await;
        let event =
            format!("{{\"userId\":\"ann\",\"eventName\":\"A\",\"properties\":{{\"d\":{deep}}}}}");
        workspace.api.post_bytes(TRACK, event, 400).await;
    }
    // Deep but within what is parsed: that element alone is rejected.
    let deep = format!("{}1{}", "[".repeat(20), "]".repeat(20));
    let batch = format!(
        "[{{\"userId\":\"ann\",\"eventName\":\"A\"}},{{\"userId\":\"ann\",\"eventName\":\"B\",\"properties\":{{\"d\":{deep}}}}}]"
    );
    let verdict = workspace.api.post_bytes(TRACK, batch, 200).await.json();
    assert_eq!(
        (verdict["accepted"].clone(), verdict["rejected"][0]["index"].clone()),
        (json!(1), json!(1))
    );
}

#[tokio::test]
async fn nul_characters_are_refused_everywhere() {
    let workspace = Workspace::new().await;
    for event in [
        json!({"userId": "a\0b", "eventName": "A"}),
        json!({"userId": "a", "eventName": "A\0"}),
        json!({"userId": "a", "eventName": "A", "properties": {"k": "\0"}}),
        json!({"userId": "a", "eventName": "A", "properties": {"k\0": 1}}),
        json!({"userId": "a", "eventName": "A", "properties": {"k": {"d": ["\0"]}}}),
        json!({"userId": "a", "eventName": "A", "clientEventId": "\0"}),
    ] {
        let errors = workspace.api.post(TRACK, &event, 400).await.errors();
        assert_eq!(errors.len(), 1, "{event}: {errors:?}");
    }
}

#[tokio::test]
async fn numbers_keep_their_exact_value_or_are_refused() {
    let workspace = Workspace::new().await;
    let with = |number: &str| {
        format!("{{\"userId\":\"ann\",\"eventName\":\"A\",\"properties\":{{\"n\":{number}}}}}")
    };
    for number in
        ["0", "-1", "0.1", "1e2", "18446744073709551615", "-9223372036854775808", "2.5e-3"]
    {
        workspace.api.post_bytes(TRACK, with(number), 200).await;
    }
    let events = events_of(&workspace, 7).await;
    let mut numbers: Vec<f64> =
        events.iter().map(|e| e["properties"]["n"].as_f64().unwrap()).collect();
    numbers.sort_by(f64::total_cmp);
    assert_eq!(
        numbers,
        [-9_223_372_036_854_775_808.0, -1.0, 0.0, 0.0025, 0.1, 100.0, 18_446_744_073_709_551_615.0]
    );
    for number in ["1e400", "-1e999", "01", "1.", ".5", "+1", "0x10", "NaN", "Infinity"] {
        workspace.api.post_bytes(TRACK, with(number), 400).await;
    }
}

#[tokio::test]
async fn the_last_of_duplicate_keys_is_used() {
    let workspace = Workspace::new().await;
    let body = r#"{"userId":"first","userId":"last","eventName":"A","properties":{"n":1,"n":2}}"#;
    workspace.api.post_bytes(TRACK, body, 200).await;
    let event = &events_of(&workspace, 1).await[0];
    assert_eq!(event["user_id"], "last");
    assert_eq!(event["properties"], json!({"n": 2}));
}

#[tokio::test]
async fn unknown_fields_are_ignored() {
    let workspace = Workspace::new().await;
    let event = json!({"userId": "ann", "eventName": "A", "colour": {"very": "unknown"}});
    workspace.api.post(TRACK, &event, 200).await;
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn gzip_and_zstd_bodies_are_read() {
    let workspace = Workspace::new().await;
    let event = json!({"userId": "ann", "eventName": "A"}).to_string();
    let zstd = zstd::encode_all(event.as_bytes(), 1).unwrap();
    for (encoding, body) in [("gzip", gzip(event.as_bytes())), ("zstd", zstd)] {
        let request = workspace
            .api
            .request(Method::POST, TRACK)
            .header("content-type", "application/json")
            .header("content-encoding", encoding)
            .body(body);
        workspace.api.send(request, 200).await;
    }
    events_of(&workspace, 2).await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_compressed_or_not() {
    let workspace = Workspace::new().await;
    let limit = 32 * 1024 * 1024;
    let bomb = vec![b' '; limit + 1];
    let plain = workspace.api.post_bytes(TRACK, bomb.clone(), 413).await.json();
    assert!(plain["message"].as_str().unwrap().contains(&limit.to_string()), "{plain}");
    for (encoding, body) in
        [("gzip", gzip(&bomb)), ("zstd", zstd::encode_all(&bomb[..], 1).unwrap())]
    {
        assert!(body.len() < 1_000_000);
        let request = workspace
            .api
            .request(Method::POST, TRACK)
            .header("content-type", "application/json")
            .header("content-encoding", encoding)
            .body(body);
        workspace.api.send(request, 413).await;
    }
}

#[tokio::test]
async fn other_media_types_are_415_and_a_missing_one_means_json() {
    let workspace = Workspace::new().await;
    let event = json!({"userId": "ann", "eventName": "A"}).to_string();
    for (media, expected) in [
        (Some("application/json"), 200),
        (Some("application/json; charset=utf-8"), 200),
        (Some("application/vnd.events+json"), 200),
        (None, 200),
        (Some("text/plain"), 415),
        (Some("application/x-www-form-urlencoded"), 415),
    ] {
        let mut request = workspace.api.request(Method::POST, TRACK).body(event.clone());
        if let Some(media) = media {
            request = request.header("content-type", media);
        }
        workspace.api.send(request, expected).await;
    }
}

#[tokio::test]
async fn a_client_that_disconnects_mid_body_stores_nothing() {
    use tokio::io::AsyncWriteExt as _;
    let workspace = Workspace::new().await;
    let (token, _) = crate::kit::server().key(&workspace.name, "*").await;
    let address = crate::kit::server().url.trim_start_matches("http://").to_owned();
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let head = format!(
        "POST /events/track HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: 1000\r\n\r\n[{{\"userId\":\"ann\",\"eventName\":\"Lost\"}}"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    drop(stream);
    let event = json!({"userId": "ann", "eventName": "Kept"});
    workspace.api.post(TRACK, &event, 200).await;
    let events: Vec<Value> = events_of(&workspace, 1).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["event_name"], "Kept");
}

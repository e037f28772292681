//! Bodies: limits of their decompressed size, memory for all of them, and clients that do not send them.

use std::{io::Write as _, time::Duration};

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use super::kit::{SMALL_BYTES_MAX, read_to_end, start, start_with, until};
use crate::http::{BodyBudget, BodyLimits, ServeOptions};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

#[tokio::test]
async fn a_compressed_body_is_read_like_a_plain_one() {
    let server = start().await;
    let plain = br#"{"name":"abc"}"#;
    for (encoding, body) in
        [("gzip", gzip(plain)), ("zstd", zstd(plain)), ("identity", plain.to_vec())]
    {
        let answer = server.post("/things", &[("content-encoding", encoding)], body).await;
        assert_eq!((answer.status, answer.json()), (200, json!({"name": "abc"})), "{encoding}");
    }
}

#[tokio::test]
async fn an_unknown_encoding_is_415_and_names_the_known_ones() {
    let server = start().await;
    let answer = server.post("/things", &[("content-encoding", "br")], b"{}".to_vec()).await;
    answer.refused(415, "Content-Encoding must be gzip or zstd", "/things");
    assert_eq!(answer.headers["accept-encoding"], "gzip, zstd");
}

#[tokio::test]
async fn a_corrupt_compressed_body_is_400() {
    let server = start().await;
    for encoding in ["gzip", "zstd"] {
        let answer =
            server.post("/things", &[("content-encoding", encoding)], b"{}{}{}".to_vec()).await;
        assert_eq!(answer.status, 400);
        assert!(
            answer.json()["message"].as_str().unwrap().starts_with("body cannot be decompressed")
        );
    }
}

#[tokio::test]
async fn a_decompression_bomb_is_413_and_its_memory_is_released() {
    let server = start().await;
    let zeros = vec![b' '; 64 << 20];
    for (encoding, body) in [("gzip", gzip(&zeros)), ("zstd", zstd(&zeros))] {
        let answer = server.post("/things", &[("content-encoding", encoding)], body).await;
        let message = "Request body is too large: the limit is 2097152 bytes";
        answer.refused(413, message, "/things");
    }
    assert_eq!(server.app.budget.used_bytes(), 0);
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_with_both_sizes() {
    let server = start().await;
    let answer = server.post("/small", &[], vec![b'x'; SMALL_BYTES_MAX]).await;
    assert_eq!(answer.json()["bytes"], 1000);
    let message = "Request body is too large: the limit is 1000 bytes, received 1001 bytes";
    server.post("/small", &[], vec![b'x'; 1001]).await.refused(413, message, "/small");
}

#[tokio::test]
async fn a_chunked_body_over_the_limit_is_413_with_both_sizes() {
    let server = start().await;
    let chunk = [b"1f4\r\n".to_vec(), vec![b'x'; 500], b"\r\n".to_vec()].concat();
    let head = b"POST /small HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    let request = [&head[..], &chunk, &chunk, &chunk, b"0\r\n\r\n"].concat();
    let answer = server.raw(&request).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("the limit is 1000 bytes, received 1500 bytes"), "{answer}");
}

#[tokio::test]
async fn a_sender_of_far_too_much_still_gets_its_answer() {
    let server = start().await;
    let message = "Request body is too large: the limit is 1000 bytes, received 8388608 bytes";
    server.post("/small", &[], vec![b'x'; 8 << 20]).await.refused(413, message, "/small");
}

#[tokio::test]
async fn a_sender_that_expects_100_with_too_much_is_not_asked_to_continue() {
    let server = start().await;
    let answer = server
        .raw(b"POST /small HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 1001\r\n\r\n")
        .await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn the_body_memory_of_a_vanished_client_is_released() {
    let server = start().await;
    for _ in 0..20 {
        let mut stream = server.connect().await;
        let head = b"POST /small HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\nhalf of";
        stream.write_all(head).await.unwrap();
        until("the body is being read", || server.app.budget.used_bytes() > 0).await;
        drop(stream);
        until("the memory is given back", || server.app.budget.used_bytes() == 0).await;
    }
    assert_eq!(server.get("/livez").await.status, 200);
}

#[tokio::test]
async fn a_body_that_stalls_is_408_in_the_envelope() {
    let silence_max = Duration::from_millis(50);
    let limits = BodyLimits { silence_max, ..BodyLimits::of_bytes(1 << 20) };
    let server = start_with(BodyBudget::new(limits), ServeOptions::default()).await;
    let answer =
        server.raw(b"POST /small HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\nhalf of").await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains(r#""statusCode":408,"message":"Request Timeout""#), "{answer}");
    assert_eq!(server.app.budget.used_bytes(), 0);
}

#[tokio::test]
async fn a_body_without_memory_can_be_sent_again() {
    let budget = BodyBudget::new(BodyLimits { peer_bytes: 10_000, ..patient(1500) });
    let server = start_with(budget, ServeOptions::default()).await;
    let mut first = server.connect().await;
    first.write_all(&begun("/small", "connection: close")).await.unwrap();
    until("the first body has its memory", || server.app.budget.used_bytes() == 900).await;
    let answer = server.post("/small", &[], vec![b'x'; 900]).await;
    answer.refused(503, "Too many request bodies are in flight", "/small");
    assert_eq!(answer.headers["retry-after"], "1");
    first.write_all(&[b'x'; 899]).await.unwrap();
    assert!(read_to_end(&mut first).await.starts_with("HTTP/1.1 200 "));
    assert_eq!(server.post("/small", &[], vec![b'x'; 900]).await.status, 200);
}

#[tokio::test]
async fn a_refusal_before_the_body_is_read_still_reaches_its_sender() {
    let server = start().await;
    for _ in 0..30 {
        let answer = server.post("/guarded", &[], vec![b'x'; 8 << 20]).await;
        answer.refused(401, "Missing API key", "/guarded");
        server.post("/nowhere", &[], vec![b'x'; 8 << 20]).await.refused(
            404,
            "Not Found",
            "/nowhere",
        );
    }
}

/// Limits that a slow machine does not reach.
fn patient(bytes: usize) -> BodyLimits {
    BodyLimits { rate_min: 0, ..BodyLimits::of_bytes(bytes) }
}

/// The head of a request of 900 bytes, and the first of them.
fn begun(path: &str, header: &str) -> Vec<u8> {
    format!("POST {path} HTTP/1.1\r\nhost: x\r\n{header}\r\ncontent-length: 900\r\n\r\nx")
        .into_bytes()
}

#[tokio::test]
async fn bodies_that_do_not_arrive_take_no_memory() {
    let server = start_with(BodyBudget::new(patient(900)), ServeOptions::default()).await;
    let mut promised = Vec::new();
    for _ in 0..50 {
        let mut stream = server.connect().await;
        let head = b"POST /small HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\n";
        stream.write_all(head).await.unwrap();
        promised.push(stream);
    }
    for _ in 0..10 {
        assert_eq!(server.post("/small", &[], vec![b'x'; 900]).await.status, 200);
    }
    assert_eq!(server.app.budget.used_bytes(), 0);
}

#[tokio::test]
async fn callers_without_a_credential_leave_the_memory_of_the_others_alone() {
    let limits = BodyLimits { workspace_bytes: 900, verified_bytes: 1800, ..patient(900) };
    let server = start_with(BodyBudget::new(limits), ServeOptions::default()).await;
    let mut public = server.connect().await;
    public.write_all(&begun("/small", "a: b")).await.unwrap();
    until("the public has all of its memory", || server.app.budget.used_bytes() == 900).await;
    let refused = server.post("/small", &[], vec![b'x'; 1]).await;
    refused.refused(503, "Too many request bodies of this address are in flight", "/small");
    let mut verified = server.connect().await;
    verified.write_all(&begun("/owned", "x-workspace: a")).await.unwrap();
    until("a workspace has all of its share", || server.app.budget.used_bytes() == 1800).await;
    let same = server.post("/owned", &[("x-workspace", "a")], vec![b'x'; 1]).await;
    same.refused(503, "Too many request bodies of this workspace are in flight", "/owned");
    assert_eq!(same.headers["retry-after"], "1");
    let other = server.post("/owned", &[("x-workspace", "b")], vec![b'x'; 900]).await;
    assert_eq!(other.status, 200, "{}", other.text);
    let anonymous = server.post("/owned", &[], vec![b'x'; 900]).await;
    anonymous.refused(401, "Missing API key", "/owned");
}

#[tokio::test]
async fn a_body_slower_than_the_least_rate_is_408() {
    let grace = Duration::from_millis(50);
    let limits = BodyLimits { grace, rate_min: 1, ..BodyLimits::of_bytes(1 << 20) };
    let server = start_with(BodyBudget::new(limits), ServeOptions::default()).await;
    let answer =
        server.raw(b"POST /small HTTP/1.1\r\nhost: x\r\ncontent-length: 900\r\n\r\nx").await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

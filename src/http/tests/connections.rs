//! Connections: slow ones, silent ones, too many of them, and their end on shutdown.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::kit::{LARGE_BYTES, PATIENCE, read_to_end, start, start_with};
use crate::http::{BodyBudget, Drained, ServeOptions};

fn quick() -> ServeOptions {
    ServeOptions {
        head_max: Duration::from_millis(100),
        idle_max: Duration::from_millis(400),
        stall_max: Duration::from_millis(200),
        drain_max: Duration::from_millis(300),
        ..ServeOptions::default()
    }
}

fn budget() -> BodyBudget {
    BodyBudget::new(1 << 20)
}

const LIVEZ: &[u8] = b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let server = start_with(budget(), quick()).await;
    let begun = Instant::now();
    let mut stream = server.connect().await;
    assert_eq!(read_to_end(&mut stream).await, "");
    assert!(begun.elapsed() >= Duration::from_millis(100));
}

#[tokio::test]
async fn a_head_that_drips_is_closed() {
    let server = start_with(budget(), quick()).await;
    let mut stream = server.connect().await;
    stream.write_all(b"GET /livez HTTP/1.1\r\n").await.unwrap();
    let drip = async {
        while stream.write_all(b"a: b\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, drip).await.expect("cut off in time");
}

#[tokio::test]
async fn a_connection_at_rest_is_kept_longer_than_a_head_may_take() {
    let server = start_with(budget(), quick()).await;
    let mut stream = server.connect().await;
    for _ in 0..3 {
        stream.write_all(LIVEZ).await.unwrap();
        let mut answer = vec![0; 2048];
        let count = stream.read(&mut answer).await.unwrap();
        assert!(answer[..count].starts_with(b"HTTP/1.1 200 "));
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    let begun = Instant::now();
    assert_eq!(read_to_end(&mut stream).await, "");
    assert!(begun.elapsed() < PATIENCE);
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_cut_off() {
    let server = start_with(budget(), quick()).await;
    let mut stream = server.connect().await;
    stream.write_all(b"GET /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    tokio::time::sleep(Duration::from_millis(800)).await;
    let got = read_to_end(&mut stream).await;
    assert!(got.len() < LARGE_BYTES, "the whole answer was still waiting");
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let server = start().await;
    let header = format!("x: {}\r\n", "y".repeat(200 << 10));
    let request = [b"GET /livez HTTP/1.1\r\n", header.as_bytes(), b"\r\n"].concat();
    let answer = server.raw(&request).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.ends_with(&refused("Request head is too large")), "{answer}");
}

/// The one error body for bytes that are no request.
fn refused(message: &str) -> String {
    format!(
        r#"{{"statusCode":400,"message":"{message}","errors":["{message}"],"timestamp":"2026-03-01T12:00:00.000Z","path":""}}"#
    )
}

#[tokio::test]
async fn what_is_not_http_is_refused_like_everything_else() {
    let server = start().await;
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello tls\r\n\r\n"[..],
        b"GET /livez HTTP/9.9\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost\x00: x\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nhost: x\r\n\r\n",
    ] {
        let answer = server.raw(bytes).await;
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
        assert!(answer.contains("\r\nx-request-id: "), "{answer}");
        assert!(answer.ends_with(&refused("Malformed HTTP request")), "{answer}");
    }
    let answer = server.raw(&[LIVEZ, b"nonsense\r\n\r\n"].concat()).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.ends_with(&refused("Malformed HTTP request")), "{answer}");
    assert_eq!(server.get("/livez").await.status, 200);
}

#[tokio::test]
async fn one_connection_more_than_allowed_waits_for_its_turn() {
    let options = ServeOptions { connections_max: 2, ..ServeOptions::default() };
    let server = start_with(budget(), options).await;
    let (first, _second) = (server.connect().await, server.connect().await);
    let mut third = server.connect().await;
    third.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut byte = [0];
    let early = tokio::time::timeout(Duration::from_millis(100), third.read(&mut byte)).await;
    assert!(early.is_err(), "answered beside two others");
    drop(first);
    assert!(read_to_end(&mut third).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn http2_without_tls_is_spoken() {
    let server = start().await;
    let stream = server.connect().await;
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    tokio::spawn(connection);
    for path in ["/livez", "/nowhere"] {
        let request = http::Request::get(server.url(path)).body(Empty::<Bytes>::new()).unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.version(), http::Version::HTTP_2);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert!(body.get("status").is_some() || body["path"] == "/nowhere", "{body}");
    }
}

#[tokio::test]
async fn a_drain_finishes_what_was_begun_and_takes_nothing_new() {
    let mut server = start().await;
    let mut idle = server.connect().await;
    idle.write_all(LIVEZ).await.unwrap();
    let mut answer = vec![0; 2048];
    assert!(idle.read(&mut answer).await.unwrap() > 0);
    let waiting = tokio::spawn(reqwest::get(server.url("/wait")));
    server.app.begun.notified().await;
    server.begin_stop();
    assert_eq!(read_to_end(&mut idle).await, "", "a connection at rest is closed at once");
    let refused = tokio::net::TcpStream::connect(server.address).await;
    assert!(refused.is_err(), "the listener is gone");
    server.app.go.notify_one();
    assert_eq!(waiting.await.unwrap().unwrap().text().await.unwrap(), "done");
    assert_eq!(server.stopped().await, Drained { cut_off: 0 });
}

#[tokio::test]
async fn a_drain_ends_at_its_deadline() {
    let mut server = start_with(budget(), quick()).await;
    let waiting = tokio::spawn(reqwest::get(server.url("/wait")));
    server.app.begun.notified().await;
    server.begin_stop();
    assert_eq!(server.stopped().await, Drained { cut_off: 1 });
    assert!(waiting.await.unwrap().is_err(), "the request was cut off");
}

#[tokio::test]
async fn a_connection_goes_on_after_a_refusal_that_left_the_body_unread() {
    let server = start().await;
    let mut stream = server.connect().await;
    for _ in 0..3 {
        let head = b"POST /guarded HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n";
        stream.write_all(head).await.unwrap();
        // The body comes in a packet of its own, as many clients send it.
        tokio::time::sleep(Duration::from_millis(20)).await;
        stream.write_all(b"{\"a\": 1 }").await.unwrap();
        let head = read_head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 401") && !head.contains("connection: close"), "{head}");
    }
}

#[tokio::test]
async fn a_refusal_that_leaves_too_much_unread_says_that_the_connection_closes() {
    let server = start().await;
    for (header, sent) in [
        ("content-length: 999999999", &b"{"[..]),
        ("expect: 100-continue\r\ncontent-length: 9", b""),
    ] {
        let mut stream = server.connect().await;
        let head = format!("POST /guarded HTTP/1.1\r\nhost: x\r\n{header}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(sent).await.unwrap();
        let answer = read_to_end(&mut stream).await;
        assert!(
            answer.starts_with("HTTP/1.1 401") && answer.contains("connection: close"),
            "{answer}"
        );
    }
}

/// Reads one answer; gives its head.
async fn read_head(stream: &mut tokio::net::TcpStream) -> String {
    let mut text = String::new();
    let mut bytes = [0; 4096];
    loop {
        let count = tokio::time::timeout(PATIENCE, stream.read(&mut bytes)).await.unwrap().unwrap();
        assert!(count > 0, "closed after {text}");
        text.push_str(&String::from_utf8_lossy(&bytes[..count]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() == length.parse::<usize>().unwrap() {
            return head.to_owned();
        }
    }
}

//! Connections: slow ones, silent ones, too many of them, and their end on shutdown.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::kit::{LARGE_BYTES, PATIENCE, read_to_end, start, start_with};
use crate::http::{BodyBudget, BodyLimits, Drained, ServeOptions, TrustedProxies};

fn quick() -> ServeOptions {
    ServeOptions {
        head_max: Duration::from_millis(100),
        idle_max: Duration::from_millis(400),
        stall_max: Duration::from_millis(200),
        drain_max: Duration::from_millis(300),
        ..ServeOptions::default()
    }
}

/// Options that close any idle connection, however short it has been idle.
fn eager() -> ServeOptions {
    ServeOptions { idle_min: Duration::ZERO, ..ServeOptions::default() }
}

fn budget() -> BodyBudget {
    BodyBudget::new(BodyLimits::of_bytes(1 << 20))
}

const LIVEZ: &[u8] = b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let server = start_with(budget(), quick()).await;
    let begun = Instant::now();
    let mut stream = server.connect().await;
    assert_eq!(read_to_end(&mut stream).await, "");
    assert!(begun.elapsed() >= Duration::from_millis(100));
}

#[tokio::test]
async fn a_slow_head_is_closed() {
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
async fn a_client_that_reads_nothing_is_disconnected() {
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
async fn bytes_that_are_not_http_get_the_error_body() {
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
async fn while_all_are_busy_one_connection_more_than_allowed_waits_for_its_turn() {
    let options = ServeOptions { connections_max: 1, ..eager() };
    let server = start_with(budget(), options).await;
    let mut busy = server.connect().await;
    busy.write_all(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    server.app.begun.notified().await;
    let mut next = server.connect().await;
    next.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut byte = [0];
    let early = tokio::time::timeout(Duration::from_millis(100), next.read(&mut byte)).await;
    assert!(early.is_err(), "answered beside another");
    server.app.go.notify_one();
    assert!(read_to_end(&mut next).await.starts_with("HTTP/1.1 200 "));
    assert!(read_to_end(&mut busy).await.ends_with("done"), "what it was asked for was answered");
}

/// Connections that are idle in different ways, and the bytes they begin with.
const IDLE: [(&str, &[u8]); 4] = [
    ("silent", b""),
    ("slow head", b"GET /livez HTTP/1.1\r\nhost"),
    ("HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"),
    ("at rest", LIVEZ),
];

#[tokio::test]
async fn at_the_cap_the_connection_idle_longest_makes_room() {
    for (kind, first_bytes) in IDLE {
        let options = ServeOptions { connections_max: 2, ..eager() };
        let server = start_with(budget(), options).await;
        let mut idle = server.connect().await;
        idle.write_all(first_bytes).await.unwrap();
        if kind == "at rest" {
            read_head(&mut idle).await;
        }
        let mut second = server.connect().await;
        second.write_all(LIVEZ).await.unwrap();
        assert!(read_head(&mut second).await.starts_with("HTTP/1.1 200 "));
        let mut third = server.connect().await;
        third.write_all(LIVEZ).await.unwrap();
        assert!(read_head(&mut third).await.starts_with("HTTP/1.1 200 "), "beside {kind}");
        // Settings frames of HTTP/2 may come before the end.
        read_to_end(&mut idle).await;
        second.write_all(LIVEZ).await.unwrap();
        assert!(read_head(&mut second).await.starts_with("HTTP/1.1 200 "), "beside {kind}");
    }
}

#[tokio::test]
async fn a_peer_at_its_cap_takes_no_room_from_others() {
    let options = ServeOptions { peer_connections_max: 2, ..eager() };
    let server = start_with(budget(), options).await;
    let mut other = server.connect_from("127.0.0.2").await;
    other.write_all(LIVEZ).await.unwrap();
    assert!(read_head(&mut other).await.starts_with("HTTP/1.1 200 "));
    let mut first = server.connect().await;
    let mut second = server.connect().await;
    second.write_all(LIVEZ).await.unwrap();
    assert!(read_head(&mut second).await.starts_with("HTTP/1.1 200 "));
    let mut third = server.connect().await;
    third.write_all(LIVEZ).await.unwrap();
    assert!(read_head(&mut third).await.starts_with("HTTP/1.1 200 "));
    assert_eq!(read_to_end(&mut first).await, "", "the peer's own idle one was closed");
    other.write_all(LIVEZ).await.unwrap();
    assert!(read_head(&mut other).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_peer_whose_connections_are_all_busy_gets_no_more() {
    let options = ServeOptions { peer_connections_max: 1, ..eager() };
    let server = start_with(budget(), options).await;
    let mut busy = server.connect().await;
    busy.write_all(b"GET /wait HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    server.app.begun.notified().await;
    let mut more = server.connect().await;
    let _ = more.write_all(LIVEZ).await;
    assert_eq!(read_to_end(&mut more).await, "");
    let mut other = server.connect_from("127.0.0.2").await;
    other.write_all(LIVEZ).await.unwrap();
    assert!(read_head(&mut other).await.starts_with("HTTP/1.1 200 "));
    server.app.go.notify_one();
    assert!(read_to_end(&mut busy).await.ends_with("done"));
}

#[tokio::test]
async fn a_trusted_proxy_has_no_cap_of_its_own() {
    let trusted_proxies = TrustedProxies::new(&["127.0.0.1".parse().unwrap()]);
    let options = ServeOptions { peer_connections_max: 1, trusted_proxies, ..eager() };
    let server = start_with(budget(), options).await;
    let mut streams = Vec::new();
    for _ in 0..5 {
        streams.push(server.connect().await);
    }
    for stream in &mut streams {
        stream.write_all(LIVEZ).await.unwrap();
        assert!(read_head(stream).await.starts_with("HTTP/1.1 200 "));
    }
}

#[tokio::test]
async fn an_answer_on_its_way_is_not_cut_off_for_a_new_connection() {
    let options = ServeOptions { connections_max: 1, ..eager() };
    let server = start_with(budget(), options).await;
    let mut reader = server.connect().await;
    reader.write_all(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut begin = vec![0; 1024];
    reader.read_exact(&mut begin).await.unwrap();
    let mut next = server.connect().await;
    next.write_all(LIVEZ).await.unwrap();
    let whole = read_to_end(&mut reader);
    let (whole, answer) = tokio::join!(whole, read_head(&mut next));
    assert!(whole.len() + begin.len() > LARGE_BYTES, "{} bytes came", whole.len());
    assert!(answer.starts_with("HTTP/1.1 200 "));
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
async fn a_drain_finishes_requests_and_accepts_no_new_ones() {
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
        // The body comes in a separate packet, as from many clients.
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

//! What the client bounds, and when it says that a request may have been taken.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;

const SOON: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(10);

fn client() -> Client {
    Client::new(&ClientOptions { roots: Arc::new(roots(None).unwrap()), http2_only: false })
}

fn request(address: SocketAddr) -> Request<Bytes> {
    Request::post(format!("http://{address}/")).body(Bytes::from_static(b"hello")).unwrap()
}

/// A server that reads a whole request, writes `answer` and closes.
async fn server(answer: Vec<u8>, is_held: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut read = Vec::new();
        while !read.ends_with(b"hello") {
            stream.read_buf(&mut read).await.unwrap();
        }
        // The client may have read enough already.
        drop(stream.write_all(&answer).await);
        if is_held {
            std::future::pending::<()>().await;
        }
    });
    address
}

#[tokio::test]
async fn an_answer_is_read_up_to_its_bound() {
    for (sent, read) in [(0, 0), (ANSWER_BYTES_MAX, ANSWER_BYTES_MAX), (200_000, ANSWER_BYTES_MAX)]
    {
        let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {sent}\r\n\r\n").into_bytes();
        answer.resize(answer.len() + sent, b'x');
        let answer = client().call(request(server(answer, true).await), LONG).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.body.len()), (200, read));
    }
}

#[tokio::test]
async fn a_status_stands_though_its_body_breaks_off_or_never_ends() {
    let half = b"HTTP/1.1 202 Accepted\r\nContent-Length: 9\r\n\r\nhalf".to_vec();
    for is_held in [false, true] {
        let answer =
            client().call(request(server(half.clone(), is_held).await), SOON).await.unwrap();
        assert_eq!((answer.status.as_u16(), &answer.body[..]), (202, &b"half"[..]));
    }
}

#[tokio::test]
async fn without_a_listener_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let fault = client().call(request(address), LONG).await.unwrap_err();
    assert_eq!((fault.code, fault.was_sent), ("connection", false));
    assert!(matches!(fault.once(), Outcome::Retry { code, .. } if code == "connection"));
}

#[tokio::test]
async fn a_request_without_an_answer_may_have_been_taken() {
    let cut = client().call(request(server(Vec::new(), false).await), LONG).await.unwrap_err();
    assert_eq!((cut.code, cut.was_sent), ("connection", true));
    assert!(matches!(cut.once(), Outcome::Unknown { .. }));
    let slow = client().call(request(server(Vec::new(), true).await), SOON).await.unwrap_err();
    assert_eq!((slow.code, slow.was_sent), ("timeout", true));
    assert!(matches!(slow.clone().again(), Outcome::Retry { code, .. } if code == "timeout"));
    assert_eq!(slow.once(), Outcome::Unknown { reason: "timeout: no answer within 300 ms".into() });
}

#[tokio::test]
async fn a_server_that_does_not_finish_its_handshake_has_not_been_sent_anything() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let request = Request::post(url).body(Bytes::from_static(b"hello")).unwrap();
    let fault = client().call(request, SOON).await.unwrap_err();
    assert_eq!((fault.code, fault.was_sent), ("timeout", false));
}

#[test]
fn a_wish_to_be_asked_later_is_seconds_or_a_date_and_bounded() {
    let now = Timestamp::parse("2026-03-01T12:00:00Z").unwrap();
    for (text, seconds) in [
        ("0", Some(0)),
        ("120", Some(120)),
        (" 7 ", Some(7)),
        ("Sun, 01 Mar 2026 12:01:30 GMT", Some(90)),
        ("Sun, 01 Mar 2026 11:00:00 GMT", Some(0)),
        ("999999999999", Some(86_400)),
        ("Sun, 01 Mar 2099 12:00:00 GMT", Some(86_400)),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("", None),
    ] {
        let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, text.parse().unwrap())]);
        assert_eq!(retry_after(&headers, now), seconds.map(Duration::from_secs), "{text}");
    }
    assert_eq!(retry_after(&HeaderMap::new(), now), None);
}

#[test]
fn a_status_says_whether_to_try_again() {
    let now = Timestamp::from_millis(0);
    for (status, is_temporary) in [
        (301, false),
        (400, false),
        (401, false),
        (404, false),
        (408, true),
        (410, false),
        (429, true),
        (500, true),
        (502, true),
        (503, true),
        (599, true),
    ] {
        let answer = Answer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::from_iter([(http::header::RETRY_AFTER, "3".parse().unwrap())]),
            body: Bytes::new(),
        };
        let (code, reason) = ("c".to_owned(), "r".to_owned());
        let expected = if is_temporary {
            Outcome::Retry { code, reason, after: Some(Duration::from_secs(3)) }
        } else {
            Outcome::Rejected { code, reason, effect: None }
        };
        assert_eq!(answer.refusal("c".to_owned(), "r", now), expected, "{status}");
    }
}

#[test]
fn extra_authorities_are_pem_or_refused() {
    assert_eq!(roots(None).unwrap().len(), roots(Some(b"")).unwrap().len());
    let broken = b"-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n";
    assert!(roots(Some(broken)).is_err());
}

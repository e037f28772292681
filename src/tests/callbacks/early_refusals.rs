//! Requests refused by their headers, before the body is read. Each announces a body and sends none, so an answer
//! that waited for it would time out.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::fixture::now_s;
use crate::kit::server;

/// Longest anything here may take before a test fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// The status of the shared server's answer to a head that promises a body.
async fn answered(path: &str, headers: &[(&str, &str)]) -> u16 {
    answered_by(&server().url, path, headers).await
}

/// Likewise of any server's.
pub(crate) async fn answered_by(url: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n");
    for (name, value) in headers {
        head.extend([*name, ": ", *value, "\r\n"]);
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    tokio::time::timeout(PATIENCE, read).await.expect("answered and closed").unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.contains("connection: close"), "the body was not read: {answer}");
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

const JSON: (&str, &str) = ("content-type", "application/json");
/// 32 bytes in base64, and in hex.
const BASE64: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

#[tokio::test]
async fn an_unsigned_callback_is_refused_before_its_body_is_read() {
    for path in [
        "/callbacks/sms/twilio",
        "/callbacks/whatsapp",
        "/callbacks/viber/infobip",
        "/callbacks/email/sendgrid",
        "/callbacks/email/postmark",
        "/callbacks/email/resend",
        "/callbacks/email/raw",
        "/callbacks/generic/email",
    ] {
        assert_eq!(answered(path, &[JSON]).await, 401, "{path}");
    }
}

#[tokio::test]
async fn a_malformed_signature_is_refused_before_the_body_is_read() {
    let (now, old) = (now_s().to_string(), (now_s() - 310).to_string());
    let (now, old) = (now.as_str(), old.as_str());
    let (long, signature) = ("A".repeat(200), format!("v1,{BASE64}"));
    let signature = signature.as_str();
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("/callbacks/sms/twilio", &[("x-twilio-signature", "not base64")]),
        ("/callbacks/sms/twilio", &[("x-twilio-signature", BASE64)]),
        ("/callbacks/whatsapp", &[("x-hub-signature-256", "sha256=00")]),
        ("/callbacks/whatsapp", &[("x-hub-signature-256", BASE64)]),
        ("/callbacks/viber/infobip", &[("authorization", "Basic AAAA")]),
        ("/callbacks/email/postmark", &[("authorization", "Basic AAAA")]),
        ("/callbacks/email/ses", &[("x-amz-sns-topic-arn", "arn:aws:sns:eu-central-1:1:theirs")]),
        (
            "/callbacks/email/sendgrid",
            &[
                ("x-twilio-email-event-webhook-timestamp", old),
                ("x-twilio-email-event-webhook-signature", BASE64),
            ],
        ),
        (
            "/callbacks/email/sendgrid",
            &[
                ("x-twilio-email-event-webhook-timestamp", now),
                ("x-twilio-email-event-webhook-signature", &long),
            ],
        ),
        (
            "/callbacks/email/resend",
            &[("svix-id", "1"), ("svix-timestamp", old), ("svix-signature", signature)],
        ),
        (
            "/callbacks/email/raw",
            &[("webhook-id", "1"), ("webhook-timestamp", now), ("webhook-signature", "v1,AAAA")],
        ),
        (
            "/callbacks/generic/sms",
            &[("webhook-id", "1"), ("webhook-timestamp", "soon"), ("webhook-signature", signature)],
        ),
    ];
    for (path, headers) in cases {
        assert_eq!(answered(path, headers).await, 401, "{path} {headers:?}");
    }
}

#[tokio::test]
async fn a_callback_with_invalid_headers_is_refused_before_its_body_is_read() {
    let now = now_s().to_string();
    let signature = format!("v1,{BASE64}");
    let signed = [
        ("webhook-id", "1"),
        ("webhook-timestamp", now.as_str()),
        ("webhook-signature", signature.as_str()),
    ];
    assert_eq!(answered("/callbacks/generic/fax", &signed).await, 404);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(answered("/callbacks/email/mailgun", &form).await, 415);
    let twilio = [JSON, ("x-twilio-signature", "AAAAAAAAAAAAAAAAAAAAAAAAAAA=")];
    assert_eq!(answered("/callbacks/sms/twilio", &twilio).await, 415);
}

#[tokio::test]
async fn a_form_with_an_invalid_link_token_is_refused_before_its_body_is_read() {
    for path in ["/p/invented", "/u/invented", "/c/invented"] {
        assert_eq!(answered(path, &[]).await, 404, "{path}");
    }
}

#[tokio::test]
async fn a_request_without_a_known_credential_is_refused_before_its_body_is_read() {
    for (path, headers) in [
        ("/events/track", &[][..]),
        ("/users", &[("authorization", "Bearer mr_none")]),
        ("/v1/track", &[("x-sdk-key", "mrs_none")]),
        ("/suppressions", &[]),
    ] {
        assert_eq!(answered(path, headers).await, 401, "{path}");
    }
}

//! Bounce and complaint mail, to the built-in mail server and forwarded by another one.

use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

use super::fixture::{Message, call_expecting, consent, now_s, recorded, sent, signed, suppressed};
use crate::kit::{Client, Workspace, server};

const POSTFIX: &str = include_str!("../../callbacks/model/fixtures/postfix.eml");
const DELAYED: &str = include_str!("../../callbacks/model/fixtures/delayed.eml");
const ARF: &str = include_str!("../../callbacks/model/fixtures/arf.eml");

/// A fixture, about a message.
fn about(fixture: &str, message: &Message) -> String {
    fixture
        .replace("REFERENCE", &message.reference.to_string())
        .replace("ann@example.test", &message.email)
        .replace('\n', "\r\n")
}

/// Sends lines to the mail server; returns the code of each reply.
async fn smtp_session(lines: &[&str]) -> Vec<String> {
    let stream = TcpStream::connect(server().mail.unwrap()).await.unwrap();
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let mut codes = Vec::new();
    for line in [""].iter().chain(lines) {
        if !line.is_empty() {
            writer.write_all(format!("{line}\r\n").as_bytes()).await.unwrap();
        }
        let mut answer = String::new();
        // Of several lines the last has a space behind its code.
        while answer.get(3..4) != Some(" ") {
            answer.clear();
            assert!(reader.read_line(&mut answer).await.unwrap() > 0, "{line}: {codes:?}");
        }
        codes.push(answer[..3].to_owned());
    }
    codes
}

async fn deliver(message: &Message, mail: &str) {
    let to = format!("RCPT TO:<{}>", message.reference.bounce_address("bounce.example.test"));
    let mail = format!("{}\r\n.", mail.trim_end());
    let lines = ["EHLO mx.example.test", "MAIL FROM:<> SIZE=2000", &to, "DATA", &mail, "QUIT"];
    assert_eq!(smtp_session(&lines).await, ["220", "250", "250", "250", "354", "250", "221"]);
}

#[tokio::test]
async fn a_bounce_mail_is_matched_by_its_return_address() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    deliver(&message, &about(DELAYED, &message)).await;
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "");
    for _ in 0..2 {
        deliver(&message, &about(POSTFIX, &message)).await;
    }
    assert_eq!(recorded(message.reference, 2).await, ["bounced hard 5.1.1", "deferred 4.4.1"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "hard_bounce delivery");
    let email = consent(&workspace, &message.user, "email").await;
    assert_eq!((&email["isValid"], &email["bounceCount"]), (&json!(false), &json!(1)));
}

#[tokio::test]
async fn a_complaint_mail_is_processed() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    deliver(&message, &about(ARF, &message)).await;
    assert_eq!(recorded(message.reference, 1).await, ["complained abuse"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "complaint delivery");
}

#[tokio::test]
async fn a_forged_report_cannot_suppress_another_address() {
    let workspace = Workspace::new().await;
    let (mine, theirs) = (sent(&workspace, "email").await, sent(&workspace, "email").await);
    let forged = about(POSTFIX, &mine).replace(&mine.email, &theirs.email);
    deliver(&mine, &forged).await;
    assert_eq!(recorded(mine.reference, 1).await, ["bounced hard 5.1.1"]);
    for message in [&mine, &theirs] {
        assert_eq!(suppressed(&workspace, "email", &message.email).await, "");
        assert!(consent(&workspace, &message.user, "email").await.is_null());
    }
    assert!(recorded(theirs.reference, 0).await.is_empty());
}

#[tokio::test]
async fn the_mail_server_refuses_all_other_mail() {
    let codes = smtp_session(&[
        "EHLO mx.example.test",
        "MAIL FROM:<a@example.test>",
        "RCPT TO:<postmaster@example.test>",
        "RCPT TO:<b+nonsense@example.test>",
        "DATA",
        "AUTH PLAIN AAAA",
        "QUIT",
    ]);
    assert_eq!(codes.await, ["220", "250", "250", "550", "550", "503", "500", "221"]);
}

#[tokio::test]
async fn a_mail_server_can_forward_received_reports() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    let path = "/callbacks/email/raw";
    // One mailbox for all of it: what was returned names the message.
    let mail = about(POSTFIX, &message).replace(&format!("b+{}", message.reference), "bounces");
    let unsigned = Client::anonymous().request(reqwest::Method::POST, path).body(mail.clone());
    call_expecting(unsigned, 401).await;
    call_expecting(signed(path, "webhook", now_s() - 310, mail.as_bytes()), 401).await;
    call_expecting(signed(path, "webhook", now_s(), b""), 400).await;
    let deep = "Content-Type: message/rfc822\r\n\r\n".repeat(10_000);
    call_expecting(signed(path, "webhook", now_s(), deep.as_bytes()), 400).await;
    call_expecting(signed(path, "webhook", now_s(), b"Subject: a letter\r\n\r\nHello"), 200).await;
    call_expecting(signed(path, "webhook", now_s(), mail.as_bytes()), 200).await;
    assert_eq!(recorded(message.reference, 1).await, ["bounced hard 5.1.1"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "hard_bounce delivery");
}

#[tokio::test]
async fn a_report_that_names_only_an_address_is_ignored() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    let mail = POSTFIX.replace("b+REFERENCE", "bounces").replace("REFERENCE", "1234");
    let mail = about(&mail, &message);
    call_expecting(signed("/callbacks/email/raw", "webhook", now_s(), mail.as_bytes()), 200).await;
    // A later report names the message; it is the first one recorded.
    let delayed = about(DELAYED, &message);
    call_expecting(signed("/callbacks/email/raw", "webhook", now_s(), delayed.as_bytes()), 200)
        .await;
    assert_eq!(recorded(message.reference, 1).await, ["deferred 4.4.1"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "");
}

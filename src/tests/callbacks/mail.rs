//! Mail that comes back: by our own mail server and handed over by another's.

use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

use super::fixture::{Message, ask, consent, now_s, sent, signed, suppressed, told};
use crate::kit::{Client, Workspace, server};

const POSTFIX: &str = include_str!("../../callbacks/model/mail/fixtures/postfix.eml");
const DELAYED: &str = include_str!("../../callbacks/model/mail/fixtures/delayed.eml");
const ARF: &str = include_str!("../../callbacks/model/mail/fixtures/arf.eml");

/// A fixture, about a message.
fn about(fixture: &str, message: &Message) -> String {
    fixture
        .replace("REFERENCE", &message.reference.to_string())
        .replace("ann@example.test", &message.email)
        .replace('\n', "\r\n")
}

/// Says lines to the mail server, and gives the code it answers each with.
async fn say(lines: &[&str]) -> Vec<String> {
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

async fn hand_over(message: &Message, mail: &str) {
    let to = format!("RCPT TO:<{}>", message.reference.bounce_address("bounce.example.test"));
    let mail = format!("{}\r\n.", mail.trim_end());
    let lines = ["EHLO mx.example.test", "MAIL FROM:<> SIZE=2000", &to, "DATA", &mail, "QUIT"];
    assert_eq!(say(&lines).await, ["220", "250", "250", "250", "354", "250", "221"]);
}

#[tokio::test]
async fn a_bounce_comes_back_to_its_own_address() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    hand_over(&message, &about(DELAYED, &message)).await;
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "");
    for _ in 0..2 {
        hand_over(&message, &about(POSTFIX, &message)).await;
    }
    assert_eq!(told(message.reference, 2).await, ["bounced hard 5.1.1", "deferred 4.4.1"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "hard_bounce delivery");
    let email = consent(&workspace, &message.user, "email").await;
    assert_eq!((&email["isValid"], &email["bounceCount"]), (&json!(false), &json!(1)));
}

#[tokio::test]
async fn a_complaint_comes_back_by_mail() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    hand_over(&message, &about(ARF, &message)).await;
    assert_eq!(told(message.reference, 1).await, ["complained abuse"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "complaint delivery");
}

#[tokio::test]
async fn nobody_can_have_the_address_of_somebody_else_suppressed() {
    let workspace = Workspace::new().await;
    let (mine, theirs) = (sent(&workspace, "email").await, sent(&workspace, "email").await);
    let forged = about(POSTFIX, &mine).replace(&mine.email, &theirs.email);
    hand_over(&mine, &forged).await;
    assert_eq!(told(mine.reference, 1).await, ["bounced hard 5.1.1"]);
    for message in [&mine, &theirs] {
        assert_eq!(suppressed(&workspace, "email", &message.email).await, "");
        assert!(consent(&workspace, &message.user, "email").await.is_null());
    }
    assert!(told(theirs.reference, 0).await.is_empty());
}

#[tokio::test]
async fn the_mail_server_takes_nothing_else() {
    let codes = say(&[
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
async fn another_mail_server_hands_over_what_it_got() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    let path = "/callbacks/email/raw";
    // One mailbox for all of it: what was returned names the message.
    let mail = about(POSTFIX, &message).replace(&format!("b+{}", message.reference), "bounces");
    let unsigned = Client::anonymous().request(reqwest::Method::POST, path).body(mail.clone());
    ask(unsigned, 401).await;
    ask(signed(path, "webhook", now_s() - 310, mail.as_bytes()), 401).await;
    ask(signed(path, "webhook", now_s(), b""), 400).await;
    let deep = "Content-Type: message/rfc822\r\n\r\n".repeat(10_000);
    ask(signed(path, "webhook", now_s(), deep.as_bytes()), 400).await;
    ask(signed(path, "webhook", now_s(), b"Subject: a letter\r\n\r\nHello"), 200).await;
    ask(signed(path, "webhook", now_s(), mail.as_bytes()), 200).await;
    assert_eq!(told(message.reference, 1).await, ["bounced hard 5.1.1"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "hard_bounce delivery");
}

#[tokio::test]
async fn mail_that_names_nothing_but_the_address_is_about_nothing() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    let mail = POSTFIX.replace("b+REFERENCE", "bounces").replace("REFERENCE", "1234");
    let mail = about(&mail, &message);
    ask(signed("/callbacks/email/raw", "webhook", now_s(), mail.as_bytes()), 200).await;
    // Heard after it is what names the message, and is the first that was heard of it.
    let delayed = about(DELAYED, &message);
    ask(signed("/callbacks/email/raw", "webhook", now_s(), delayed.as_bytes()), 200).await;
    assert_eq!(told(message.reference, 1).await, ["deferred 4.4.1"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "");
}

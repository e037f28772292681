//! `POST /campaigns/transactional/send`.

use std::collections::BTreeSet;

use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::{Value, json};

use super::fixture::{Person, Sender, sender};
use crate::kit::{Client, eventually, unique};

const SEND: &str = "/campaigns/transactional/send";

fn email(person: &Person) -> Value {
    json!({
        "userId": person.external_id, "channel": "email",
        "message": {"subject": "Hi {{ user.firstName }}", "body": "Order {{ trigger.properties.id }}"},
        "triggerData": {"type": "event", "name": "Order", "properties": {"id": 7}},
    })
}

fn sms(person: &Person) -> Value {
    json!({"userId": person.external_id, "channel": "sms", "message": {"body": "Hi {{ firstName }}"}})
}

#[tokio::test]
async fn a_transactional_message_is_sent_at_once_on_every_channel() {
    let Sender { api, .. } = &*sender().await;
    let person = sender().await.person().await;
    let sent = api.post(SEND, &email(&person), 200).await.json();
    let id = sent["messageId"].as_str().unwrap();
    assert_eq!(
        sent,
        json!({"success": true, "messageId": id, "status": "queued", "channel": "email", "deduplicated": false})
    );
    let arrived = sender().await.arrived(id).await;
    assert_eq!(arrived["to"], person.email);
    assert_eq!(arrived["message"]["subject"], "Hi Ann");
    assert_eq!(arrived["message"]["text"], "Order 7");
    assert_eq!(arrived["message"]["headers"], json!([["Auto-Submitted", "auto-generated"]]));

    let mut by_id = sms(&person);
    by_id["userId"] = person.id.clone().into();
    let sent = api.post(SEND, &by_id, 200).await.json();
    let arrived = sender().await.arrived(sent["messageId"].as_str().unwrap()).await;
    assert_eq!(
        (&arrived["to"], &arrived["message"]["body"]),
        (&json!(person.phone), &json!("Hi Ann"))
    );

    let push = json!({"userId": person.external_id, "channel": "push", "message": {"title": "T", "body": "B"}});
    let sent = api.post(SEND, &push, 200).await.json();
    let arrived = sender().await.arrived(sent["messageId"].as_str().unwrap()).await;
    assert_eq!(arrived["to"], person.external_id);
}

#[tokio::test]
async fn every_error_of_a_transactional_request_is_named() {
    let Sender { api, .. } = &*sender().await;
    let person = sender().await.person().await;
    let wrong = json!({"channel": "fax", "message": 3, "idempotencyKey": "k".repeat(256), "triggerData": []});
    let errors = api.post(SEND, &wrong, 400).await.errors();
    for field in ["channel", "userId", "message", "idempotencyKey", "triggerData"] {
        assert!(errors.iter().any(|error| error.starts_with(field)), "{field}: {errors:?}");
    }
    for (fields, path) in [
        (json!({"message": {"body": "b"}}), "message.subject"),
        (json!({"message": {"subject": "s"}}), "message.body"),
        (json!({"message": {"subject": "s", "body": " "}}), "message.body"),
        (json!({"message": {"subject": "s\r\nBcc: x@x.test", "body": "b"}}), "message.subject"),
        (json!({"message": {"subject": "{{ nope", "body": "b"}}), "message.subject"),
        (json!({"message": {"subject": "s", "body": "{% if %}"}}), "message.body"),
        (json!({"channel": "sms", "message": {}}), "message.body"),
        (json!({"channel": "sms", "message": {"body": "b".repeat(5001)}}), "message.body"),
        (json!({"channel": "push", "message": {"title": "t"}}), "message.body"),
        (json!({"channel": "viber", "message": {}}), "viberTemplateId"),
        (json!({"idempotencyKey": ""}), "idempotencyKey"),
        (json!({"triggerData": {"x": "y".repeat(64 << 10)}}), "triggerData"),
    ] {
        let mut body = email(&person);
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let errors = api.post(SEND, &body, 400).await.errors();
        assert!(errors.iter().any(|error| error.starts_with(path)), "{path}: {errors:?}");
    }
    let mut longest = email(&person);
    longest["idempotencyKey"] =
        unique(&"k".repeat(220)).chars().take(255).collect::<String>().into();
    api.post(SEND, &longest, 200).await;

    let mut unknown = email(&person);
    unknown["userId"] = "unknown-user".into();
    api.post(SEND, &unknown, 404).await;
    let viber = json!({"userId": person.external_id, "channel": "viber", "message": {}, "viberTemplateId": "t"});
    let refused = api.post(SEND, &viber, 400).await.json();
    assert!(refused["message"].as_str().unwrap().contains("no provider"), "{refused}");
    let bare = json!({"externalId": unique("bare")});
    api.post("/users", &bare, 201).await;
    let mut unreachable = email(&person);
    unreachable["userId"] = bare["externalId"].clone();
    let errors = api.post(SEND, &unreachable, 400).await.errors();
    assert!(errors[0].contains("no email address"), "{errors:?}");
}

#[tokio::test]
async fn an_invalid_text_is_not_also_reported_as_missing() {
    let Sender { api, .. } = &*sender().await;
    let person = sender().await.person().await;
    let liquid = "is not valid Liquid: ";
    for (channel, message, fault) in [
        ("email", json!({"subject": "{{ nope", "body": "b"}), ("message.subject", liquid)),
        ("email", json!({"subject": "s", "body": "{% if %}"}), ("message.body", liquid)),
        ("email", json!({"subject": "s", "html": "<p>{{ nope</p>"}), ("message.html", liquid)),
        ("email", json!({"subject": "s", "text": "{{ nope"}), ("message.text", liquid)),
        ("email", json!({"subject": 7, "body": "b"}), ("message.subject", "must be a string")),
        ("sms", json!({"body": "{% for %}"}), ("message.body", liquid)),
        ("push", json!({"title": "t", "body": "{{ nope"}), ("message.body", liquid)),
        ("push", json!({"title": "{{ nope", "body": "b"}), ("message.title", liquid)),
    ] {
        let body = json!({"userId": person.external_id, "channel": channel, "message": message});
        let errors = api.post(SEND, &body, 400).await.errors();
        assert_eq!(errors.len(), 1, "one fault is reported once: {errors:?}");
        let (path, says) = fault;
        assert!(errors[0].starts_with(&format!("{path} {says}")), "{path}: {errors:?}");
    }
    // Two faults are both reported.
    let body = json!({"userId": person.external_id, "channel": "email", "message": {"subject": "{{ nope"}});
    let mut errors = api.post(SEND, &body, 400).await.errors();
    errors.sort();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("message.body or html is required"), "{errors:?}");
    assert!(errors[1].starts_with(&format!("message.subject {liquid}")), "{errors:?}");
}

#[tokio::test]
async fn an_ineligible_recipient_is_skipped_with_the_reason() {
    let Sender { api, .. } = &*sender().await;
    for (reason, channel) in
        [("manual", "email"), ("unsubscribe", "email"), ("unsubscribe", "sms"), ("manual", "sms")]
    {
        let person = sender().await.person().await;
        let (identifier, body) = match channel {
            "email" => (&person.email, email(&person)),
            _ => (&person.phone, sms(&person)),
        };
        let row = json!({"channel": channel, "identifier": identifier, "reason": reason});
        api.post("/suppressions", &row, 201).await;
        let answer = api.post(SEND, &body, 200).await.json();
        assert_eq!(
            (&answer["success"], &answer["status"]),
            (&json!(false), &json!("skipped")),
            "{answer}"
        );
        assert_eq!(answer["reason"], reason, "{answer}");
        assert!(sender().await.received(answer["messageId"].as_str().unwrap()).is_empty());
    }
    let bounced = sender().await.person().await;
    let row = json!({"channel": "email", "identifier": bounced.email});
    api.post("/suppressions/hard-bounce", &row, 201).await;
    let answer = api.post(SEND, &email(&bounced), 200).await.json();
    assert_eq!((&answer["success"], &answer["reason"]), (&json!(false), &json!("hard_bounce")));
    // Another channel of the same person is another matter.
    assert_eq!(api.post(SEND, &sms(&bounced), 200).await.json()["success"], true);
}

/// Sends with an idempotency key: once more where another request with the key took too long to wait for.
async fn send_with_key(api: &Client, body: &Value) -> (HeaderMap, Value) {
    eventually("no other request with the key is under way", || async {
        let answer = api.request(Method::POST, SEND).json(body).send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        let answer: Value = answer.json().await.unwrap();
        if status == StatusCode::CONFLICT {
            return None;
        }
        assert_eq!(status, StatusCode::OK, "{answer}");
        Some((headers, answer))
    })
    .await
}

#[tokio::test]
async fn concurrent_requests_with_one_idempotency_key_send_one_message() {
    let Sender { api, .. } = &*sender().await;
    let person = sender().await.person().await;
    let mut body = email(&person);
    body["idempotencyKey"] = unique("key").into();
    let asked = (0..20).map(|_| send_with_key(api, &body));
    let answers = futures_util::future::join_all(asked).await;
    let ids: BTreeSet<String> =
        answers.iter().map(|it| it.1["messageId"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    let (again, first): (Vec<_>, Vec<_>) =
        answers.iter().partition(|it| it.1["deduplicated"] == true);
    assert_eq!((first.len(), again.len()), (1, 19));
    assert!(again.iter().all(|it| it.0["idempotent-replayed"] == "true"));
    assert!(!first[0].0.contains_key("idempotent-replayed"));
    let id = ids.first().unwrap();
    sender().await.arrived(id).await;
    assert_eq!(sender().await.received_at(&person.email).len(), 1);

    body["message"]["subject"] = "Another".into();
    let refused = api.post(SEND, &body, 409).await.json();
    assert!(refused["message"].as_str().unwrap().contains("idempotencyKey"), "{refused}");
    body["idempotencyKey"] = unique("key").into();
    assert_eq!(api.post(SEND, &body, 200).await.json()["deduplicated"], false);
}

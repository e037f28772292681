//! `GET /channels`, `POST /channels/:channel/test`.

use serde_json::{Value, json};

use super::fixture::{OVERLOADED, REFUSED, Sender, sender};
use crate::kit::{Client, eventually, unique};

/// The answer to a test of a channel. The call waits ten seconds for the provider: where that was too short, the test is
/// made once more.
async fn tested(api: &Client, channel: &str, body: &Value) -> Value {
    eventually("the provider has answered", || async {
        let tested = api.post(&format!("/channels/{channel}/test"), body, 200).await.json();
        let waits = matches!(tested["status"].as_str(), Some("queued" | "sending"));
        (!waits || tested.get("code").is_some()).then_some(tested)
    })
    .await
}

#[tokio::test]
async fn every_channel_has_its_provider_or_the_reason_why_not() {
    let Sender { api, .. } = &*sender().await;
    let found = api.get("/channels", 200).await.json();
    let of = |channel: &str| {
        let all = found["data"].as_array().unwrap();
        all.iter().find(|it| it["channel"] == channel).unwrap().clone()
    };
    for (channel, provider) in
        [("email", "http"), ("sms", "http"), ("push", "http"), ("webhook", "webhook")]
    {
        let expected = json!({"channel": channel, "isEnabled": true, "provider": provider});
        assert_eq!(of(channel), expected);
    }
    for channel in ["viber", "whatsapp"] {
        let found = of(channel);
        assert_eq!((&found["isEnabled"], &found["provider"]), (&json!(false), &Value::Null));
        let problem = format!("no provider is set for channel {channel}");
        assert_eq!(found["problem"], problem);
    }
    assert_eq!(found["data"].as_array().unwrap().len(), 6);
}

#[tokio::test]
async fn a_test_of_a_channel_reaches_the_recipient() {
    let sender = sender().await;
    let person = sender.person().await;
    let address = format!("{}@example.test", unique("bare"));
    let device = unique("device");
    for (channel, body, to) in [
        ("email", json!({"to": address}), &address),
        ("email", json!({"userId": person.external_id}), &person.email),
        ("sms", json!({"userId": person.id}), &person.phone),
        ("sms", json!({"userId": person.id, "to": "+4915112345678"}), &"+4915112345678".to_owned()),
        ("push", json!({"to": device}), &device),
    ] {
        let tested = tested(&sender.api, channel, &body).await;
        let got = (&tested["success"], &tested["status"], &tested["to"]);
        assert_eq!(got, (&json!(true), &json!("sent"), &json!(to)), "{channel} {body}: {tested}");
        let received = sender.received(tested["messageId"].as_str().unwrap());
        assert_eq!((received.len(), &received[0]["to"]), (1, &json!(to)), "{received:?}");
        let text = format!("This is a test of the channel {channel}.");
        assert!(received[0]["message"].to_string().contains(&text), "{received:?}");
    }
}

#[tokio::test]
async fn the_providers_refusal_is_the_answer() {
    let Sender { api, .. } = &*sender().await;
    let test = async |to: &str| {
        let tested = tested(api, "email", &json!({"to": to})).await;
        assert_eq!(tested["success"], false, "{tested}");
        ["status", "code", "reason"].map(|name| tested[name].as_str().unwrap().to_owned())
    };
    for (to, expected, words) in [
        (REFUSED, ["failed", "no_mailbox"], "no such mailbox"),
        // It is tried again after this answer.
        (OVERLOADED, ["queued", "overloaded"], "too busy"),
    ] {
        let [status, code, reason] = test(to).await;
        assert_eq!([&*status, &*code], expected);
        assert!(reason.contains(words), "{reason}");
    }
    let suppressed = format!("{}@example.test", unique("suppressed"));
    let row = json!({"channel": "email", "identifier": suppressed});
    api.post("/suppressions/hard-bounce", &row, 201).await;
    let [status, code, _] = test(&suppressed).await;
    assert_eq!((&*status, &*code), ("skipped", "suppressed_hard_bounce"));
}

#[tokio::test]
async fn a_test_that_cannot_be_sent_says_what_is_missing() {
    let Sender { api, .. } = &*sender().await;
    for (channel, body, status, says) in [
        ("email", json!({}), 400, "userId or to is required"),
        ("email", json!({"to": " "}), 400, "userId or to is required"),
        ("email", json!({"to": "no address"}), 400, "to "),
        ("email", json!({"to": "a".repeat(321)}), 400, "to "),
        ("sms", json!({"to": "12"}), 400, "to "),
        ("sms", json!({"userId": "unknown"}), 404, "User"),
        ("viber", json!({"to": "+4915112345678"}), 400, "templateId is required for viber"),
        ("viber", json!({"to": "+4915112345678", "templateId": "t"}), 400, "no provider is set"),
        ("viber", json!({"to": "+49151", "templateId": "t".repeat(513)}), 400, "templateId "),
        ("whatsapp", json!({"to": "+4915112345678"}), 400, "no provider is set"),
        ("webhook", json!({"to": "https://x.test"}), 404, "Channel"),
        ("fax", json!({"to": "+4915112345678"}), 404, "Channel"),
    ] {
        let refused = api.post(&format!("/channels/{channel}/test"), &body, status).await;
        assert!(refused.text.contains(says), "{channel} {says}: {}", refused.text);
    }
}

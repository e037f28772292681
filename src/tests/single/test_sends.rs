//! `POST /campaigns/:campaignId/send-test-*`.

use serde_json::{Value, json};

use super::fixture::{Sender, sender};
use crate::kit::unique;

async fn campaign(fields: Value) -> String {
    let mut body = json!({
        "name": unique("campaign"), "channel": "email",
        "variants": [
            {"id": "control", "name": "C", "weight": 50, "isControlGroup": true},
            {"id": "a", "name": "A", "weight": 25, "message": {"subject": "A {{ user.firstName }}",
                "html": "<a href='https://x.test/'>x</a> <a href='{{ unsubscribe_url }}'>out</a>"}},
            {"id": "b", "name": "B", "weight": 25, "message": {"subject": "B {{ event.name }}", "text": "unsubscribe"}},
        ],
    });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let made = sender().await.api.post("/campaigns", &body, 201).await.json();
    made["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_test_send_renders_a_variant_in_any_campaign_status() {
    let Sender { api, .. } = &*sender().await;
    let person = sender().await.person().await;
    let id = campaign(json!({})).await;
    let path = format!("/campaigns/{id}/send-test-email");
    let tested = api.post(&path, &json!({"userId": person.external_id}), 200).await.json();
    assert_eq!((&tested["success"], &tested["channel"]), (&json!(true), &json!("email")));
    assert_eq!(tested["to"], person.email);
    assert_eq!(tested["preview"]["subject"], "A Ann");
    let arrived = sender().await.arrived(tested["messageId"].as_str().unwrap()).await;
    assert_eq!(arrived["message"]["subject"], "A Ann");

    api.post(&format!("/campaigns/{id}/archive"), &json!({}), 200).await;
    let to = format!("{}@example.test", unique("bare"));
    let body = json!({"to": to, "variantId": "b", "triggerData": {"name": "Order"}});
    let tested = api.post(&path, &body, 200).await.json();
    assert_eq!((&tested["preview"]["subject"], &tested["to"]), (&json!("B Order"), &json!(to)));
    let arrived = sender().await.arrived(tested["messageId"].as_str().unwrap()).await;
    assert_eq!(arrived["to"], to);
    let stats = api.get(format!("/campaigns/{id}/stats"), 200).await.json();
    assert_eq!((&stats["stats"]["queued"], &stats["stats"]["sent"]), (&json!(0), &json!(0)));
}

#[tokio::test]
async fn a_refused_test_send_has_a_reason() {
    let Sender { api, .. } = &*sender().await;
    let person = sender().await.person().await;
    let id = campaign(json!({})).await;
    let user = json!({"userId": person.external_id});
    for (suffix, body, status, says) in [
        ("email", json!({}), 400, "userId"),
        ("email", json!({"to": "no address"}), 400, "to "),
        ("email", json!({"userId": person.external_id, "variantId": "z"}), 400, "variantId"),
        ("email", json!({"userId": person.external_id, "variantId": "control"}), 400, "control"),
        ("sms", user.clone(), 400, "no message of this channel"),
        ("in-app", user.clone(), 400, "no message of this channel"),
        ("email", json!({"userId": "unknown"}), 404, "User"),
    ] {
        let path = format!("/campaigns/{id}/send-test-{suffix}");
        let refused = api.post(&path, &body, status).await;
        assert!(refused.text.contains(says), "{says}: {}", refused.text);
    }
    let absent = "/campaigns/00000000-0000-7000-8000-0000000cdead/send-test-email";
    api.post(absent, &user, 404).await;
    let row = json!({"channel": "email", "identifier": person.email});
    api.post("/suppressions/hard-bounce", &row, 201).await;
    let path = format!("/campaigns/{id}/send-test-email");
    let tested = api.post(&path, &user, 200).await.json();
    assert_eq!((&tested["success"], &tested["reason"]), (&json!(false), &json!("hard_bounce")));
}

#[tokio::test]
async fn a_pending_subscription_gets_a_confirmation_mail() {
    let Sender { api, .. } = &*sender().await;
    let person = sender().await.person().await;
    let list = json!({"name": unique("list"), "requireDoubleOptIn": true});
    let list = api.post("/lists", &list, 201).await.json();
    let path =
        format!("/subscriptions/contacts/{}/lists/{}", person.id, list["id"].as_str().unwrap());
    let wish = json!({"channel": "email", "source": "form"});
    api.post(&path, &wish, 200).await;
    api.post(&path, &wish, 200).await;
    let asked = crate::kit::eventually("the contact is asked", async || {
        sender().await.received_at(&person.email).pop()
    })
    .await;
    let text = asked["message"]["text"].as_str().unwrap();
    assert!(text.contains(list["name"].as_str().unwrap()) && text.contains("/c/"), "{text}");
    assert_eq!(sender().await.received_at(&person.email).len(), 1, "asked once for two wishes");
}

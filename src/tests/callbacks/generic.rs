//! The callback of gateways: its signature, its format and its effects.

use serde_json::json;

use super::fixture::{
    call_expecting, consent, gateway, history, message, now_s, recorded, sent, signed, suppressed,
};
use crate::{
    kit::{Client, Workspace},
    suppressions::history::words,
};

#[tokio::test]
async fn a_repeated_hard_bounce_is_recorded_once_and_marks_the_address_once() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    let bounce = json!({"type": "bounced", "bounceType": "hard", "code": "5.1.1", "reason": "no such user",
        "messageId": message.reference.message, "workspace": workspace.id, "eventId": "e1"});
    for _ in 0..3 {
        gateway("email", &bounce).await;
    }
    // The same again from a source that gives every report its own id.
    gateway(
        "email",
        &json!([{"type": "bounced", "bounceType": "hard", "code": "5.1.1",
        "id": message.provider_id, "eventId": "e2"}]),
    )
    .await;
    assert_eq!(recorded(message.reference, 1).await, ["bounced hard 5.1.1"]);
    let email = consent(&workspace, &message.user, "email").await;
    assert_eq!(email["isValid"], false);
    assert_eq!((&email["bounceType"], &email["bounceCount"]), (&json!("hard"), &json!(1)));
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "hard_bounce delivery");
    assert_eq!(history(&workspace, &message.user).await, ["hard_bounce delivery provider:gateway"]);
    let added = words(&workspace.api, "email", &message.email).await;
    assert_eq!(added, ["added hard_bounce delivery provider"]);
    let path = format!("/subscriptions/contacts/{}/email-valid", message.user);
    assert_eq!(workspace.api.get(path, 200).await.json()["valid"], false);
}

#[tokio::test]
async fn soft_bounces_are_counted_and_the_address_stays_valid() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    for event in ["e1", "e2", "e2"] {
        let bounce = json!({"type": "bounced", "bounceType": "soft", "code": "4.2.2",
            "id": message.provider_id, "eventId": event});
        gateway("email", &bounce).await;
    }
    let recorded = recorded(message.reference, 2).await;
    assert_eq!(recorded, ["bounced soft 4.2.2", "bounced soft 4.2.2"]);
    let email = consent(&workspace, &message.user, "email").await;
    assert_eq!(email["isValid"], true);
    assert_eq!((&email["bounceType"], &email["bounceCount"]), (&json!("soft"), &json!(2)));
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "");
    assert_eq!(
        history(&workspace, &message.user).await,
        ["soft_bounce delivery provider:gateway", "soft_bounce delivery provider:gateway"]
    );
}

#[tokio::test]
async fn the_last_allowed_soft_bounce_marks_the_address() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    for (nth, event) in ["e1", "e2", "e3"].into_iter().enumerate() {
        assert_eq!(suppressed(&workspace, "email", &message.email).await, "", "after {nth}");
        let bounce = json!({"type": "bounced", "bounceType": "soft", "code": "4.2.2",
            "id": message.provider_id, "eventId": event});
        for _ in 0..2 {
            gateway("email", &bounce).await;
        }
    }
    assert_eq!(recorded(message.reference, 3).await, ["bounced soft 4.2.2"; 3]);
    let email = consent(&workspace, &message.user, "email").await;
    assert_eq!((&email["isValid"], &email["bounceType"]), (&json!(false), &json!("hard")));
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "hard_bounce delivery");
    let history = history(&workspace, &message.user).await;
    assert_eq!(history[0], "hard_bounce delivery provider:gateway");
    assert_eq!(history[1..], ["soft_bounce delivery provider:gateway"; 3]);
}

#[tokio::test]
async fn a_spam_complaint_opts_out_every_profile_with_the_address() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    let body = json!({"externalId": crate::kit::unique("twin"), "email": message.email});
    let twin = workspace.api.post("/users", &body, 201).await.json();
    let twin = twin["id"].as_str().unwrap();
    let complaint = json!({"type": "complained", "code": "abuse", "id": message.provider_id});
    gateway("email", &complaint).await;
    gateway("email", &complaint).await;
    assert_eq!(recorded(message.reference, 1).await, ["complained abuse"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "complaint delivery");
    for user in [message.user.as_str(), twin] {
        assert_eq!(consent(&workspace, user, "email").await["status"], "unsubscribed");
        assert_eq!(history(&workspace, user).await, ["complaint delivery provider:gateway"]);
    }
}

#[tokio::test]
async fn a_providers_opt_out_applies_to_the_channel_and_its_repeat_is_ignored() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "sms").await;
    let gone = json!({"type": "unsubscribed", "id": message.provider_id, "eventId": "e1"});
    gateway("sms", &gone).await;
    assert_eq!(recorded(message.reference, 1).await, ["unsubscribed"]);
    assert_eq!(suppressed(&workspace, "sms", &message.phone).await, "unsubscribe provider");
    assert_eq!(consent(&workspace, &message.user, "sms").await["status"], "unsubscribed");
    let path = format!("/subscriptions/contacts/{}/channels/sms", message.user);
    let request = workspace.api.request(reqwest::Method::PUT, &path);
    let back = request.json(&json!({"channel": "sms", "status": "optedIn", "source": "api"}));
    workspace.api.send(back, 200).await;
    gateway("sms", &gone).await;
    assert_eq!(consent(&workspace, &message.user, "sms").await["status"], "optedIn");
    assert_eq!(suppressed(&workspace, "sms", &message.phone).await, "");
}

#[tokio::test]
async fn informational_callbacks_are_recorded_without_side_effects() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "whatsapp").await;
    let signal =
        |kind: &str, code: &str| json!({"type": kind, "id": message.provider_id, "code": code});
    let all = json!([
        signal("sent", ""),
        signal("delivered", ""),
        signal("delivered", ""),
        signal("read", ""),
        signal("deferred", "busy"),
        signal("deferred", "full"),
        signal("failed", "131026"),
    ]);
    gateway("whatsapp", &all).await;
    assert_eq!(
        recorded(message.reference, 5).await,
        ["deferred busy", "deferred full", "delivered", "failed 131026", "opened"]
    );
    assert!(history(&workspace, &message.user).await.is_empty());
}

#[tokio::test]
async fn reads_with_ids_of_their_own_are_counted_each() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "sms").await;
    let read = |event: &str| json!({"type": "read", "id": message.provider_id, "eventId": event});
    // The first is repeated; of those without an id there is one.
    let without = json!({"type": "read", "id": message.provider_id});
    let all = json!([read("1"), read("2"), read("1"), without, without]);
    gateway("sms", &all).await;
    assert_eq!(recorded(message.reference, 3).await, ["opened", "opened", "opened"]);
    gateway("sms", &json!([read("2"), read("3")])).await;
    assert_eq!(recorded(message.reference, 4).await, ["opened"; 4]);
}

#[tokio::test]
async fn a_bounce_without_a_profile_marks_the_address_in_the_callback() {
    let workspace = Workspace::new().await;
    let reference = message(workspace.id, "email", None).await;
    let address = format!("{}@example.test", crate::kit::unique("bare"));
    let bounce = |address: serde_json::Value| {
        json!({"type": "bounced", "bounceType": "hard",
        "messageId": reference.message, "workspace": workspace.id, "address": address})
    };
    gateway("email", &bounce(json!(address))).await;
    assert_eq!(suppressed(&workspace, "email", &address).await, "hard_bounce delivery");
    assert_eq!(recorded(reference, 1).await, ["bounced hard"]);
}

#[tokio::test]
async fn unsigned_callbacks_are_refused_and_unknown_ones_ignored() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    let path = "/callbacks/generic/email";
    let body = json!({"type": "delivered", "id": message.provider_id}).to_string();
    let body = body.as_bytes();
    let unsigned = Client::anonymous().request(reqwest::Method::POST, path).body(body.to_vec());
    call_expecting(unsigned, 401).await;
    call_expecting(signed(path, "webhook", now_s(), body).body("{}"), 401).await;
    call_expecting(signed(path, "webhook", now_s() - 310, body), 401).await;
    call_expecting(signed(path, "webhook", now_s() + 310, body), 401).await;
    call_expecting(signed(path, "svix", now_s(), body), 401).await;
    assert!(recorded(message.reference, 0).await.is_empty());

    let fine = |body: &str| signed(path, "webhook", now_s(), body.as_bytes());
    call_expecting(fine(r#"{"type": "delivered", "id": "unknown-id"}"#), 200).await;
    let foreign = json!({"type": "delivered", "messageId": message.reference.message,
        "workspace": Workspace::new().await.id});
    call_expecting(fine(&foreign.to_string()), 200).await;
    let deep = "[".repeat(10_000);
    for broken in ["", "{", "null", "[]", "7", r#"{"type": "x"}"#, r#"{"type": "\u0000"}"#, &deep] {
        call_expecting(fine(broken), 400).await;
    }
    call_expecting(signed("/callbacks/generic/fax", "webhook", now_s(), body), 404).await;
    let large = vec![b' '; (2 << 20) + 1];
    call_expecting(signed(path, "webhook", now_s(), &large), 413).await;
    assert!(
        recorded(message.reference, 0).await.is_empty(),
        "reports for another channel or workspace are ignored"
    );
}

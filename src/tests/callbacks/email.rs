//! Callbacks of mail providers: valid, forged and stale signatures, and effects on consent.

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kernel::{Clock, Timestamp};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::fixture::{
    MAILGUN_KEY, Message, TOPIC, basic, call_expecting, hash, now_s, recorded, sendgrid, sent,
    signed, suppressed,
};
use crate::kit::{Client, Workspace};

const SNS_KEY: &[u8] = include_bytes!("fixtures/sns_key.der");

fn post(path: &str, body: &[u8]) -> RequestBuilder {
    Client::anonymous().request(Method::POST, path).body(body.to_vec())
}

fn by_sendgrid(at_s: i64, body: &[u8]) -> RequestBuilder {
    let at = at_s.to_string();
    let pair = sendgrid();
    let signed = [at.as_bytes(), body].concat();
    let signature = pair.sign(&SystemRandom::new(), &signed).unwrap();
    post("/callbacks/email/sendgrid", body)
        .header("x-twilio-email-event-webhook-timestamp", at)
        .header("x-twilio-email-event-webhook-signature", STANDARD.encode(signature))
}

#[tokio::test]
async fn sendgrid_callbacks_are_verified_by_public_key() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    let event = |event: &str, more: &str| {
        json!({"event": event, "email": message.email, "timestamp": now_s(), "reason": more, "type": "bounce",
            "status": "5.1.1", "sg_event_id": event, "smtp-id": format!("<{}@x.test>", message.reference)})
    };
    let body =
        json!([event("delivered", ""), event("bounce", "550 5.1.1 unknown"), event("open", "")]);
    let body = body.to_string();
    call_expecting(post("/callbacks/email/sendgrid", body.as_bytes()), 401).await;
    call_expecting(by_sendgrid(now_s(), body.as_bytes()).body("[]"), 401).await;
    call_expecting(by_sendgrid(now_s() - 310, body.as_bytes()), 401).await;
    call_expecting(by_sendgrid(now_s(), b"{"), 400).await;
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "");
    call_expecting(by_sendgrid(now_s(), body.as_bytes()), 200).await;
    call_expecting(by_sendgrid(now_s(), body.as_bytes()), 200).await;
    assert_eq!(recorded(message.reference, 2).await, ["bounced hard 5.1.1", "delivered"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "hard_bounce delivery");
}

#[tokio::test]
async fn postmark_callbacks_are_verified_by_password() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    let path = "/callbacks/email/postmark";
    let body = json!({"RecordType": "SpamComplaint", "Type": "SpamComplaint", "ID": 7,
        "MessageID": message.provider_id, "Email": message.email});
    call_expecting(post(path, body.to_string().as_bytes()), 401).await;
    let wrong = post(path, body.to_string().as_bytes()).basic_auth("reporter", Some("password"));
    call_expecting(wrong, 401).await;
    call_expecting(basic(path, &json!("nonsense")), 200).await;
    call_expecting(basic(path, &body), 200).await;
    assert_eq!(recorded(message.reference, 1).await, ["complained SpamComplaint"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "complaint delivery");
}

fn by_mailgun(at_s: i64, message: &Message) -> Value {
    let at = at_s.to_string();
    let signature = hash(MAILGUN_KEY.as_bytes(), &[at.as_bytes(), b"token"]);
    let signature = hex::encode(signature);
    json!({"signature": {"timestamp": at, "token": "token", "signature": signature},
        "event-data": {"event": "unsubscribed", "id": "mg", "timestamp": at_s, "recipient": message.email,
            "message": {"headers": {"message-id": format!("{}@example.test", message.reference)}}}})
}

#[tokio::test]
async fn mailgun_callbacks_are_verified_by_the_signature_in_the_body() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    let call = |body: &Value| post("/callbacks/email/mailgun", body.to_string().as_bytes());
    let mut forged = by_mailgun(now_s(), &message);
    forged["signature"]["token"] = json!("other");
    call_expecting(call(&forged), 401).await;
    call_expecting(call(&by_mailgun(now_s() - 310, &message)), 401).await;
    call_expecting(call(&json!({})), 401).await;
    call_expecting(post("/callbacks/email/mailgun", b"{"), 400).await;
    call_expecting(call(&by_mailgun(now_s(), &message)), 200).await;
    assert_eq!(recorded(message.reference, 1).await, ["unsubscribed"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "unsubscribe provider");
}

#[tokio::test]
async fn resend_callbacks_are_verified_by_svix_signature() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    let path = "/callbacks/email/resend";
    let body = json!({"type": "email.bounced", "created_at": "2026-03-01T12:00:00Z", "data": {
        "email_id": message.provider_id, "to": [message.email],
        "bounce": {"type": "Permanent", "subType": "General", "message": "550 5.1.1 gone"}}});
    let body = body.to_string();
    call_expecting(signed(path, "webhook", now_s(), body.as_bytes()), 401).await;
    call_expecting(signed(path, "svix", now_s() - 310, body.as_bytes()), 401).await;
    call_expecting(signed(path, "svix", now_s(), b"{"), 400).await;
    call_expecting(signed(path, "svix", now_s(), body.as_bytes()), 200).await;
    assert_eq!(recorded(message.reference, 1).await, ["bounced hard 5.1.1"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "hard_bounce delivery");
}

/// An envelope of Amazon's, signed by the key whose certificate the server was given.
fn envelope(topic: &str, at: Timestamp, message: &Value) -> Value {
    let mut body = json!({"Type": "Notification", "MessageId": "m-1", "TopicArn": topic,
        "Message": message.to_string(), "Timestamp": at.to_string(), "SignatureVersion": "2",
        "SigningCertURL": "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-1.pem"});
    let fields = ["Message", "MessageId", "Timestamp", "TopicArn", "Type"];
    let lines = fields.map(|name| [name, body[name].as_str().unwrap()].join("\n"));
    let text = lines.join("\n") + "\n";
    let pair = RsaKeyPair::from_pkcs8(SNS_KEY).unwrap();
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).unwrap();
    body["Signature"] = json!(STANDARD.encode(signature));
    body
}

#[tokio::test]
async fn ses_callbacks_are_verified_by_amazons_signature_and_the_topic() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    let bounce = json!({"notificationType": "Bounce",
        "mail": {"messageId": "ses-1", "headers": [{"name": "X-Message-Id", "value": message.reference.to_string()}]},
        "bounce": {"bounceType": "Permanent", "bounceSubType": "General", "feedbackId": "f",
            "bouncedRecipients": [{"emailAddress": message.email, "status": "5.1.1"}]}});
    let now = Clock::system().now();
    let call = |body: &Value| {
        post("/callbacks/email/ses", body.to_string().as_bytes())
            .header("content-type", "text/plain")
    };
    call_expecting(call(&envelope("arn:aws:sns:eu-central-1:1:theirs", now, &bounce)), 401).await;
    let old = Timestamp::from_millis(now.millis() - 3_700_000);
    call_expecting(call(&envelope(TOPIC, old, &bounce)), 401).await;
    let mut forged = envelope(TOPIC, now, &bounce);
    forged["Message"] = json!("{}");
    call_expecting(call(&forged), 401).await;
    let mut elsewhere = envelope(TOPIC, now, &bounce);
    elsewhere["SigningCertURL"] = json!("https://example.test/x.pem");
    call_expecting(call(&elsewhere), 401).await;
    call_expecting(call(&json!({})), 400).await;
    call_expecting(call(&json!([7])), 400).await;
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "");
    call_expecting(call(&envelope(TOPIC, now, &json!("what else a topic carries"))), 200).await;
    call_expecting(call(&envelope(TOPIC, now, &bounce)), 200).await;
    call_expecting(call(&envelope(TOPIC, now, &bounce)), 200).await;
    assert_eq!(recorded(message.reference, 1).await, ["bounced hard 5.1.1"]);
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "hard_bounce delivery");
}

#[tokio::test]
async fn a_bounce_of_a_previous_address_marks_only_that_address() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "email").await;
    let new = format!("{}@example.test", crate::kit::unique("new"));
    let path = format!("/users/{}", message.user);
    let request = workspace.api.request(Method::PUT, &path).json(&json!({"email": new}));
    workspace.api.send(request, 200).await;
    let body = json!({"RecordType": "Bounce", "Type": "HardBounce", "ID": 8,
        "MessageID": message.provider_id, "Email": message.email});
    call_expecting(basic("/callbacks/email/postmark", &body), 200).await;
    assert_eq!(suppressed(&workspace, "email", &message.email).await, "hard_bounce delivery");
    assert_eq!(suppressed(&workspace, "email", &new).await, "");
    let path = format!("/subscriptions/contacts/{}/email-valid", message.user);
    assert_eq!(workspace.api.get(path, 200).await.json()["valid"], true);
}

//! Callbacks of messages to phones, and inbound messages.

use aws_lc_rs::hmac;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kernel::Clock;
use reqwest::{Method, RequestBuilder};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use web::auth::{
    KeyKind,
    keys::{self, NewKey},
};

use super::fixture::{
    META_SECRET, Message, TWILIO_TOKEN, VERIFY_TOKEN, basic, call_expecting, consent, gateway,
    hash, history, message, number, recorded, sent, suppressed,
};
use crate::kit::{Client, Workspace, server, unique};

/// A form signed as Twilio does, by this token.
fn by_twilio(query: &str, token: &str, fields: &[(&str, &str)]) -> RequestBuilder {
    let path = format!("/callbacks/sms/twilio{query}");
    let mut sorted = fields.to_vec();
    sorted.sort_unstable();
    let mut text = format!("{}{path}", server().url);
    for (name, value) in sorted {
        text.push_str(name);
        text.push_str(value);
    }
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, token.as_bytes());
    let signature = STANDARD.encode(hmac::sign(&key, text.as_bytes()));
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    Client::anonymous()
        .request(Method::POST, &path)
        .header("x-twilio-signature", signature)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
}

fn status(message: &Message, status: &str, code: &str) -> RequestBuilder {
    let sid = message.provider_id.as_str();
    let fields = [("MessageSid", sid), ("MessageStatus", status), ("ErrorCode", code)];
    by_twilio("", TWILIO_TOKEN, &fields)
}

async fn text(from: &str, sid: &str, body: &str) -> String {
    let fields = [("MessageSid", sid), ("From", from), ("To", "+15550001111"), ("Body", body)];
    call_expecting(by_twilio("", TWILIO_TOKEN, &fields), 200).await
}

#[tokio::test]
async fn twilio_callbacks_are_verified_by_signature_of_url_and_form() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "sms").await;
    let fields = [("MessageSid", "not-kept-yet"), ("MessageStatus", "delivered")];
    let query = format!("?m={}", message.reference);
    call_expecting(by_twilio(&query, "other-token", &fields), 401).await;
    let unsigned = Client::anonymous().request(Method::POST, "/callbacks/sms/twilio");
    call_expecting(
        unsigned.header("content-type", "application/x-www-form-urlencoded").body("a=b"),
        401,
    )
    .await;
    let forged =
        by_twilio("", TWILIO_TOKEN, &fields).query(&[("m", message.reference.to_string())]);
    call_expecting(forged, 401).await;
    call_expecting(status(&message, "sent", ""), 200).await;
    // Before its id is kept, the message is known by the name it was given.
    call_expecting(by_twilio(&query, TWILIO_TOKEN, &fields), 200).await;
    call_expecting(status(&message, "delivered", ""), 200).await;
    call_expecting(
        by_twilio("", TWILIO_TOKEN, &[("MessageSid", "SMnobody"), ("MessageStatus", "delivered")]),
        200,
    )
    .await;
    call_expecting(by_twilio("", TWILIO_TOKEN, &[]), 200).await;
    assert_eq!(recorded(message.reference, 1).await, ["delivered"]);
}

#[tokio::test]
async fn a_number_opted_out_at_twilio_is_opted_out_here() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "sms").await;
    call_expecting(status(&message, "failed", "21610"), 200).await;
    call_expecting(status(&message, "failed", "21610"), 200).await;
    assert_eq!(recorded(message.reference, 2).await, ["failed 21610", "unsubscribed"]);
    assert_eq!(suppressed(&workspace, "sms", &message.phone).await, "unsubscribe provider");
    assert_eq!(consent(&workspace, &message.user, "sms").await["status"], "unsubscribed");
}

/// Another workspace of the organization of one.
async fn sibling(organization: &str) -> Workspace {
    let (db, name) = (server().db(), unique("sibling"));
    let (organization, workspace) = (Some(organization.to_owned()), name.clone());
    let (token, id) = server()
        .on(async move {
            let key = NewKey {
                workspace,
                organization,
                scopes: "*".parse().unwrap(),
                label: None,
                currency: None,
                country: None,
                kind: KeyKind::Api,
            };
            let created = keys::create(&db, Clock::system().now(), key).await.unwrap();
            (created.token.expose_secret().to_owned(), created.workspace)
        })
        .await;
    Workspace::known(name, id, Client::new(&server().url, Some(&token)))
}

async fn person(workspace: &Workspace, phone: &str) -> String {
    let body = json!({"externalId": unique("ann"), "phone": phone});
    let user = workspace.api.post("/users", &body, 201).await.json();
    user["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn stop_opts_out_everywhere_and_start_opts_in_where_the_number_was_last_messaged() {
    let organization = unique("organization");
    let (one, two) = (sibling(&organization).await, sibling(&organization).await);
    let other = sibling(&unique("organization")).await;
    let phone = number();
    let first = person(&one, &phone).await;
    let elsewhere = person(&other, &phone).await;
    // The same number, stored without its plus.
    let second = person(&two, phone.trim_start_matches('+')).await;
    let (stop, start) = (unique("SM"), unique("SM"));
    assert!(text(&phone, &stop, "Stop please").await.contains("<Response/>"));
    assert_eq!(suppressed(&one, "sms", &phone).await, "", "only the word alone is meant");
    text(&phone, &stop, " STOP ").await;
    for (workspace, user) in [(&one, &first), (&two, &second)] {
        assert_eq!(suppressed(workspace, "sms", &phone).await, "unsubscribe keyword");
        assert_eq!(consent(workspace, user, "sms").await["status"], "unsubscribed");
        assert_eq!(history(workspace, user).await, ["unsubscribe keyword recipient"]);
        assert!(consent(workspace, user, "whatsapp").await.is_null(), "texts are not WhatsApp");
    }
    assert_eq!(consent(&other, &elsewhere, "sms").await["status"], "unsubscribed");
    // No message was sent to the number yet, so there is none it could answer.
    text(&phone, &unique("SM"), "start").await;
    assert_eq!(consent(&one, &first, "sms").await["status"], "unsubscribed");
    message(other.id, "sms", Some(&elsewhere)).await;
    message(one.id, "sms", Some(&first)).await;
    // On another channel, the other organization was the last one.
    message(other.id, "whatsapp", Some(&elsewhere)).await;
    text(&phone, &start, "start").await;
    assert_eq!(consent(&other, &elsewhere, "sms").await["status"], "unsubscribed");
    assert_eq!(suppressed(&other, "sms", &phone).await, "unsubscribe keyword");
    // Twilio repeats itself.
    text(&phone, &stop, " STOP ").await;
    for (workspace, user) in [(&one, &first), (&two, &second)] {
        assert_eq!(suppressed(workspace, "sms", &phone).await, "");
        assert_eq!(consent(workspace, user, "sms").await["status"], "optedIn");
        assert_eq!(
            history(workspace, user).await,
            ["resubscribe keyword recipient", "unsubscribe keyword recipient"]
        );
    }
    // An answer to those who never said no says nothing.
    text(&phone, &unique("SM"), "YES").await;
    text(&phone, &unique("SM"), "HELP").await;
    text("not a number", &unique("SM"), "STOP").await;
    assert_eq!(history(&one, &first).await.len(), 2);
}

#[tokio::test]
async fn a_gateway_can_forward_inbound_messages() {
    let workspace = Workspace::new().await;
    let phone = number();
    let user = person(&workspace, &phone).await;
    let wrote =
        json!({"type": "inbound", "id": unique("in"), "from": phone, "text": "Unsubscribe"});
    gateway("viber", &wrote).await;
    assert_eq!(consent(&workspace, &user, "viber").await["status"], "unsubscribed");
}

fn by_meta(secret: &str, body: &str) -> RequestBuilder {
    let signature = hash(secret.as_bytes(), &[body.as_bytes()]);
    let signature = hex::encode(signature);
    Client::anonymous()
        .request(Method::POST, "/callbacks/whatsapp")
        .header("x-hub-signature-256", format!("sha256={signature}"))
        .body(body.to_owned())
}

#[tokio::test]
async fn meta_verifies_the_endpoint_and_its_callbacks_are_signed() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "whatsapp").await;
    let question = |token: &str| {
        let query =
            [("hub.mode", "subscribe"), ("hub.verify_token", token), ("hub.challenge", "42")];
        Client::anonymous().request(Method::GET, "/callbacks/whatsapp").query(&query)
    };
    assert_eq!(call_expecting(question(VERIFY_TOKEN), 200).await, "42");
    call_expecting(question("guess"), 401).await;
    let change = |value: &Value| {
        json!({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [
            {"field": "messages", "value": value}]}]})
        .to_string()
    };
    let status = |status: &str| {
        let at = super::fixture::now_s().to_string();
        change(&json!({"messaging_product": "whatsapp", "statuses": [
            {"id": message.provider_id, "status": status, "timestamp": at, "recipient_id": "1"}]}))
    };
    call_expecting(by_meta("other", &status("delivered")), 401).await;
    let unsigned = Client::anonymous().request(Method::POST, "/callbacks/whatsapp");
    call_expecting(unsigned.body(status("delivered")), 401).await;
    call_expecting(by_meta(META_SECRET, "{"), 400).await;
    for what in ["sent", "delivered", "read", "read"] {
        call_expecting(by_meta(META_SECRET, &status(what)), 200).await;
    }
    assert_eq!(recorded(message.reference, 2).await, ["delivered", "opened"]);
    let stop = change(&json!({"metadata": {"display_phone_number": "15550001111"}, "messages": [
        {"from": message.phone.trim_start_matches('+'), "id": unique("wamid"), "timestamp": "1", "type": "text",
         "text": {"body": "STOP"}}]}));
    call_expecting(by_meta(META_SECRET, &stop), 200).await;
    assert_eq!(suppressed(&workspace, "whatsapp", &message.phone).await, "unsubscribe keyword");
}

#[tokio::test]
async fn infobip_callbacks_are_verified_by_password() {
    let workspace = Workspace::new().await;
    let message = sent(&workspace, "viber").await;
    let path = "/callbacks/viber/infobip";
    let report = json!({"results": [{"messageId": message.provider_id, "to": "1",
        "status": {"groupId": 3, "groupName": "DELIVERED", "id": 5, "name": "DELIVERED_TO_HANDSET"}}]});
    let unsigned = Client::anonymous().request(Method::POST, path).body(report.to_string());
    call_expecting(unsigned, 401).await;
    call_expecting(basic(path, &json!("x")), 400).await;
    call_expecting(basic(path, &report), 200).await;
    assert_eq!(recorded(message.reference, 1).await, ["delivered"]);
}

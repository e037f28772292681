//! The callback sources of the shared server, messages that were sent, and their state afterwards.

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use config::Settings;
use hmac::{Hmac, Mac as _};
use kernel::{Clock, MessageId, UserId, WorkspaceId};
use providers::model::Reference;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::kit::{Client, Workspace, eventually, server, unique};

pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
pub(crate) const TWILIO_TOKEN: &str = "twilio-token";
pub(crate) const META_SECRET: &str = "meta-secret";
pub(crate) const VERIFY_TOKEN: &str = "verify-me";
pub(crate) const MAILGUN_KEY: &str = "key-mailgun";
pub(crate) const TOPIC: &str = "arn:aws:sns:eu-central-1:123456789012:bounces";
const PASSWORD: &str = "pass";
/// A key of these tests (PKCS #8).
const SENDGRID_KEY: &[u8] = include_bytes!("fixtures/sendgrid_key.der");

pub(crate) fn sendgrid() -> EcdsaKeyPair {
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, SENDGRID_KEY).unwrap()
}

/// Configures every callback source on the shared server.
pub(crate) fn configure_callbacks(settings: &mut Settings) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/callbacks/fixtures");
    let mut der = hex("3059301306072a8648ce3d020106082a8648ce3d030107034200");
    der.extend_from_slice(sendgrid().public_key().as_ref());
    let text = format!(
        r#"
        soft_bounce_limit = 3
        twilio_auth_token = "{TWILIO_TOKEN}"
        whatsapp = {{ app_secret = "{META_SECRET}", verify_token = "{VERIFY_TOKEN}" }}
        infobip = {{ username = "reporter", password = "{PASSWORD}" }}
        postmark = {{ username = "reporter", password = "{PASSWORD}" }}
        ses = {{ topic_arns = ["{TOPIC}"], certificate = "{folder}/sns.pem" }}
        sendgrid = {{ public_key = "{}" }}
        mailgun = {{ signing_key = "{MAILGUN_KEY}" }}
        resend = {{ secret = "{SECRET}" }}
        generic = {{ secret = "{SECRET}" }}
        "#,
        STANDARD.encode(der),
    );
    settings.callbacks = toml::from_str(&text).unwrap();
    settings.inbound.listen = Some("127.0.0.1:0".parse().unwrap());
}

fn hex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

pub(crate) fn now_s() -> i64 {
    Clock::system().now().millis() / 1000
}

pub(crate) fn hash(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut hash = Hmac::<Sha256>::new_from_slice(key).unwrap();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into_bytes().to_vec()
}

/// A call signed by Standard Webhooks, with the names of its headers.
pub(crate) fn signed(path: &str, names: &str, at_s: i64, body: &[u8]) -> RequestBuilder {
    let secret = STANDARD.decode(SECRET.strip_prefix("whsec_").unwrap()).unwrap();
    let (id, at) = (unique("msg"), at_s.to_string());
    let signature = hash(&secret, &[id.as_bytes(), b".", at.as_bytes(), b".", body]);
    Client::anonymous()
        .request(Method::POST, path)
        .header(format!("{names}-id"), id)
        .header(format!("{names}-timestamp"), at)
        .header(format!("{names}-signature"), format!("v1,{}", STANDARD.encode(signature)))
        .body(body.to_vec())
}

pub(crate) fn basic(path: &str, body: &Value) -> RequestBuilder {
    let request = Client::anonymous().request(Method::POST, path);
    request.basic_auth("reporter", Some(PASSWORD)).body(body.to_string())
}

/// Sends a call and demands its status.
pub(crate) async fn call_expecting(request: RequestBuilder, expected: u16) -> String {
    Client::anonymous().send(request, expected).await.text
}

/// Says something as a gateway would, and is believed.
pub(crate) async fn gateway(channel: &str, body: &Value) {
    let path = format!("/callbacks/generic/{channel}");
    call_expecting(signed(&path, "webhook", now_s(), body.to_string().as_bytes()), 200).await;
}

/// A sent message, to a profile with an address and a number of its own.
pub(crate) struct Message {
    pub(crate) reference: Reference,
    pub(crate) provider_id: String,
    pub(crate) user: String,
    pub(crate) email: String,
    pub(crate) phone: String,
}

/// A phone number no other test uses.
pub(crate) fn number() -> String {
    format!("+1555{:010}", uuid::Uuid::now_v7().as_u128() % 10_000_000_000)
}

pub(crate) async fn sent(workspace: &Workspace, channel: &str) -> Message {
    let (email, phone) = (format!("{}@example.test", unique("ann")), number());
    let body = json!({"externalId": unique("ann"), "email": email, "phone": phone});
    let user = workspace.api.post("/users", &body, 201).await.json();
    let user = user["id"].as_str().unwrap().to_owned();
    let reference = message(workspace.id, channel, Some(&user)).await;
    let provider_id = format!("p-{}", reference.message);
    Message { reference, provider_id, user, email, phone }
}

/// Stores a message as sent; without a profile it is a test send to a bare address.
pub(crate) async fn message(
    workspace: WorkspaceId,
    channel: &str,
    user: Option<&str>,
) -> Reference {
    let id = MessageId::mint(Clock::system().now());
    let (channel, user) = (channel.to_owned(), user.map(|user| user.parse::<UserId>().unwrap()));
    let db = server().db();
    server()
        .on(async move {
            let purpose = if user.is_some() { "transactional" } else { "test" };
            sqlx::query(
                "insert into message (workspace_id, id, purpose, user_id, channel, status, provider_id,
                     created_at, sent_at)
                 values ($1, $2, $3, $4, $5, 'sent', $6, now(), now())",
            )
            .bind(workspace.uuid())
            .bind(id.uuid())
            .bind(purpose)
            .bind(user.map(|user| user.bytes().to_vec()))
            .bind(channel)
            .bind(format!("p-{id}"))
            .execute(&db)
            .await
            .unwrap();
        })
        .await;
    Reference { workspace, message: id }
}

/// Recorded events of a message, each a line of kind, label and code; waits until there are `count`.
pub(crate) async fn recorded(reference: Reference, count: usize) -> Vec<String> {
    eventually("the recorded events can be read", async || {
        let lines = lines(reference).await;
        assert!(lines.len() <= count, "{lines:?}");
        (lines.len() == count).then_some(lines)
    })
    .await
}

async fn lines(reference: Reference) -> Vec<String> {
    server()
        .with(|app| async move {
            let query = app.analytics().client().query(
                "SELECT trimRight(concat(toString(type), ' ', label, if(label = '', '', ' '), code)) AS line
                 FROM message_events FINAL
                 WHERE workspace_id = ? AND message_id = ? ORDER BY line",
            );
            let ids = (reference.workspace.uuid(), reference.message.uuid());
            let query = query.bind(ids.0.to_string()).bind(ids.1.to_string());
            query.fetch_all::<String>().await.unwrap()
        })
        .await
}

/// A contact's consent on a channel.
pub(crate) async fn consent(workspace: &Workspace, user: &str, channel: &str) -> Value {
    let path = format!("/subscriptions/contacts/{user}");
    workspace.api.get(path, 200).await.json()["channels"][channel].clone()
}

/// A contact's history: action, source and actor of each entry, newest first.
pub(crate) async fn history(workspace: &Workspace, user: &str) -> Vec<String> {
    let path = format!("/subscriptions/contacts/{user}/history");
    let page = workspace.api.get(path, 200).await.json();
    let entries = page["items"].as_array().unwrap_or_else(|| panic!("{page}"));
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    entries
        .iter()
        .map(|e| format!("{} {} {}", text(e, "action"), text(e, "source"), text(e, "actor")))
        .collect()
}

/// What a ledger says of an identifier: reason and source; empty where nothing.
pub(crate) async fn suppressed(workspace: &Workspace, channel: &str, identifier: &str) -> String {
    let identifier = identifier.replace('+', "%2B");
    let path = format!("/suppressions/{identifier}?channel={channel}");
    let row = workspace.api.get(path, 200).await.json();
    let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
    format!("{} {}", text("reason"), text("source")).trim().to_owned()
}

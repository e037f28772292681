//! Apple Push Notification service:
//! https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use bytes::Bytes;
use http::{Request, StatusCode, header};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use kernel::{Clock, Timestamp};
use parking_lot::Mutex;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{
    config::ApnsSettings,
    push::{Pushed, TTL_SECONDS_DEFAULT, base, key, timeout},
};
use crate::{
    client::{Answer, Client, Fault},
    each,
    model::{Device, Outcome, Outgoing, PushContent},
};

/// Milliseconds a token is used: Apple believes one for an hour.
const TOKEN_MS_MAX: i64 = 50 * 60 * 1_000;
/// Milliseconds a token is used at least: Apple refuses who changes it more often.
const TOKEN_MS_MIN: i64 = 20 * 60 * 1_000;
const COLLAPSE_ID_BYTES_MAX: usize = 64;

pub(super) struct Apns {
    url: String,
    topic: String,
    timeout: std::time::Duration,
    team_id: String,
    header: Header,
    key: EncodingKey,
    token: Mutex<Option<Token>>,
    /// Whether a device took a message since the start: then its address, key and topic are those of the
    /// app, and a token that is none is the device's fault.
    is_proven: AtomicBool,
    client: Client,
    clock: Clock,
}

#[derive(Clone)]
struct Token {
    text: String,
    made: Timestamp,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    iat: i64,
}

#[derive(Deserialize)]
struct Refused {
    reason: String,
}

impl Apns {
    pub(super) fn new(
        settings: ApnsSettings,
        client: Client,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let key = key("key", settings.key, settings.key_file.as_deref())?;
        let key = EncodingKey::from_ec_pem(key.expose_secret().as_bytes()).map_err(|_| {
            anyhow::anyhow!("`key` must be the text of a .p8 file: an EC key in PEM")
        })?;
        let header = Header { kid: Some(settings.key_id), ..Header::new(Algorithm::ES256) };
        let apns = Self {
            url: format!("{}/3/device/", base(&settings.url)),
            topic: settings.topic,
            timeout: timeout(settings.timeout_seconds),
            team_id: settings.team_id,
            header,
            key,
            token: Mutex::new(None),
            is_proven: AtomicBool::new(false),
            client,
            clock,
        };
        apns.sign(apns.clock.now()).context("`key` does not sign")?;
        Ok(apns)
    }

    pub(super) async fn push(
        &self,
        message: &Outgoing,
        content: &PushContent,
        device: &Device,
    ) -> Pushed {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric();
        if device.token.is_empty() || !device.token.bytes().all(is_token) {
            let outcome = each::refused("BadDeviceToken", "the device's token is none of Apple's");
            return Pushed { outcome, is_gone: true };
        }
        let Ok(mut token) = self.token(None) else {
            return each::refused("key", "the key does not sign").into();
        };
        let mut answer = self.call(message, content, device, &token.text).await;
        if answer.as_ref().is_ok_and(|answer| reason(answer) == "ExpiredProviderToken")
            && let Ok(fresh) = self.token(Some(&token))
        {
            token = fresh;
            answer = self.call(message, content, device, &token.text).await;
        }
        match answer {
            Ok(answer) => self.pushed(&answer),
            Err(fault) => fault.once().into(),
        }
    }

    async fn call(
        &self,
        message: &Outgoing,
        content: &PushContent,
        device: &Device,
        token: &str,
    ) -> Result<Answer, Fault> {
        let now = self.clock.now();
        let expires = match content.ttl_seconds.unwrap_or(TTL_SECONDS_DEFAULT) {
            0 => 0,
            seconds => now.millis() / 1_000 + i64::from(seconds),
        };
        let mut request = Request::post(format!("{}{}", self.url, device.token))
            .header(header::AUTHORIZATION, format!("bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .header("apns-topic", &self.topic)
            .header("apns-push-type", "alert")
            .header("apns-id", notification_id(message, device).to_string())
            .header("apns-priority", if content.high_priority { "10" } else { "5" })
            .header("apns-expiration", expires.to_string());
        if let Some(key) = &content.collapse_key {
            request = request.header("apns-collapse-id", collapse_id(key));
        }
        let body = Bytes::from(payload(message, content).to_string());
        let request = request.body(body).map_err(|error| Fault {
            code: "connection",
            reason: error.to_string(),
            was_sent: false,
        })?;
        self.client.call(request, self.timeout).await
    }

    fn pushed(&self, answer: &Answer) -> Pushed {
        if answer.status.is_success() {
            self.is_proven.store(true, Ordering::Release);
            let id = answer.headers.get("apns-id").and_then(|id| id.to_str().ok());
            let provider_id = id.map(str::to_owned);
            return Outcome::Accepted { provider_id, is_delivered: true }.into();
        }
        let reason = reason(answer);
        let is_gone = answer.status == StatusCode::GONE
            || (reason == "BadDeviceToken" && self.is_proven.load(Ordering::Acquire));
        let code = if reason.is_empty() { answer.status.as_str() } else { reason.as_str() };
        let outcome = match reason.as_str() {
            // Another process changed it; or it is too early to.
            "ExpiredProviderToken" => Outcome::Retry {
                code: code.to_owned(),
                reason: "the token by which Apple knows us has expired".to_owned(),
                after: None,
            },
            _ => answer.refusal(code.to_owned(), &answer.text(), self.clock.now()),
        };
        Pushed { outcome, is_gone }
    }

    /// The token by which Apple knows us; another than `stale` unless that is too young to be changed.
    fn token(&self, stale: Option<&Token>) -> jsonwebtoken::errors::Result<Token> {
        let mut kept = self.token.lock();
        let now = self.clock.now();
        let age_max = |token: &Token| match stale {
            Some(stale) if stale.text == token.text => TOKEN_MS_MIN,
            _ => TOKEN_MS_MAX,
        };
        if let Some(token) = &*kept
            && (0..age_max(token)).contains(&(now.millis() - token.made.millis()))
        {
            return Ok(token.clone());
        }
        let token = Token { text: self.sign(now)?, made: now };
        *kept = Some(token.clone());
        Ok(token)
    }

    fn sign(&self, now: Timestamp) -> jsonwebtoken::errors::Result<String> {
        let claims = Claims { iss: &self.team_id, iat: now.millis() / 1_000 };
        jsonwebtoken::encode(&self.header, &claims, &self.key)
    }
}

impl std::fmt::Debug for Apns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Apns").field("topic", &self.topic).finish_non_exhaustive()
    }
}

fn reason(answer: &Answer) -> String {
    answer.json::<Refused>().map(|refused| refused.reason).unwrap_or_default()
}

/// The notification's id: of the message at this device, the same on every try.
fn notification_id(message: &Outgoing, device: &Device) -> Uuid {
    let hash = Sha256::new()
        .chain_update(message.id.uuid().as_bytes())
        .chain_update(device.token.as_bytes())
        .finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// A key as Apple takes it: as it is, or its hash where it is too long or no header's.
pub(super) fn collapse_id(key: &str) -> String {
    let is_plain = key.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if is_plain && key.len() <= COLLAPSE_ID_BYTES_MAX {
        key.to_owned()
    } else {
        hex::encode(Sha256::digest(key.as_bytes()))
    }
}

/// The notification: what the system shows under `aps`, what the app gets beside it.
fn payload(message: &Outgoing, content: &PushContent) -> Value {
    let mut alert = json!({ "body": content.body });
    if let Some(title) = &content.title {
        alert["title"] = json!(title);
    }
    let mut aps = json!({ "alert": alert, "sound": "default" });
    let mut payload = content.data.clone();
    payload.insert("messageId".to_owned(), json!(message.id));
    for (name, value) in
        [("deepLink", &content.deep_link), ("image", &content.image), ("icon", &content.icon)]
    {
        if let Some(value) = value {
            payload.insert(name.to_owned(), json!(value));
        }
    }
    if content.image.is_some() {
        // The app fetches the picture before it is shown.
        aps["mutable-content"] = json!(1);
    }
    payload.insert("aps".to_owned(), aps);
    Value::Object(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collapse_key_fits_apples_header() {
        let longest = "x".repeat(COLLAPSE_ID_BYTES_MAX);
        for key in ["news", "two words", longest.as_str()] {
            assert_eq!(collapse_id(key), key);
        }
        for key in ["é", "a\nb", &format!("{longest}x")] {
            assert_eq!(collapse_id(key), hex::encode(Sha256::digest(key)));
            assert!(collapse_id(key).len() <= COLLAPSE_ID_BYTES_MAX);
        }
    }
}

//! The push services of browsers (RFC 8030): messages are encrypted for the browser, which alone can read
//! them, and the service knows us by a key of ours.
//!
//! The browser's service worker gets JSON: `messageId`, `title`, `body`, `icon`, `image`, `deepLink`, `data`.

mod encrypt;
mod vapid;

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose},
};
use bytes::Bytes;
use http::{Request, StatusCode, header};
use kernel::{Clock, MessageId};
use secrecy::ExposeSecret as _;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use url::Url;

use self::{encrypt::Subscription, vapid::Vapid};
use super::{
    config::WebPushSettings,
    push::{Pushed, TTL_SECONDS_DEFAULT, key, timeout},
};
use crate::{
    client::{Client, REFUSED},
    each,
    model::{Device, Outcome, Outgoing, PushContent},
    webhook::Reach,
};

/// Characters of `Topic`: RFC 8030 5.4.
const TOPIC_CHARS_MAX: usize = 32;

/// Base64url, padded or not: browsers and libraries write it both ways.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Sends by the push services of browsers.
#[derive(Debug)]
pub(super) struct WebPush {
    timeout: std::time::Duration,
    vapid: Vapid,
    client: Client,
    reach: Reach,
    clock: Clock,
}

/// What the service worker gets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Payload<'a> {
    message_id: MessageId,
    #[serde(flatten)]
    notification: Notification<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Notification<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    body: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deep_link: Option<&'a str>,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    data: &'a serde_json::Map<String, serde_json::Value>,
}

impl WebPush {
    pub(super) fn new(
        settings: WebPushSettings,
        client: Client,
        reach: Reach,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let key = key("vapid_key", settings.vapid_key, settings.vapid_key_file.as_deref())?;
        Ok(Self {
            timeout: timeout(settings.timeout_seconds),
            vapid: Vapid::new(key.expose_secret(), settings.subject)?,
            client,
            reach,
            clock,
        })
    }

    pub(super) async fn push(
        &self,
        message: &Outgoing,
        content: &PushContent,
        device: &Device,
    ) -> Pushed {
        let request = match self.request(message, content, device) {
            Ok(request) => request,
            Err(pushed) => return pushed,
        };
        let answer = match self.client.call(request, self.timeout).await {
            Ok(answer) => answer,
            Err(fault) if fault.code == REFUSED => {
                return each::refused("forbidden_target", &fault.reason).into();
            }
            Err(fault) => return fault.once().into(),
        };
        if answer.status.is_success() {
            let location = answer.headers.get(header::LOCATION);
            let provider_id = location.and_then(|at| at.to_str().ok()).map(str::to_owned);
            return Outcome::Accepted { provider_id, is_delivered: true }.into();
        }
        let code = answer.status.as_str().to_owned();
        Pushed {
            outcome: answer.refusal(code, &answer.text(), self.clock.now()),
            is_gone: matches!(answer.status, StatusCode::NOT_FOUND | StatusCode::GONE),
        }
    }

    /// The request for a subscription, or why there can be none.
    fn request(
        &self,
        message: &Outgoing,
        content: &PushContent,
        device: &Device,
    ) -> Result<Request<Bytes>, Pushed> {
        let gone =
            |reason| Pushed { outcome: each::refused("subscription", reason), is_gone: true };
        let subscription = Subscription::read(device)
            .ok_or_else(|| gone("the keys of the subscription are none"))?;
        let endpoint = Url::parse(&device.token).ok().filter(Url::has_host);
        let endpoint = endpoint.ok_or_else(|| gone("the endpoint of the subscription is none"))?;
        // Any caller may register a device, so its endpoint is checked like the URL of a webhook.
        let checked = self.reach.check(&endpoint);
        checked.map_err(|reason| Pushed::from(each::refused("forbidden_target", &reason)))?;
        if endpoint.scheme() != "https" && self.reach == Reach::Public {
            return Err(gone("the endpoint of the subscription is no https address"));
        }
        let payload = payload(message, content);
        let Some(body) = encrypt::encrypt(&payload, &subscription) else {
            let reason = format!(
                "{} bytes are more than the {} that fit",
                payload.len(),
                encrypt::PLAIN_BYTES_MAX
            );
            return Err(each::refused("too_large", &reason).into());
        };
        let credentials = (self.vapid.credentials(&endpoint, self.clock.now()))
            .ok_or_else(|| Pushed::from(each::refused("vapid_key", "the key does not sign")))?;
        let ttl = content.ttl_seconds.unwrap_or(TTL_SECONDS_DEFAULT);
        let mut request = Request::post(endpoint.as_str())
            .header(header::AUTHORIZATION, credentials)
            .header(header::CONTENT_TYPE, "application/octet-stream")
            .header(header::CONTENT_ENCODING, "aes128gcm")
            .header("TTL", ttl.to_string())
            .header("Urgency", if content.high_priority { "high" } else { "normal" });
        if let Some(key) = &content.collapse_key {
            request = request.header("Topic", topic(key));
        }
        request
            .body(Bytes::from(body))
            .map_err(|_| gone("the endpoint of the subscription is none"))
    }
}

fn payload(message: &Outgoing, content: &PushContent) -> Vec<u8> {
    let notification = Notification {
        title: content.title.as_deref(),
        body: &content.body,
        icon: content.icon.as_deref(),
        image: content.image.as_deref(),
        deep_link: content.deep_link.as_deref(),
        data: &content.data,
    };
    serde_json::to_vec(&Payload { message_id: message.id, notification })
        .expect("texts and JSON are written as JSON")
}

/// A key as the services take it: as it is, or its hash where it is too long or of other characters.
fn topic(key: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !key.is_empty() && key.len() <= TOPIC_CHARS_MAX && key.bytes().all(is_plain) {
        return key.to_owned();
    }
    let hash = Sha256::digest(key.as_bytes());
    // 24 bytes are 32 characters.
    general_purpose::URL_SAFE_NO_PAD.encode(&hash[..24])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collapse_key_fits_the_topic() {
        let longest = "x".repeat(TOPIC_CHARS_MAX);
        for key in ["news", "a-b_c", longest.as_str()] {
            assert_eq!(topic(key), key);
        }
        for key in ["", "two words", "é", &format!("{longest}x")] {
            let topic = topic(key);
            assert_eq!(topic.len(), TOPIC_CHARS_MAX);
            assert_ne!(topic, key);
            assert!(BASE64URL.decode(&topic).is_ok());
        }
    }
}

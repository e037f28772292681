//! The push services of browsers: payloads are decrypted with the browser's key.

use std::sync::Arc;

use aws_lc_rs::{aead, hkdf};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use p256::{PublicKey, SecretKey, ecdh::diffie_hellman, elliptic_curve::sec1::ToEncodedPoint as _};
use providers::{
    Provider,
    model::{Device, Outcome, Platform, PushContent},
};
use serde_json::{Value, json};

use super::{
    NOW, TIMEOUT_SECONDS,
    push::{native, send, to, whole},
    simulator::{Reply, Seen, Simulator},
};

const SECRET: &str = "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk";
const AUTH: [u8; 16] = [3; 16];

/// A browser and its push service.
pub(super) struct Browser {
    pub(super) simulator: Simulator,
    secret: SecretKey,
}

impl Browser {
    pub(super) async fn start(
        respond: impl Fn(&Seen) -> Reply + Clone + Send + Sync + 'static,
    ) -> Self {
        let simulator = Simulator::start(move |request| {
            if is_right(request) { respond(request) } else { Reply::text(400, "bad request") }
        })
        .await;
        Self { simulator, secret: SecretKey::from_slice(&[5; 32]).unwrap() }
    }

    pub(super) fn settings() -> Vec<(String, String)> {
        let named = |name: &str, value: &str| {
            (format!("MILLRACE_CHANNELS__PUSH__WEB_PUSH__{name}"), value.to_owned())
        };
        vec![
            ("MILLRACE_SECURITY__ALLOW_PRIVATE_WEBHOOK_TARGETS".to_owned(), "true".to_owned()),
            named("VAPID_KEY", SECRET),
            named("SUBJECT", "mailto:ops@example.test"),
            named("TIMEOUT_SECONDS", TIMEOUT_SECONDS),
        ]
    }

    fn provider() -> Arc<dyn Provider> {
        let variables = Self::settings();
        let variables: Vec<_> = variables.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        native(&variables)
    }

    /// A subscription at this path of the service.
    pub(super) fn device(&self, path: &str) -> Device {
        let key = self.secret.public_key().to_encoded_point(false);
        Device {
            token: format!("{}/push/{path}", self.simulator.url),
            platform: Platform::Web,
            p256dh: Some(URL_SAFE_NO_PAD.encode(key.as_bytes())),
            auth: Some(URL_SAFE_NO_PAD.encode(AUTH)),
        }
    }

    /// Reads a message as a browser does: RFC 8291 and RFC 8188.
    fn read(&self, body: &[u8]) -> Vec<u8> {
        let (salt, rest) = body.split_at(16);
        let (size, rest) = rest.split_at(4);
        assert_eq!(u32::from_be_bytes(size.try_into().unwrap()), 4_096);
        assert_eq!(rest[0], 65);
        let (theirs, record) = rest[1..].split_at(65);
        let sender = PublicKey::from_sec1_bytes(theirs).unwrap();
        let shared = diffie_hellman(self.secret.to_nonzero_scalar(), sender.as_affine());
        let ours = self.secret.public_key().to_encoded_point(false);
        let derive = |salt: &[u8], secret: &[u8], info: &[&[u8]], bytes: usize| {
            let mut derived = [0; 32];
            let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, salt);
            let pseudorandom = salt.extract(secret);
            pseudorandom.expand(info, hkdf::HKDF_SHA256).unwrap().fill(&mut derived).unwrap();
            derived[..bytes].to_vec()
        };
        let info: [&[u8]; 3] = [b"WebPush: info\0", ours.as_bytes(), theirs];
        let material = derive(&AUTH, shared.raw_secret_bytes(), &info, 32);
        let key = derive(salt, &material, &[b"Content-Encoding: aes128gcm\0"], 16);
        let nonce = derive(salt, &material, &[b"Content-Encoding: nonce\0"], 12);
        let key = aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_128_GCM, &key).unwrap());
        let nonce = aead::Nonce::try_assume_unique_for_key(&nonce).unwrap();
        let mut record = record.to_vec();
        let plain = key.open_in_place(nonce, aead::Aad::empty(), &mut record).unwrap();
        assert_eq!(plain.last(), Some(&2), "the delimiter of the last record");
        plain[..plain.len() - 1].to_vec()
    }
}

/// Whether a request follows RFC 8030 with a valid VAPID signature (RFC 8292).
fn is_right(request: &Seen) -> bool {
    let authorization = request.header("authorization").unwrap_or_default();
    let Some((token, key)) =
        authorization.strip_prefix("vapid t=").and_then(|rest| rest.split_once(", k="))
    else {
        return false;
    };
    let secret = SecretKey::from_slice(&URL_SAFE_NO_PAD.decode(SECRET).unwrap()).unwrap();
    let public = secret.public_key().to_encoded_point(false);
    let mut validation = Validation::new(Algorithm::ES256);
    validation.validate_aud = false;
    validation.validate_exp = false;
    let decoded = jsonwebtoken::decode::<Value>(
        token,
        &DecodingKey::from_ec_der(public.as_bytes()),
        &validation,
    );
    let host = request.header("host").unwrap_or_default();
    URL_SAFE_NO_PAD.decode(key).unwrap() == public.as_bytes()
        && decoded.is_ok_and(|decoded| {
            let lasts = decoded.claims["exp"].as_i64().unwrap() * 1_000 - NOW.millis();
            decoded.claims["aud"] == format!("http://{host}")
                && decoded.claims["sub"] == "mailto:ops@example.test"
                && (1..=86_400_000).contains(&lasts)
        })
        && request.method == "POST"
        && request.header("content-encoding") == Some("aes128gcm")
        && request.header("ttl").is_some_and(|ttl| ttl.parse::<u32>().is_ok())
        && request.body.len() <= 4_096
}

#[tokio::test]
async fn web_push_payloads_are_encrypted_for_the_subscription() {
    let browser =
        Browser::start(|_| Reply::text(201, "").with("location", "https://push.test/m/1")).await;
    let provider = Browser::provider();
    let message = to(whole(), &[browser.device("1")]);
    let id = message.id;
    let accepted = Outcome::Accepted {
        provider_id: Some("https://push.test/m/1".to_owned()),
        is_delivered: true,
    };
    assert_eq!(send(&*provider, message).await.outcome, accepted);
    let seen = browser.simulator.seen().pop().unwrap();
    assert_eq!(seen.path, "/push/1");
    for (name, value) in [("ttl", "3600"), ("urgency", "high"), ("topic", "sale")] {
        assert_eq!(seen.header(name), Some(value));
    }
    let read: Value = serde_json::from_slice(&browser.read(&seen.body)).unwrap();
    assert_eq!(
        read,
        json!({
            "messageId": id, "title": "Sale", "body": "Today only", "icon": "ic_bell",
            "image": "https://x.test/a.png", "deepLink": "https://x.test/sale",
            "data": { "sku": "A-1", "n": 5, "deep": { "a": [1] } },
        })
    );
    let plain = PushContent { body: "Grüße".to_owned(), ..PushContent::default() };
    send(&*provider, to(plain, &[browser.device("1")])).await;
    let seen = browser.simulator.seen().pop().unwrap();
    assert_eq!((seen.header("ttl"), seen.header("topic")), (Some("2419200"), None));
    let read: Value = serde_json::from_slice(&browser.read(&seen.body)).unwrap();
    assert_eq!(read["body"], "Grüße");
}

#[tokio::test]
async fn each_push_service_answer_maps_to_an_outcome_for_the_subscription() {
    let browser = Browser::start(|request| match request.path.rsplit('/').next().unwrap() {
        "0" => Reply::never(),
        "429" => Reply::text(429, "slow").with("retry-after", "Sun, 01 Mar 2026 12:00:10 GMT"),
        status => Reply::text(status.parse().unwrap(), "in\nwords"),
    })
    .await;
    let provider = Browser::provider();
    for (status, is_retried, is_gone) in [
        ("404", false, true),
        ("410", false, true),
        ("400", false, false),
        ("401", false, false),
        ("403", false, false),
        ("413", false, false),
        ("429", true, false),
        ("500", true, false),
        ("503", true, false),
    ] {
        let device = browser.device(status);
        let sent = send(&*provider, to(whole(), std::slice::from_ref(&device))).await;
        match sent.outcome {
            Outcome::Retry { code, after, .. } if is_retried => {
                assert_eq!(code, status);
                let expected = (status == "429").then(|| std::time::Duration::from_secs(10));
                assert_eq!(after, expected);
            }
            Outcome::Rejected { code, reason, effect: None } if !is_retried => {
                assert_eq!((code.as_str(), reason.as_str()), (status, "in words"));
            }
            other => panic!("{status}: {other:?}"),
        }
        assert_eq!(sent.gone, if is_gone { vec![device] } else { Vec::new() }, "{status}");
    }
    let sent = send(&*provider, to(whole(), &[browser.device("0")])).await;
    assert!(matches!(sent.outcome, Outcome::Unknown { .. }));
}

#[tokio::test]
async fn invalid_subscriptions_and_oversized_payloads_are_not_sent() {
    let browser = Browser::start(|_| Reply::text(201, "")).await;
    let provider = Browser::provider();
    let right = browser.device("1");
    for device in [
        Device { p256dh: Some("AAAA".to_owned()), ..right.clone() },
        Device { auth: Some("AAAA".to_owned()), ..right.clone() },
        Device { token: "no address".to_owned(), ..right.clone() },
    ] {
        let sent = send(&*provider, to(whole(), std::slice::from_ref(&device))).await;
        assert!(matches!(sent.outcome, Outcome::Rejected { code, .. } if code == "subscription"));
        assert_eq!(sent.gone, [device]);
    }
    let long = PushContent { body: "x".repeat(4_000), ..PushContent::default() };
    let sent = send(&*provider, to(long, std::slice::from_ref(&right))).await;
    assert!(matches!(sent.outcome, Outcome::Rejected { code, .. } if code == "too_large"));
    assert_eq!(browser.simulator.seen().len(), 0);
}

#[tokio::test]
async fn a_forged_subscription_endpoint_cannot_reach_internal_addresses() {
    let browser = Browser::start(|_| Reply::text(201, "")).await;
    let variables = Browser::settings();
    let variables: Vec<_> = variables.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let provider = native(&variables[1..]);
    let there = browser.device("1");
    let by_name = Device { token: there.token.replace("127.0.0.1", "localhost"), ..there.clone() };
    for device in [there, by_name] {
        let device = Device { token: device.token.replace("http://", "https://"), ..device };
        let sent = send(&*provider, to(whole(), &[device])).await;
        assert!(
            matches!(&sent.outcome, Outcome::Rejected { code, .. } if code == "forbidden_target"),
            "{sent:?}"
        );
        assert_eq!(sent.gone, []);
    }
    assert_eq!(browser.simulator.seen().len(), 0);
}

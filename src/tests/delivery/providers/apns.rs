//! Apple Push Notification service, over TLS and HTTP/2.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use campaigns::model::message::MessageChannel;
use hyper_util::{rt::TokioExecutor, rt::TokioIo, service::TowerToHyperService};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use kernel::{Clock, ClockHand};
use p256::elliptic_curve::sec1::ToEncodedPoint as _;
use providers::{
    Provider, Providers,
    model::{Outcome, Platform, PushContent},
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use serde_json::{Value, json};
use tokio_rustls::TlsAcceptor;
use uuid::Uuid;

use super::{
    NOW, TIMEOUT_SECONDS,
    push::{device, ec_key, send, to, whole},
    settings,
    simulator::{Reply, Seen, Simulator, router},
    vault,
};

/// Apple: a server of HTTP/2 alone, which refuses a token on demand.
pub(super) struct Apple {
    pub(super) simulator: Simulator,
    expired: Arc<Mutex<Option<String>>>,
    /// In which its certificate is trusted.
    authority: tempfile::NamedTempFile,
}

impl Apple {
    pub(super) async fn start() -> Self {
        let pem = include_str!("localhost.pem");
        let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap();
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let tls = TlsAcceptor::from(Arc::new(tls));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let (seen, expired) = (Arc::default(), Arc::<Mutex<Option<String>>>::default());
        let refused = Arc::clone(&expired);
        let service =
            router(&seen, move |request| apns(request, refused.lock().unwrap().as_deref()));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (tls, service) = (tls.clone(), service.clone());
                tokio::spawn(async move {
                    let Ok(stream) = tls.accept(stream).await else { return };
                    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
                    drop(connection.await);
                });
            }
        });
        let authority = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(authority.path(), pem).unwrap();
        Self { simulator: Simulator::at(url, seen), expired, authority }
    }

    pub(super) fn settings(&self) -> Vec<(String, String)> {
        let named = |name: &str, value: &str| {
            (format!("MILLRACE_CHANNELS__PUSH__APNS__{name}"), value.to_owned())
        };
        let authority = self.authority.path().to_str().unwrap().to_owned();
        vec![
            ("MILLRACE_SECURITY__CA_FILE".to_owned(), authority),
            named("URL", &self.simulator.url),
            named("TEAM_ID", "TEAM"),
            named("KEY_ID", "KEY"),
            named("TOPIC", "test.shop"),
            named("KEY", &ec_key().1),
            named("TIMEOUT_SECONDS", TIMEOUT_SECONDS),
        ]
    }

    fn provider(&self) -> (Arc<dyn Provider>, ClockHand) {
        let (clock, hand) = Clock::fixed(NOW);
        let variables = self.settings();
        let mut variables: Vec<_> =
            variables.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        variables.push(("MILLRACE_CHANNELS__PUSH__PROVIDER", "native"));
        let providers = Providers::from_settings(&settings(&variables), vault(), clock).unwrap();
        (providers.of(MessageChannel::Push).unwrap(), hand)
    }

    /// The tokens of the devices that messages came for.
    pub(super) fn tokens(&self) -> Vec<String> {
        let token = |seen: Seen| seen.path.strip_prefix("/3/device/").unwrap().to_owned();
        self.simulator.seen().into_iter().map(token).collect()
    }
}

/// Answers as APNs does, by the device's token.
fn apns(request: &Seen, expired: Option<&str>) -> Reply {
    let refusal = |status: u16, reason: &str| Reply::json(status, &json!({ "reason": reason }));
    let Some(device) = request.path.strip_prefix("/3/device/") else {
        return refusal(404, "BadPath");
    };
    let jwt = request.header("authorization").and_then(|value| value.strip_prefix("bearer "));
    let Some(jwt) = jwt else { return refusal(403, "MissingProviderToken") };
    let key = ec_key().0.public_key().to_encoded_point(false);
    let mut validation = Validation::new(Algorithm::ES256);
    validation.validate_exp = false;
    validation.required_spec_claims.clear();
    let token =
        jsonwebtoken::decode::<Value>(jwt, &DecodingKey::from_ec_der(key.as_bytes()), &validation);
    let is_right = token.is_ok_and(|token| {
        token.header.kid.as_deref() == Some("KEY")
            && token.claims["iss"] == "TEAM"
            && token.claims["iat"].is_i64()
    });
    if !is_right {
        return refusal(403, "InvalidProviderToken");
    }
    if expired == Some(jwt) {
        return refusal(403, "ExpiredProviderToken");
    }
    if request.header("apns-topic") != Some("test.shop") {
        return refusal(400, "MissingTopic");
    }
    if request.body.len() > 4_096 {
        return refusal(413, "PayloadTooLarge");
    }
    if !request.json()["aps"].is_object() || request.header("apns-push-type") != Some("alert") {
        return refusal(400, "BadMessageId");
    }
    match device {
        "410" => Reply::json(
            410,
            &json!({ "reason": "Unregistered", "timestamp": 1_772_366_400_000_i64 }),
        ),
        "411" => refusal(410, "ExpiredToken"),
        "400" => refusal(400, "BadDeviceToken"),
        "401" => refusal(400, "DeviceTokenNotForTopic"),
        "429" => refusal(429, "TooManyRequests"),
        "500" => refusal(500, "InternalServerError"),
        "503" => refusal(503, "ServiceUnavailable").with("retry-after", "9"),
        "000" => Reply::never(),
        _ => Reply::text(200, "").with("apns-id", request.header("apns-id").unwrap()),
    }
}

#[tokio::test]
async fn a_notification_is_posted_in_apples_format() {
    let apple = Apple::start().await;
    let (provider, _) = apple.provider();
    let message = to(whole(), &[device(Platform::Ios, "aa11")]);
    let sent = send(&*provider, message.clone()).await;
    let seen = apple.simulator.seen().pop().unwrap();
    let id = seen.header("apns-id").unwrap().to_owned();
    assert!(id.parse::<Uuid>().is_ok());
    let accepted = Outcome::Accepted { provider_id: Some(id.clone()), is_delivered: true };
    assert_eq!(sent.outcome, accepted);
    assert_eq!(
        seen.json(),
        json!({
            "aps": { "alert": { "title": "Sale", "body": "Today only" }, "sound": "default", "mutable-content": 1 },
            "sku": "A-1", "n": 5, "deep": { "a": [1] }, "messageId": message.id,
            "deepLink": "https://x.test/sale", "image": "https://x.test/a.png", "icon": "ic_bell",
        })
    );
    let expires = (NOW.millis() / 1_000 + 3_600).to_string();
    for (name, value) in
        [("apns-priority", "10"), ("apns-expiration", &expires), ("apns-collapse-id", "sale")]
    {
        assert_eq!(seen.header(name), Some(value));
    }
    // The same on every try, another at every device.
    send(&*provider, message.clone()).await;
    assert_eq!(apple.simulator.seen()[0].header("apns-id"), Some(id.as_str()));
    let mut other = message;
    other.devices = vec![device(Platform::Ios, "bb22")];
    send(&*provider, other).await;
    assert_ne!(apple.simulator.seen()[0].header("apns-id"), Some(id.as_str()));
    let now_or_never =
        PushContent { ttl_seconds: Some(0), body: "b".to_owned(), ..PushContent::default() };
    send(&*provider, to(now_or_never, &[device(Platform::Ios, "aa11")])).await;
    let seen = apple.simulator.seen().pop().unwrap();
    assert_eq!(seen.header("apns-expiration"), Some("0"));
    assert_eq!((seen.header("apns-priority"), seen.header("apns-collapse-id")), (Some("5"), None));
}

#[tokio::test]
async fn each_push_error_maps_to_an_outcome_for_the_device() {
    let apple = Apple::start().await;
    let (provider, _) = apple.provider();
    let bad = device(Platform::Ios, "400");
    // Before any device took a message it may as well be the settings that are wrong.
    let sent = send(&*provider, to(whole(), std::slice::from_ref(&bad))).await;
    assert_eq!(sent.gone, []);
    let sent = send(&*provider, to(whole(), &[device(Platform::Ios, "aa11")])).await;
    assert!(matches!(sent.outcome, Outcome::Accepted { .. }));
    for (token, code, retry, is_gone) in [
        ("410", "Unregistered", None, true),
        ("411", "ExpiredToken", None, true),
        ("400", "BadDeviceToken", None, true),
        ("401", "DeviceTokenNotForTopic", None, false),
        ("429", "TooManyRequests", Some(None), false),
        ("500", "InternalServerError", Some(None), false),
        ("503", "ServiceUnavailable", Some(Some(Duration::from_secs(9))), false),
        ("../x", "BadDeviceToken", None, true),
        ("", "BadDeviceToken", None, true),
    ] {
        let device = device(Platform::Ios, token);
        let sent = send(&*provider, to(whole(), std::slice::from_ref(&device))).await;
        match (sent.outcome, retry) {
            (Outcome::Retry { code: reported, after, .. }, Some(expected)) => {
                assert_eq!((reported.as_str(), after), (code, expected));
            }
            (Outcome::Rejected { code: reported, effect: None, .. }, None) => {
                assert_eq!(reported, code);
            }
            (other, _) => panic!("{token}: {other:?}"),
        }
        assert_eq!(sent.gone, if is_gone { vec![device] } else { Vec::new() }, "{token}");
    }
    let sent = send(&*provider, to(whole(), &[device(Platform::Ios, "000")])).await;
    assert!(matches!(sent.outcome, Outcome::Unknown { .. }));
    let long = PushContent { body: "x".repeat(4_096), ..whole() };
    let sent = send(&*provider, to(long, &[device(Platform::Ios, "aa11")])).await;
    assert!(matches!(sent.outcome, Outcome::Rejected { code, .. } if code == "PayloadTooLarge"));
}

#[tokio::test]
async fn the_apns_provider_token_is_renewed_within_apples_limits() {
    let apple = Apple::start().await;
    let (provider, hand) = apple.provider();
    let jwts = async || {
        let sent = send(&*provider, to(whole(), &[device(Platform::Ios, "aa11")])).await;
        let jwts: Vec<_> = (apple.simulator.seen().iter())
            .map(|seen| seen.header("authorization").unwrap()["bearer ".len()..].to_owned())
            .collect();
        (sent.outcome, jwts)
    };
    let minutes = |minutes: i64| minutes * 60_000;
    let (_, first) = jwts().await;
    hand.advance_ms(minutes(19));
    // Apple says it has expired, but it is too young to be changed.
    *apple.expired.lock().unwrap() = Some(first[0].clone());
    let (outcome, tried) = jwts().await;
    assert!(matches!(outcome, Outcome::Retry { code, .. } if code == "ExpiredProviderToken"));
    assert!(tried.iter().all(|jwt| *jwt == first[0]));
    hand.advance_ms(minutes(1));
    let (outcome, tried) = jwts().await;
    assert!(matches!(outcome, Outcome::Accepted { .. }));
    assert_eq!(tried.len(), 2, "once with the old one, once with the new");
    assert!(tried[0] == first[0] && tried[1] != first[0]);
    hand.advance_ms(minutes(50) - 1);
    assert_eq!(jwts().await.1, [tried[1].clone()]);
    hand.advance_ms(1);
    assert_ne!(jwts().await.1, [tried[1].clone()]);
}

#[tokio::test]
async fn concurrent_notifications_share_one_connection() {
    let apple = Apple::start().await;
    let (provider, _) = apple.provider();
    let batch: Vec<_> =
        (0..64).map(|n| to(whole(), &[device(Platform::Ios, &format!("aa{n}"))])).collect();
    let sent = provider.send(&batch).await;
    assert!(sent.iter().all(|sent| matches!(sent.outcome, Outcome::Accepted { .. })));
    assert_eq!(apple.simulator.seen().len(), 64);
}

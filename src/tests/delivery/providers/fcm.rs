//! Firebase Cloud Messaging.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use campaigns::model::message::MessageChannel;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use kernel::Clock;
use providers::{
    Provider, Providers,
    model::{Outcome, Platform, PushContent},
};
use serde_json::{Value, json};

use super::{
    NOW, TIMEOUT_SECONDS,
    push::{device, native, send, to, whole},
    settings,
    simulator::{Reply, Seen, Simulator},
    vault,
};

/// The service account's private key, and the public one.
const KEYS: &str = include_str!("service_account.pem");

/// Google: its token endpoint and FCM.
pub(super) struct Google {
    pub(super) simulator: Simulator,
    granted: Arc<AtomicUsize>,
}

fn problem(status: u16, name: &str, details: Value) -> Reply {
    let error =
        json!({ "code": status, "message": "in words", "status": name, "details": [details] });
    Reply::json(status, &json!({ "error": error }))
}

fn fcm_error(status: u16, name: &str, code: &str) -> Reply {
    let kind = "type.googleapis.com/google.firebase.fcm.v1.FcmError";
    problem(status, name, json!({ "@type": kind, "errorCode": code }))
}

impl Google {
    /// A Google whose tokens are `t1`, `t2`, … and which believes the last.
    pub(super) async fn start() -> Self {
        let granted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&granted);
        let simulator = Simulator::start(move |request| match request.path.as_str() {
            "/token" => token(request, &count),
            _ => fcm(request, &format!("Bearer t{}", count.load(Ordering::SeqCst))),
        })
        .await;
        Self { simulator, granted }
    }

    pub(super) fn settings(&self) -> Vec<(String, String)> {
        let account = json!({
            "type": "service_account", "project_id": "shop", "private_key_id": "k1",
            "private_key": KEYS.split_inclusive("-----END PRIVATE KEY-----\n").next().unwrap(),
            "client_email": "push@shop.iam.test", "token_uri": format!("{}/token", self.simulator.url),
        });
        let named =
            |name: &str, value: String| (format!("MILLRACE_CHANNELS__PUSH__FCM__{name}"), value);
        vec![
            named("URL", self.simulator.url.clone()),
            named("SERVICE_ACCOUNT", account.to_string()),
            named("TIMEOUT_SECONDS", TIMEOUT_SECONDS.to_owned()),
        ]
    }

    fn provider(&self) -> Arc<dyn Provider> {
        let variables = self.settings();
        let variables: Vec<_> = variables.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        native(&variables)
    }

    /// The registration tokens of the messages that came.
    pub(super) fn tokens(&self) -> Vec<String> {
        let sends = self.simulator.seen().into_iter().filter(|seen| seen.path != "/token");
        sends.map(|seen| seen.json()["message"]["token"].as_str().unwrap().to_owned()).collect()
    }
}

/// Grants a token to who shows an assertion that the account signed.
fn token(request: &Seen, count: &AtomicUsize) -> Reply {
    let form = request.form();
    let field = |name: &str| {
        form.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    };
    let public = KEYS.split_once("-----END PRIVATE KEY-----\n").unwrap().1;
    let key = DecodingKey::from_rsa_pem(public.as_bytes()).unwrap();
    let mut validation = Validation::new(Algorithm::RS256);
    validation.validate_aud = false;
    validation.validate_exp = false;
    let header = jsonwebtoken::decode_header(field("assertion")).ok();
    let claims = jsonwebtoken::decode::<Value>(field("assertion"), &key, &validation);
    let is_right = field("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        && header.is_some_and(|header| header.kid.as_deref() == Some("k1"))
        && claims.is_ok_and(|token| {
            let claims = token.claims;
            let lasts = claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
            claims["iss"] == "push@shop.iam.test"
                && claims["scope"] == "https://www.googleapis.com/auth/firebase.messaging"
                && claims["aud"].as_str().unwrap().ends_with("/token")
                && lasts == 3_600
        });
    if !is_right {
        return Reply::json(
            400,
            &json!({ "error": "invalid_grant", "error_description": "Invalid JWT" }),
        );
    }
    let number = count.fetch_add(1, Ordering::SeqCst) + 1;
    Reply::json(
        200,
        &json!({ "access_token": format!("t{number}"), "expires_in": 3_599, "token_type": "Bearer" }),
    )
}

/// Answers as FCM does, by the registration token.
fn fcm(request: &Seen, credentials: &str) -> Reply {
    if request.method != "POST" || request.path != "/v1/projects/shop/messages:send" {
        return problem(404, "NOT_FOUND", json!({}));
    }
    if request.header("authorization") != Some(credentials) {
        return problem(401, "UNAUTHENTICATED", json!({}));
    }
    let message = request.json()["message"].clone();
    let is_whole =
        message["data"].as_object().is_some_and(|data| data.values().all(Value::is_string))
            && message["notification"]["body"].is_string();
    if !is_whole {
        return fcm_error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT");
    }
    match message["token"].as_str().unwrap_or_default() {
        "unregistered" => fcm_error(404, "NOT_FOUND", "UNREGISTERED"),
        "malformed" => {
            let kind = "type.googleapis.com/google.rpc.BadRequest";
            let violations = json!([{ "field": "message.token", "description": "Invalid" }]);
            problem(
                400,
                "INVALID_ARGUMENT",
                json!({ "@type": kind, "fieldViolations": violations }),
            )
        }
        "invalid" => fcm_error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT"),
        "foreign" => fcm_error(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH"),
        "busy" => fcm_error(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED").with("retry-after", "30"),
        "down" => fcm_error(503, "UNAVAILABLE", "UNAVAILABLE").with("retry-after", "5"),
        "internal" => Reply::text(500, "oops"),
        "apple" => fcm_error(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR"),
        "silent" => Reply::never(),
        token => Reply::json(200, &json!({ "name": format!("projects/shop/messages/{token}") })),
    }
}

#[tokio::test]
async fn a_notification_contains_only_its_platforms_fields() {
    let google = Google::start().await;
    let provider = google.provider();
    let accepted = |token: &str| Outcome::Accepted {
        provider_id: Some(format!("projects/shop/messages/{token}")),
        is_delivered: true,
    };
    let posted = async |platform, content: PushContent| {
        let message = to(content, &[device(platform, "x")]);
        let id = message.id;
        assert_eq!(send(&*provider, message).await.outcome, accepted("x"));
        let seen = google.simulator.seen().pop().unwrap();
        (id, seen.json()["message"].clone())
    };
    let (id, android) = posted(Platform::Android, whole()).await;
    let notification =
        json!({ "title": "Sale", "body": "Today only", "image": "https://x.test/a.png" });
    let data = json!({
        "sku": "A-1", "n": "5", "deep": "{\"a\":[1]}", "messageId": id, "deepLink": "https://x.test/sale",
    });
    assert_eq!(
        android,
        json!({
            "token": "x", "notification": notification, "data": data,
            "android": { "priority": "HIGH", "ttl": "3600s", "collapse_key": "sale",
                "notification": { "icon": "ic_bell" } },
        })
    );
    let (_, ios) = posted(Platform::Ios, PushContent { ttl_seconds: Some(0), ..whole() }).await;
    assert_eq!(
        ios["apns"],
        json!({
            "headers": { "apns-priority": "10", "apns-expiration": "0", "apns-collapse-id": "sale" },
            "payload": { "aps": { "sound": "default", "mutable-content": 1 } },
        })
    );
    let (_, web) = posted(Platform::Web, whole()).await;
    assert_eq!(
        web["webpush"],
        json!({
            "headers": { "TTL": "3600", "Urgency": "high" },
            "notification": { "icon": "ic_bell" }, "fcm_options": { "link": "https://x.test/sale" },
        })
    );
    let plain = PushContent { body: "b".to_owned(), ..PushContent::default() };
    let (id, android) = posted(Platform::Android, plain).await;
    assert_eq!(
        android,
        json!({
            "token": "x", "notification": { "body": "b" }, "data": { "messageId": id },
            "android": { "priority": "NORMAL", "ttl": "2419200s" },
        })
    );
    assert_eq!(google.granted.load(Ordering::SeqCst), 1, "one token for all of them");
}

#[tokio::test]
async fn each_push_error_maps_to_an_outcome_for_the_device() {
    let google = Google::start().await;
    let provider = google.provider();
    let rejected = |code: &str| Outcome::Rejected {
        code: code.to_owned(),
        reason: "in words".to_owned(),
        effect: None,
    };
    let retry = |code: &str, reason: &str, seconds: Option<u64>| Outcome::Retry {
        code: code.to_owned(),
        reason: reason.to_owned(),
        after: seconds.map(Duration::from_secs),
    };
    for (token, expected, is_gone) in [
        ("unregistered", rejected("UNREGISTERED"), true),
        ("malformed", rejected("INVALID_ARGUMENT"), true),
        ("invalid", rejected("INVALID_ARGUMENT"), false),
        ("foreign", rejected("SENDER_ID_MISMATCH"), false),
        ("apple", rejected("THIRD_PARTY_AUTH_ERROR"), false),
        ("busy", retry("QUOTA_EXCEEDED", "in words", Some(30)), false),
        ("down", retry("UNAVAILABLE", "in words", Some(5)), false),
        ("internal", retry("500", "oops", None), false),
        (
            "silent",
            Outcome::Unknown { reason: "timeout: no answer within 10000 ms".to_owned() },
            false,
        ),
    ] {
        let device = device(Platform::Android, token);
        let sent = send(&*provider, to(whole(), std::slice::from_ref(&device))).await;
        assert_eq!(sent.outcome, expected, "{token}");
        assert_eq!(sent.gone, if is_gone { vec![device] } else { Vec::new() }, "{token}");
    }
    assert_eq!(google.granted.load(Ordering::SeqCst), 1, "none is about the server's own token");
}

#[tokio::test]
async fn expired_or_revoked_google_tokens_are_replaced() {
    let google = Google::start().await;
    let (clock, hand) = Clock::fixed(NOW);
    let variables = google.settings();
    let mut variables: Vec<_> = variables.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    variables.push(("MILLRACE_CHANNELS__PUSH__PROVIDER", "native"));
    let providers = Providers::from_settings(&settings(&variables), vault(), clock).unwrap();
    let provider = providers.of(MessageChannel::Push).unwrap();
    let is_accepted = async || {
        let sent = send(&*provider, to(whole(), &[device(Platform::Android, "x")])).await;
        matches!(sent.outcome, Outcome::Accepted { .. })
    };
    let granted = || google.granted.load(Ordering::SeqCst);
    assert!(is_accepted().await && is_accepted().await);
    assert_eq!(granted(), 1);
    // Google believes another than the one that is kept.
    google.granted.fetch_add(1, Ordering::SeqCst);
    assert!(is_accepted().await);
    assert_eq!(granted(), 3, "asked for once more");
    hand.advance_ms((3_599 - 300) * 1_000 - 1);
    assert!(is_accepted().await);
    assert_eq!(granted(), 3);
    hand.advance_ms(1);
    assert!(is_accepted().await);
    assert_eq!(granted(), 4, "five minutes before its end");
}

#[tokio::test]
async fn concurrent_notifications_request_one_google_token() {
    let google = Google::start().await;
    let provider = google.provider();
    let batch: Vec<_> =
        (0..64).map(|n| to(whole(), &[device(Platform::Android, &format!("d{n}"))])).collect();
    let sent = provider.send(&batch).await;
    assert!(sent.iter().all(|sent| matches!(sent.outcome, Outcome::Accepted { .. })));
    assert_eq!(google.granted.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_refused_google_token_is_the_reason_of_the_failure() {
    for (reply, expected) in [
        (
            Reply::json(
                400,
                &json!({ "error": "invalid_grant", "error_description": "Invalid JWT" }),
            ),
            ("oauth", "invalid_grant: Invalid JWT", false),
        ),
        (Reply::text(503, ""), ("oauth", "503 Service Unavailable", true)),
        (Reply::text(200, "{}"), ("oauth", "the answer to the token's request is none", false)),
    ] {
        let granting = Google::start().await;
        let refusing = Simulator::start(move |_| reply.clone()).await;
        let variables: Vec<_> = (granting.settings().into_iter())
            .map(|(name, value)| (name, value.replace(&granting.simulator.url, &refusing.url)))
            .collect();
        let variables: Vec<_> = variables.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let sent = send(&*native(&variables), to(whole(), &[device(Platform::Android, "x")])).await;
        let reported = match sent.outcome {
            Outcome::Rejected { code, reason, effect: None } => (code, reason, false),
            Outcome::Retry { code, reason, .. } => (code, reason, true),
            other => panic!("{other:?}"),
        };
        assert_eq!((reported.0.as_str(), reported.1.as_str(), reported.2), expected);
        assert_eq!(refusing.seen().len(), 1, "only the token was asked for");
    }
}

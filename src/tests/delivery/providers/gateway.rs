//! Requests to the generic gateway, in the documented format.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    response::{IntoResponse as _, Response},
};
use campaigns::model::message::MessageChannel;
use http::{HeaderMap, StatusCode};
use kernel::{CampaignId, UserId};
use parking_lot::Mutex;
use providers::{
    Provider,
    model::{Content, Device, Outcome, Outgoing, Platform, PushContent, SmsContent},
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{TIMEOUT_SECONDS, WORKSPACE, message, provider_of, send};

/// What a gateway was sent.
#[derive(Debug, Clone, Default)]
struct Calls(Arc<Mutex<Vec<(HeaderMap, Value)>>>);

/// Answers as the recipient says: a status and what else belongs to it.
async fn take(State(calls): State<Calls>, headers: HeaderMap, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let to = body["to"].as_str().unwrap().to_owned();
    calls.0.lock().push((headers, body));
    match to.as_str() {
        "seconds" => {
            (StatusCode::TOO_MANY_REQUESTS, [("Retry-After", "7")], "slow\ndown").into_response()
        }
        "date" => {
            let later = [("Retry-After", "Sun, 01 Mar 2026 12:01:30 GMT")];
            (StatusCode::SERVICE_UNAVAILABLE, later, "away").into_response()
        }
        "broken" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        "refused" => (StatusCode::NOT_FOUND, "no such number ".repeat(10_000)).into_response(),
        "elsewhere" => (StatusCode::FOUND, [("Location", "/sms")]).into_response(),
        "silent" => std::future::pending().await,
        "number" => (StatusCode::CREATED, r#"{"id": 41}"#).into_response(),
        "bare" => StatusCode::NO_CONTENT.into_response(),
        _ => (StatusCode::OK, r#"{"id": "gw-1", "more": true}"#).into_response(),
    }
}

async fn gateway() -> (String, Calls) {
    let calls = Calls::default();
    let router = Router::new().fallback(take).with_state(calls.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}/sms"), calls)
}

fn sms(to: &str) -> Outgoing {
    message(to, Content::Sms(SmsContent { body: "Hällo".to_owned(), ..SmsContent::default() }))
}

fn provider_at(url: &str) -> Arc<dyn Provider> {
    let variables = [
        ("MILLRACE_CHANNELS__SMS__PROVIDER", "http"),
        ("MILLRACE_CHANNELS__SMS__URL", url),
        ("MILLRACE_CHANNELS__SMS__FROM", "Shop"),
        ("MILLRACE_CHANNELS__SMS__HEADERS__X_TENANT", "acme"),
        ("MILLRACE_CHANNELS__SMS__TIMEOUT_SECONDS", TIMEOUT_SECONDS),
    ];
    provider_of(&variables, MessageChannel::Sms)
}

#[tokio::test]
async fn a_gateway_request_has_the_documented_format() {
    let (url, calls) = gateway().await;
    let url = url.replace("http://", "http://us%40er:pass@");
    let mut sent = sms("+4915112345678");
    sent.user = Some(UserId::from_bytes([1; 12]));
    sent.external_id = Some("ann".to_owned());
    sent.campaign = Some(CampaignId::new(Uuid::from_u128(5)));
    sent.variant = Some("a".to_owned());
    let outcome = send(&*provider_at(&url), sent.clone()).await;
    let expected = Outcome::Accepted { provider_id: Some("gw-1".to_owned()), is_delivered: false };
    assert_eq!(outcome, expected);
    let (headers, body) = calls.0.lock().remove(0);
    assert_eq!(
        body,
        json!({
            "messageId": sent.id, "workspace": WORKSPACE, "channel": "sms", "to": "+4915112345678",
            "userId": "010101010101010101010101", "externalId": "ann",
            "campaignId": "00000000-0000-0000-0000-000000000005", "variantId": "a",
            "message": {"body": "Hällo", "from": "Shop"},
        })
    );
    assert_eq!(headers["idempotency-key"], sent.id.to_string());
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["x_tenant"], "acme");
    assert_eq!(headers["authorization"], "Basic dXNAZXI6cGFzcw==");
}

#[tokio::test]
async fn a_push_names_its_devices_or_the_user_when_there_are_none() {
    let (url, calls) = gateway().await;
    let variables = [
        ("MILLRACE_CHANNELS__PUSH__PROVIDER", "http"),
        ("MILLRACE_CHANNELS__PUSH__URL", url.as_str()),
    ];
    let provider = provider_of(&variables, MessageChannel::Push);
    let push = PushContent { body: "Hi".to_owned(), high_priority: true, ..PushContent::default() };
    let mut sent = message("ann", Content::Push(push));
    send(&*provider, sent.clone()).await;
    sent.devices =
        vec![Device { token: "t".to_owned(), platform: Platform::Ios, p256dh: None, auth: None }];
    send(&*provider, sent).await;
    let calls = calls.0.lock();
    assert_eq!((&calls[0].1["to"], calls[0].1.get("devices")), (&json!("ann"), None));
    assert_eq!(calls[1].1["devices"], json!([{"token": "t", "platform": "ios"}]));
}

#[tokio::test]
async fn each_gateway_answer_maps_to_an_outcome() {
    let (url, calls) = gateway().await;
    let provider = provider_at(&url);
    let retry = |code: &str, reason: &str, after: Option<u64>| Outcome::Retry {
        code: code.to_owned(),
        reason: reason.to_owned(),
        after: after.map(Duration::from_secs),
    };
    let taken = |id: Option<&str>| Outcome::Accepted {
        provider_id: id.map(str::to_owned),
        is_delivered: false,
    };
    for (to, expected) in [
        ("ann", taken(Some("gw-1"))),
        ("number", taken(Some("41"))),
        ("bare", taken(None)),
        ("seconds", retry("429", "slow down", Some(7))),
        ("date", retry("503", "away", Some(90))),
        ("broken", retry("500", "", None)),
        ("silent", retry("timeout", "no answer within 10000 ms", None)),
    ] {
        assert_eq!(send(&*provider, sms(to)).await, expected, "{to}");
    }
    for (to, code) in [("refused", "404"), ("elsewhere", "302")] {
        let outcome = send(&*provider, sms(to)).await;
        let Outcome::Rejected { code: got, reason, effect: None } = &outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(got, code);
        assert!(reason.chars().count() <= 1000, "a text is kept within bounds");
    }
    assert_eq!(calls.0.lock().len(), 9, "no redirect is followed");
    let closed = provider_at("http://127.0.0.1:9/sms");
    assert!(
        matches!(send(&*closed, sms("ann")).await, Outcome::Retry { code, .. } if code == "connection")
    );
}

#[tokio::test]
async fn a_batch_is_sent_concurrently_and_answered_in_order() {
    let (url, calls) = gateway().await;
    let provider = provider_at(&url);
    let names = ["ann", "silent", "refused", "bob"];
    let batch: Vec<_> = (0..provider.batch_max()).map(|n| sms(names[n % 4])).collect();
    let sent = provider.send(&batch).await;
    assert_eq!((sent.len(), calls.0.lock().len()), (batch.len(), batch.len()));
    for (n, sent) in sent.iter().enumerate() {
        let is_as_named = match names[n % 4] {
            "silent" => matches!(sent.outcome, Outcome::Retry { .. }),
            "refused" => matches!(sent.outcome, Outcome::Rejected { .. }),
            _ => matches!(sent.outcome, Outcome::Accepted { .. }),
        };
        assert!(is_as_named, "{n}: {:?}", sent.outcome);
    }
}

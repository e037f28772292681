//! Webhook requests, the outcomes of their answers, and addresses that are never called.

use std::{collections::BTreeMap, sync::Arc};

use axum::{Router, body::Bytes, extract::State, response::IntoResponse as _};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use campaigns::model::message::{Auth, BodyType, MessageChannel, Method, Secret};
use hmac::{Hmac, Mac as _};
use http::{HeaderMap, Method as HttpMethod, StatusCode, Uri};
use parking_lot::Mutex;
use providers::{
    Provider,
    model::{Content, Outcome, WebhookContent},
    signing_secret,
};
use secrecy::ExposeSecret as _;
use serde_json::json;
use sha2::Sha256;

use super::{NOW, WORKSPACE, message, provider_of, send, vault};

#[derive(Debug, Clone)]
struct Call {
    method: HttpMethod,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
}

type Calls = Arc<Mutex<Vec<Call>>>;

async fn take(
    State(calls): State<Calls>,
    method: HttpMethod,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> axum::response::Response {
    let path = uri.path().to_owned();
    calls.lock().push(Call { method, uri, headers, body });
    match path.as_str() {
        "/408" => StatusCode::REQUEST_TIMEOUT.into_response(),
        "/429" => (StatusCode::TOO_MANY_REQUESTS, [("Retry-After", "3")]).into_response(),
        "/500" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        "/410" => (StatusCode::GONE, "gone").into_response(),
        "/302" => (StatusCode::FOUND, [("Location", "/")]).into_response(),
        "/silent" => std::future::pending().await,
        "/endless" => {
            let endless = futures_util::stream::repeat_with(|| {
                Ok::<_, std::convert::Infallible>(Bytes::from_static(&[b'x'; 4096]))
            });
            axum::body::Body::from_stream(endless).into_response()
        }
        _ => StatusCode::OK.into_response(),
    }
}

async fn endpoint() -> (String, Calls) {
    let calls = Calls::default();
    let router = Router::new().fallback(take).with_state(Arc::clone(&calls));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}"), calls)
}

fn content(url: &str) -> WebhookContent {
    WebhookContent {
        url: url.to_owned(),
        method: Method::Post,
        headers: BTreeMap::from([("X-Shop".to_owned(), "acme".to_owned())]),
        body: Some("{\"a\":\"ä\"}".to_owned()),
        body_type: BodyType::Json,
        auth: Auth::None,
        timeout_ms: 10_000,
    }
}

fn open() -> Arc<dyn Provider> {
    let allowed = [("MILLRACE_SECURITY__ALLOW_PRIVATE_WEBHOOK_TARGETS", "true")];
    provider_of(&allowed, MessageChannel::Webhook)
}

async fn call(provider: &dyn Provider, content: WebhookContent) -> Outcome {
    let to = content.url.clone();
    send(provider, message(&to, Content::Webhook(content))).await
}

/// Verifies a call as a receiver does who has been given the workspace's secret.
fn is_signed(call: &Call) -> bool {
    let secret = signing_secret(&vault(), WORKSPACE);
    let key = STANDARD.decode(secret.expose_secret().strip_prefix("whsec_").unwrap()).unwrap();
    let header = |name: &str| call.headers[name].to_str().unwrap().to_owned();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{}.{}.", header("webhook-id"), header("webhook-timestamp")).as_bytes());
    mac.update(&call.body);
    header("webhook-signature") == format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[tokio::test]
async fn a_webhook_request_follows_the_variant_and_is_signed() {
    let (url, calls) = endpoint().await;
    let provider = open();
    let delivered = Outcome::Accepted { provider_id: None, is_delivered: true };
    let first = WebhookContent { method: Method::Patch, ..content(&format!("{url}/x?y=1#z")) };
    assert_eq!(call(&*provider, first).await, delivered);
    let form =
        WebhookContent { body_type: BodyType::Form, body: Some("a=1".to_owned()), ..content(&url) };
    assert_eq!(call(&*provider, form).await, delivered);
    let get = WebhookContent { method: Method::Get, ..content(&url) };
    assert_eq!(call(&*provider, get).await, delivered);
    let calls = calls.lock();
    assert_eq!(
        (&calls[0].method, calls[0].uri.to_string().as_str()),
        (&HttpMethod::PATCH, "/x?y=1")
    );
    assert_eq!(calls[0].body, "{\"a\":\"ä\"}");
    assert_eq!(calls[0].headers["content-type"], "application/json");
    assert_eq!(calls[0].headers["x-shop"], "acme");
    assert_eq!(calls[0].headers["webhook-timestamp"], (NOW.millis() / 1000).to_string());
    assert_eq!(calls[1].headers["content-type"], "application/x-www-form-urlencoded");
    assert_eq!((&calls[2].method, calls[2].body.len()), (&HttpMethod::GET, 0));
    assert!(calls.iter().all(is_signed));
    let mut forged = calls[0].clone();
    forged.body = Bytes::from_static(b"{}");
    assert!(!is_signed(&forged), "the check can fail");
}

#[tokio::test]
async fn webhook_credentials_are_decrypted_only_for_the_request() {
    let (url, calls) = endpoint().await;
    let provider = open();
    let secret = |text: &str| serde_json::from_value::<Secret>(json!(text)).unwrap();
    let sealed = |text: &str| secret(&vault().seal(WORKSPACE, text));
    let username = Some("ann".to_owned());
    for auth in [
        Auth::Bearer { token: Some(sealed("t0ken")) },
        Auth::Basic { username, password: Some(sealed("pä:ss")) },
        Auth::Header { name: Some("X-Key".to_owned()), value: Some(sealed("k")) },
        // As campaigns said it before secrets were sealed.
        Auth::Bearer { token: Some(secret("open")) },
    ] {
        call(&*provider, WebhookContent { auth, ..content(&url) }).await;
    }
    {
        let calls = calls.lock();
        assert_eq!(calls[0].headers["authorization"], "Bearer t0ken");
        let basic = format!("Basic {}", STANDARD.encode("ann:pä:ss"));
        assert_eq!(calls[1].headers["authorization"], basic);
        assert_eq!(calls[2].headers["x-key"], "k");
        assert_eq!(calls[3].headers["authorization"], "Bearer open");
    }
    let foreign = engines::vault::Vault::new("another".into()).seal(WORKSPACE, "t");
    for auth in [Auth::Bearer { token: Some(secret(&foreign)) }, Auth::Bearer { token: None }] {
        let outcome = call(&*provider, WebhookContent { auth, ..content(&url) }).await;
        assert!(matches!(outcome, Outcome::Rejected { code, .. } if code == "invalid_auth"));
    }
    assert_eq!(calls.lock().len(), 4, "nothing is called without its credentials");
}

#[tokio::test]
async fn each_webhook_answer_maps_to_an_outcome() {
    let (url, calls) = endpoint().await;
    let provider = open();
    for (path, again, code) in [
        ("408", true, "408"),
        ("429", true, "429"),
        ("500", true, "500"),
        ("silent", true, "timeout"),
        ("410", false, "410"),
        ("302", false, "302"),
    ] {
        let outcome = call(&*provider, content(&format!("{url}/{path}"))).await;
        let is_as_expected = match &outcome {
            Outcome::Retry { code: got, .. } => again && got == code,
            Outcome::Rejected { code: got, effect: None, .. } => !again && got == code,
            _ => false,
        };
        assert!(is_as_expected, "{path}: {outcome:?}");
    }
    let endless = call(&*provider, content(&format!("{url}/endless"))).await;
    assert!(matches!(endless, Outcome::Accepted { .. }), "an overlong body is not read further");
    assert_eq!(calls.lock().len(), 7);
    let header = BTreeMap::from([("X".to_owned(), "a\r\nHost: b".to_owned())]);
    let split = call(&*provider, WebhookContent { headers: header, ..content(&url) }).await;
    assert!(matches!(split, Outcome::Rejected { code, .. } if code == "invalid_header"));
    assert_eq!(calls.lock().len(), 7);
}

#[tokio::test]
async fn webhooks_do_not_reach_private_addresses() {
    let (url, calls) = endpoint().await;
    let guarded = provider_of(&[], MessageChannel::Webhook);
    let port = url.rsplit(':').next().unwrap();
    for target in [
        url.clone(),
        format!("http://localhost:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://0:{port}/"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://example.test:22/".to_owned(),
    ] {
        let outcome = call(&*guarded, content(&target)).await;
        assert!(
            matches!(&outcome, Outcome::Rejected { code, .. } if code == "forbidden_target"),
            "{target}: {outcome:?}"
        );
    }
    assert!(calls.lock().is_empty());
    assert!(matches!(
        call(&*open(), content("http://169.254.169.254:80/")).await,
        Outcome::Rejected { code, .. } if code == "forbidden_target"
    ));
}

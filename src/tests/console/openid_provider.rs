//! A small OpenID provider: it signs everyone in at once, as the account that a test has set.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use axum::{
    Json, Router,
    extract::{RawQuery, State},
    response::Redirect,
    routing::{get, post},
};
use base64::{Engine as _, prelude::BASE64_STANDARD, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use p256::{elliptic_curve::sec1::ToEncodedPoint as _, pkcs8::EncodePrivateKey as _};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(super) const CLIENT_ID: &str = "millrace";
/// With letters that Basic credentials encode.
pub(super) const CLIENT_SECRET: &str = "p+ss:w%rd";

/// What is wrong with an answer of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Fault {
    #[default]
    None,
    /// A token for another attempt.
    Nonce,
    /// A token for another client.
    Audience,
    /// A token of another provider.
    Issuer,
    /// A token of yesterday.
    Expired,
    /// A token signed with a key that is not published.
    Signature,
    /// A token without a signature.
    Unsigned,
    /// A token whose signature is a hash with the client's password.
    Confused,
    /// An answer without a token.
    Missing,
    /// A UserInfo of another account.
    OtherSubject,
    /// A UserInfo that answers with a failure.
    NoUserInfo,
}

/// Where the provider says which address an account has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AddressAt {
    #[default]
    IdToken,
    UserInfo,
}

/// Who signs in next.
#[derive(Debug, Clone, Default)]
pub(super) struct Account {
    pub(super) subject: String,
    pub(super) email: String,
    pub(super) is_verified: bool,
    pub(super) address_at: AddressAt,
    pub(super) fault: Fault,
}

/// An attempt that waits for its code to be exchanged.
#[derive(Debug, Clone)]
struct Attempt {
    nonce: String,
    challenge: String,
    redirect_uri: String,
}

#[derive(Debug, Clone)]
pub(super) struct Provider(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    issuer: String,
    account: Mutex<Account>,
    attempts: Mutex<HashMap<String, Attempt>>,
    /// The accounts of the access tokens that were given.
    given: Mutex<HashMap<String, Account>>,
    /// What the key that is published and signs tokens is made from; it names the key, too.
    seed: AtomicU8,
}

/// Makes a key that is never published.
const UNPUBLISHED: u8 = 200;

fn key(seed: u8) -> p256::SecretKey {
    p256::SecretKey::from_slice(&[seed; 32]).unwrap()
}

impl Provider {
    pub(super) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let inner = Inner {
            issuer,
            account: Mutex::default(),
            attempts: Mutex::default(),
            given: Mutex::default(),
            seed: AtomicU8::new(1),
        };
        let provider = Self(Arc::new(inner));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/userinfo", get(user_info))
            .with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    pub(super) fn issuer(&self) -> &str {
        &self.0.issuer
    }

    pub(super) fn sign_in_as(&self, account: Account) {
        *self.0.account.lock() = account;
    }

    /// Publishes another key, which signs from now on.
    pub(super) fn rotate_key(&self) {
        self.0.seed.fetch_add(1, Ordering::Relaxed);
    }

    fn id_token(&self, account: &Account, nonce: &str) -> String {
        let now = kernel::Clock::system().now().utc().timestamp();
        let of = |fault: Fault, wrong: &str, right: &str| {
            if account.fault == fault { wrong.to_owned() } else { right.to_owned() }
        };
        let age = if account.fault == Fault::Expired { 86_400 } else { 0 };
        let mut claims = json!({
            "iss": of(Fault::Issuer, "https://other.test", &self.0.issuer),
            "aud": of(Fault::Audience, "other", CLIENT_ID),
            "nonce": of(Fault::Nonce, "other", nonce),
            "sub": account.subject, "iat": now - age, "exp": now - age + 300,
        });
        if account.address_at == AddressAt::IdToken {
            claims["email"] = json!(account.email);
            claims["email_verified"] = json!(account.is_verified);
        }
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        match account.fault {
            Fault::Unsigned => format!("{}.{}.", part(&json!({"alg": "none"})), part(&claims)),
            Fault::Confused => {
                let key = EncodingKey::from_secret(CLIENT_SECRET.as_bytes());
                encode(&Header::new(Algorithm::HS256), &claims, &key).unwrap()
            }
            fault => {
                let seed = self.0.seed.load(Ordering::Relaxed);
                let secret = key(if fault == Fault::Signature { UNPUBLISHED } else { seed });
                let pem = secret.to_pkcs8_pem(p256::pkcs8::LineEnding::LF).unwrap();
                let header =
                    Header { kid: Some(seed.to_string()), ..Header::new(Algorithm::ES256) };
                let key = EncodingKey::from_ec_pem(pem.as_bytes()).unwrap();
                encode(&header, &claims, &key).unwrap()
            }
        }
    }
}

async fn discovery(State(Provider(provider)): State<Provider>) -> Json<Value> {
    let issuer = &provider.issuer;
    Json(json!({
        "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/keys"),
        "userinfo_endpoint": format!("{issuer}/userinfo"),
        "response_types_supported": ["code"], "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }))
}

async fn keys(State(Provider(provider)): State<Provider>) -> Json<Value> {
    let seed = provider.seed.load(Ordering::Relaxed);
    let point = key(seed).public_key().to_encoded_point(false);
    let of =
        |coordinate: Option<&p256::FieldBytes>| BASE64_URL_SAFE_NO_PAD.encode(coordinate.unwrap());
    Json(json!({"keys": [{
        "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": seed.to_string(),
        "x": of(point.x()), "y": of(point.y()),
    }]}))
}

async fn authorize(
    State(Provider(provider)): State<Provider>,
    RawQuery(query): RawQuery,
) -> Redirect {
    let query = query.unwrap_or_default();
    let asked: HashMap<String, String> =
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    assert_eq!((&*asked["response_type"], &*asked["client_id"]), ("code", CLIENT_ID));
    assert_eq!(asked["code_challenge_method"], "S256");
    assert!(asked["scope"].split(' ').any(|it| it == "openid"), "{asked:?}");
    let attempt = Attempt {
        nonce: asked["nonce"].clone(),
        challenge: asked["code_challenge"].clone(),
        redirect_uri: asked["redirect_uri"].clone(),
    };
    let code = crate::kit::unique("code");
    let to = format!("{}?code={code}&state={}", attempt.redirect_uri, asked["state"]);
    provider.attempts.lock().insert(code, attempt);
    Redirect::to(&to)
}

async fn token(
    State(provider): State<Provider>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Json<Value>) {
    let asked: HashMap<_, _> = url::form_urlencoded::parse(&body).into_owned().collect();
    let refused = |error: &str| (StatusCode::BAD_REQUEST, Json(json!({"error": error})));
    let encoded: String = url::form_urlencoded::byte_serialize(CLIENT_SECRET.as_bytes()).collect();
    let credentials = BASE64_STANDARD.encode(format!("{CLIENT_ID}:{encoded}"));
    if headers["authorization"] != format!("Basic {credentials}") {
        return refused("invalid_client");
    }
    let attempt = provider.0.attempts.lock().remove(&asked["code"]);
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&asked["code_verifier"]));
    let fits = |attempt: &Attempt| {
        attempt.challenge == challenge && attempt.redirect_uri == asked["redirect_uri"]
    };
    let Some(attempt) = attempt.filter(fits) else { return refused("invalid_grant") };
    let account = provider.0.account.lock().clone();
    let access = crate::kit::unique("access");
    provider.0.given.lock().insert(access.clone(), account.clone());
    let mut tokens = json!({"access_token": access, "token_type": "Bearer", "expires_in": 300});
    if account.fault != Fault::Missing {
        tokens["id_token"] = json!(provider.id_token(&account, &attempt.nonce));
    }
    (StatusCode::OK, Json(tokens))
}

async fn user_info(
    State(provider): State<Provider>,
    headers: HeaderMap,
) -> (StatusCode, Json<Value>) {
    let token = headers["authorization"].to_str().unwrap().strip_prefix("Bearer ").unwrap();
    let account = provider.0.given.lock()[token].clone();
    let subject = if account.fault == Fault::OtherSubject { "other" } else { &account.subject };
    let claims = json!({
        "sub": subject, "email": account.email, "email_verified": account.is_verified,
    });
    match account.fault {
        Fault::NoUserInfo => (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({}))),
        _ => (StatusCode::OK, Json(claims)),
    }
}

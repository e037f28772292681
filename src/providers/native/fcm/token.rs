//! The access token by which Google knows us: asked for with a JWT that the service account's key signs
//! (RFC 7523), and kept until it is about to expire.

use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::{Request, header};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use kernel::{Clock, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use url::form_urlencoded;

use crate::{
    client::{Answer, Client, Fault},
    model::Outcome,
};

/// What the token is for.
const SCOPE: &str = "https://www.googleapis.com/auth/firebase.messaging";
/// Validity of a JWT: the most that Google allows.
const ASSERTION_VALIDITY: Duration = Duration::from_hours(1);
/// A token is replaced this long before it expires.
const RENEWAL_MARGIN: Duration = Duration::from_mins(5);
/// Longest validity of a token that is believed.
const TOKEN_VALIDITY_MAX: Duration = Duration::from_hours(24);
/// Time for Google to answer.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A service account's key file.
#[derive(Deserialize)]
pub(super) struct Account {
    pub(super) project_id: String,
    private_key_id: Option<String>,
    private_key: String,
    client_email: String,
    token_uri: String,
}

/// Asks for tokens, one at a time.
pub(super) struct Tokens {
    email: String,
    url: String,
    header: Header,
    key: EncodingKey,
    client: Client,
    clock: Clock,
    kept: Mutex<Option<Token>>,
}

struct Token {
    text: String,
    /// Replaced from then on.
    until: Timestamp,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    scope: &'a str,
    aud: &'a str,
    iat: i64,
    exp: i64,
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: i64,
}

#[derive(Deserialize)]
struct Denied {
    error: String,
    #[serde(default)]
    error_description: String,
}

impl Account {
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        // What serde says may quote the key.
        serde_json::from_str(text).map_err(|_| {
            anyhow::anyhow!("`service_account` must be the JSON of a service account's key")
        })
    }
}

impl Tokens {
    pub(super) fn new(account: Account, client: Client, clock: Clock) -> anyhow::Result<Self> {
        let key = EncodingKey::from_rsa_pem(account.private_key.as_bytes())
            .map_err(|_| anyhow::anyhow!("not an RSA key in PEM"))
            .context("`private_key` of `service_account`")?;
        let header = Header { kid: account.private_key_id, ..Header::new(Algorithm::RS256) };
        let (email, url) = (account.client_email, account.token_uri);
        Request::post(&url).body(()).context("`token_uri` of `service_account`")?;
        Ok(Self { email, url, header, key, client, clock, kept: Mutex::new(None) })
    }

    /// A token that is not `stale`, of which Google said that it is none any more.
    ///
    /// # Errors
    /// What it means for the message when there is none.
    pub(super) async fn token(&self, stale: Option<&str>) -> Result<String, Outcome> {
        // Who comes while a token is asked for waits for that one.
        let mut kept = self.kept.lock().await;
        let now = self.clock.now();
        if let Some(token) = &*kept
            && token.until > now
            && stale != Some(&token.text)
        {
            return Ok(token.text.clone());
        }
        let granted = self.ask(now).await?;
        let validity = Duration::from_secs(granted.expires_in.try_into().unwrap_or(0));
        let until = now.after(validity.min(TOKEN_VALIDITY_MAX)).before(RENEWAL_MARGIN);
        *kept = Some(Token { text: granted.access_token.clone(), until });
        Ok(granted.access_token)
    }

    async fn ask(&self, now: Timestamp) -> Result<Granted, Outcome> {
        let claims = Claims {
            iss: &self.email,
            scope: SCOPE,
            aud: &self.url,
            iat: now.millis() / 1_000,
            exp: now.after(ASSERTION_VALIDITY).millis() / 1_000,
        };
        let refused = |reason: &str| crate::each::refused("oauth", reason);
        let assertion = jsonwebtoken::encode(&self.header, &claims, &self.key)
            .map_err(|_| refused("the service account's key does not sign"))?;
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
            .append_pair("assertion", &assertion)
            .finish();
        let request = Request::post(&self.url)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Bytes::from(form))
            .map_err(|_| refused("the token's address is none"))?;
        // No message has left, whatever happens here.
        let answer = self.client.call(request, TIMEOUT).await.map_err(Fault::again)?;
        answer
            .status
            .is_success()
            .then(|| answer.json())
            .flatten()
            .ok_or_else(|| self.denied(&answer))
    }

    fn denied(&self, answer: &Answer) -> Outcome {
        if answer.status.is_success() {
            return crate::each::refused("oauth", "the answer to the token's request is none");
        }
        let reason = answer.json::<Denied>().map_or_else(
            || answer.status.to_string(),
            |denied| format!("{}: {}", denied.error, denied.error_description),
        );
        answer.refusal("oauth".to_owned(), &reason, self.clock.now())
    }
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").field("email", &self.email).finish_non_exhaustive()
    }
}

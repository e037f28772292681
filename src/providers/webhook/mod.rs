//! Requests to an endpoint of the workspace, signed so that it can verify their origin: Standard Webhooks.
//!
//! `webhook-id` is the message's id, the same in every attempt, so that an endpoint can recognise a repeat;
//! `webhook-signature` is `v1,` and the base64 of HMAC-SHA256 over `<id>.<timestamp>.<body>`, under the
//! workspace's key.

mod target;

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use campaigns::model::message::{Auth, BodyType, Method, Secret, carries_credentials};
use engines::vault::Vault;
use hmac::{Hmac, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use kernel::{Clock, Timestamp, WorkspaceId};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;
use url::Url;

use super::{
    Provider, Sending, basic,
    client::{Answer, Client, ClientOptions, REFUSED},
    each::{each, refused},
};
use crate::model::{Content, Outcome, Outgoing, WebhookContent};

pub(super) use self::target::Reach;

/// Its name beside those of the registry: no settings select it.
pub(super) const NAME: &str = "webhook";

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const USER_AGENT: &str = concat!("Millrace/", env!("CARGO_PKG_VERSION"));
/// Calls of one batch.
const BATCH_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct Webhook {
    client: Client,
    reach: Reach,
    vault: Vault,
    clock: Clock,
}

/// Why a call is not made.
struct Impossible {
    code: &'static str,
    reason: String,
}

fn impossible(code: &'static str, reason: impl Into<String>) -> Impossible {
    Impossible { code, reason: reason.into() }
}

impl Webhook {
    pub(super) fn new(options: &ClientOptions, reach: Reach, vault: Vault, clock: Clock) -> Self {
        let client = Client::with_resolver(options, reach.resolver());
        Self { client, reach, vault, clock }
    }

    async fn send_one(&self, message: &Outgoing) -> Outcome {
        let Content::Webhook(content) = &message.content else {
            return refused("channel", "not a webhook");
        };
        let now = self.clock.now();
        let request = match self.request(message, content, now) {
            Ok(request) => request,
            Err(fault) => return refused(fault.code, &fault.reason),
        };
        let timeout = Duration::from_millis(content.timeout_ms.into());
        match self.client.call(request, timeout).await {
            Ok(answer) => outcome(&answer, self.clock.now()),
            Err(fault) if fault.code == REFUSED => refused("forbidden_target", &fault.reason),
            // The endpoint recognises a repeat by `webhook-id`.
            Err(fault) => fault.again(),
        }
    }

    fn request(
        &self,
        message: &Outgoing,
        content: &WebhookContent,
        now: Timestamp,
    ) -> Result<Request<Bytes>, Impossible> {
        let url = Url::parse(&content.url)
            .map_err(|_| impossible("invalid_url", "the address is no URL"))?;
        self.reach.check(&url).map_err(|reason| impossible("forbidden_target", reason))?;
        let (mut url, in_address) = basic::split(url);
        url.set_fragment(None);
        let body = content.body.clone().filter(|_| content.method != Method::Get);
        let mut headers = headers_of(content)?;
        if body.is_some() && !headers.contains_key(header::CONTENT_TYPE) {
            headers.insert(header::CONTENT_TYPE, content_type(content.body_type));
        }
        if !headers.contains_key(header::USER_AGENT) {
            headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        }
        if let Some(credentials) = in_address {
            headers.entry(header::AUTHORIZATION).or_insert(credentials);
        }
        self.add_credentials(&mut headers, message.workspace, &content.auth)?;
        let body = Bytes::from(body.unwrap_or_default());
        self.sign(&mut headers, message, &body, now);
        let mut request = Request::new(body);
        *request.method_mut() = method(content.method);
        *request.uri_mut() =
            url.as_str().parse().map_err(|_| impossible("invalid_url", "the address is no URL"))?;
        *request.headers_mut() = headers;
        Ok(request)
    }

    fn add_credentials(
        &self,
        headers: &mut HeaderMap,
        workspace: WorkspaceId,
        auth: &Auth,
    ) -> Result<(), Impossible> {
        let missing = || impossible("invalid_auth", "the credentials are not complete");
        let open = |secret: &Option<Secret>| {
            let secret = secret.as_ref().ok_or_else(missing)?;
            let opened = self.vault.open(workspace, secret.as_str());
            let opened = opened.map_err(|fault| impossible("invalid_auth", fault.to_string()))?;
            Ok(opened.unwrap_or_else(|| SecretString::from(secret.as_str())))
        };
        let (name, value) = match auth {
            Auth::None => return Ok(()),
            Auth::Basic { username, password } => {
                let (username, password) =
                    (username.as_ref().ok_or_else(missing)?, open(password)?);
                (header::AUTHORIZATION, basic::of(username, password.expose_secret()))
            }
            Auth::Bearer { token } => (
                header::AUTHORIZATION,
                sensitive(&format!("Bearer {}", open(token)?.expose_secret())),
            ),
            Auth::Header { name, value } => {
                let name = name.as_ref().ok_or_else(missing)?;
                let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| missing())?;
                (name, sensitive(open(value)?.expose_secret()))
            }
        };
        let value =
            value.ok_or_else(|| impossible("invalid_auth", "the credentials fit no header"))?;
        headers.insert(name, value);
        Ok(())
    }

    fn sign(&self, headers: &mut HeaderMap, message: &Outgoing, body: &[u8], now: Timestamp) {
        let (id, seconds) = (message.id.to_string(), now.millis().div_euclid(1000));
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.vault.webhook_key(message.workspace))
            .expect("a key of any length will do");
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        let ours = [(ID, id), (TIMESTAMP, seconds.to_string()), (SIGNATURE, signature)];
        for (name, value) in ours {
            let value = HeaderValue::try_from(value);
            headers.insert(name, value.expect("ids, numbers and base64 fit into a header"));
        }
    }
}

/// The secret that endpoints of a workspace verify our calls by, as Standard Webhooks' libraries take it.
pub fn signing_secret(vault: &Vault, workspace: WorkspaceId) -> SecretString {
    SecretString::from(format!("whsec_{}", STANDARD.encode(vault.webhook_key(workspace))))
}

fn headers_of(content: &WebhookContent) -> Result<HeaderMap, Impossible> {
    let mut headers = HeaderMap::new();
    for (name, value) in &content.headers {
        let name = HeaderName::from_bytes(name.as_bytes());
        // What a template made of it may be more than a line.
        let pair = name.ok().zip(HeaderValue::from_str(value).ok());
        let (name, mut value) =
            pair.ok_or_else(|| impossible("invalid_header", "a header is none, or not one line"))?;
        value.set_sensitive(carries_credentials(name.as_str()));
        headers.insert(name, value);
    }
    Ok(headers)
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

const fn content_type(body: BodyType) -> HeaderValue {
    HeaderValue::from_static(match body {
        BodyType::Json => "application/json",
        BodyType::Form => "application/x-www-form-urlencoded",
        BodyType::Text => "text/plain; charset=utf-8",
    })
}

const fn method(method: Method) -> http::Method {
    match method {
        Method::Get => http::Method::GET,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        Method::Patch => http::Method::PATCH,
        Method::Delete => http::Method::DELETE,
    }
}

fn outcome(answer: &Answer, now: Timestamp) -> Outcome {
    if answer.status.is_success() {
        return Outcome::Accepted { provider_id: None, is_delivered: true };
    }
    answer.refusal(answer.status.as_str().to_owned(), &answer.text(), now)
}

impl Provider for Webhook {
    fn send<'a>(&'a self, batch: &'a [Outgoing]) -> Sending<'a> {
        each(batch, move |message| async move { self.send_one(message).await.into() })
    }

    fn batch_max(&self) -> usize {
        BATCH_MAX
    }
}

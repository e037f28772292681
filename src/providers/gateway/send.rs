//! The generic gateway: messages of any channel, posted as JSON to a service of the operator.

use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use campaigns::model::message::MessageChannel;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use kernel::{CampaignId, Clock, MessageId, Timestamp, UserId, WorkspaceId};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};

use super::config::GatewaySettings;
use crate::{
    Provider, Sending, basic,
    client::{Answer, Client},
    each::each,
    model::{Content, Device, Outcome, Outgoing},
    unwritable,
};

/// By which the gateway knows a repeat.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Characters of the gateway's own id of a message; a longer one is not stored.
const ID_CHARS_MAX: usize = 255;

/// Characters of a failure's code; the status stands for a longer one.
const CODE_CHARS_MAX: usize = 64;

/// A gateway of the operator.
#[derive(Debug)]
pub(crate) struct Gateway {
    client: Client,
    channel: MessageChannel,
    url: Uri,
    headers: HeaderMap,
    from: Option<String>,
    timeout: Duration,
    connections: usize,
    clock: Clock,
}

/// What is posted. The fields of the contract first.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Posted<'a> {
    message_id: MessageId,
    workspace: WorkspaceId,
    channel: MessageChannel,
    user_id: Option<UserId>,
    external_id: Option<&'a str>,
    to: &'a str,
    campaign_id: Option<CampaignId>,
    variant_id: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    devices: &'a [Device],
    message: &'a Content,
}

/// What a gateway may answer.
#[derive(Deserialize)]
struct Taken {
    id: serde_json::Value,
}

impl Gateway {
    /// # Errors
    /// When the settings make no request.
    pub(crate) fn from_settings(
        settings: &GatewaySettings,
        channel: MessageChannel,
        client: Client,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let mut headers = HeaderMap::new();
        let url = url::Url::parse(settings.url.expose_secret()).ok().context("url is no URL")?;
        let (url, credentials) = basic::split(url);
        if let Some(credentials) = credentials {
            headers.insert(header::AUTHORIZATION, credentials);
        }
        for (name, value) in &settings.headers {
            let name = HeaderName::from_bytes(name.as_bytes())
                .ok()
                .with_context(|| format!("headers.{name} is no header's name"))?;
            let mut value = HeaderValue::from_str(value.expose_secret())
                .ok()
                .with_context(|| format!("headers.{name} is no header's value"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self {
            client,
            channel,
            url: url.as_str().parse().context("url is no URL")?,
            headers,
            from: settings.from.clone(),
            timeout: Duration::from_secs(settings.timeout_seconds as u64),
            connections: settings.connections,
            clock,
        })
    }

    async fn send_one(&self, message: &Outgoing) -> Outcome {
        let request = match self.request(message) {
            Ok(request) => request,
            Err(reason) => return unwritable(&reason),
        };
        match self.client.call(request, self.timeout).await {
            Ok(answer) => outcome(&answer, self.clock.now()),
            // The gateway knows a repeat by its key, so nothing is lost by asking again.
            Err(fault) => fault.again(),
        }
    }

    fn request(&self, message: &Outgoing) -> anyhow::Result<Request<Bytes>> {
        let sent_from = self.sent_from(&message.content);
        let body = serde_json::to_vec(&Posted {
            message_id: message.id,
            workspace: message.workspace,
            channel: self.channel,
            user_id: message.user,
            external_id: message.external_id.as_deref(),
            to: &message.to,
            campaign_id: message.campaign,
            variant_id: message.variant.as_deref(),
            devices: &message.devices,
            message: sent_from.as_ref().unwrap_or(&message.content),
        })?;
        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        *request.headers_mut() = self.headers.clone();
        let key = HeaderValue::try_from(message.id.to_string())?;
        request.headers_mut().insert(IDEMPOTENCY_KEY, key);
        Ok(request)
    }

    /// The message with the channel's sender, where it names none and the channel has one.
    fn sent_from(&self, content: &Content) -> Option<Content> {
        let mut content = content.clone();
        let named = match &mut content {
            Content::Email(email) => &mut email.from,
            Content::Sms(sms) => &mut sms.from,
            Content::Viber(viber) => &mut viber.sender_id,
            Content::Whatsapp(whatsapp) => &mut whatsapp.phone_number_id,
            Content::Push(_) | Content::Webhook(_) => return None,
        };
        if named.is_some() {
            return None;
        }
        named.clone_from(&self.from);
        named.is_some().then_some(content)
    }
}

/// What an answer means for the message.
fn outcome(answer: &Answer, now: Timestamp) -> Outcome {
    if !answer.status.is_success() {
        let code = failure_code(answer).unwrap_or_else(|| answer.status.as_str().to_owned());
        return answer.refusal(code, &answer.text(), now);
    }
    let id = answer.json::<Taken>().and_then(|taken| match taken.id {
        serde_json::Value::String(id) => Some(id),
        serde_json::Value::Number(id) => Some(id.to_string()),
        _ => None,
    });
    let provider_id = id.filter(|id| {
        (1..=ID_CHARS_MAX).contains(&id.chars().count()) && !id.chars().any(char::is_control)
    });
    Outcome::Accepted { provider_id, is_delivered: false }
}

/// The code that a gateway gives for a failure: `code`, or `code` of `error`, as text or number.
fn failure_code(answer: &Answer) -> Option<String> {
    let body: serde_json::Value = answer.json()?;
    let found = [&body["code"], &body["error"]["code"]].into_iter().find(|code| !code.is_null())?;
    let code = match found {
        serde_json::Value::String(code) => code.trim().to_owned(),
        serde_json::Value::Number(code) => code.to_string(),
        _ => return None,
    };
    let is_short = (1..=CODE_CHARS_MAX).contains(&code.chars().count());
    (is_short && !code.chars().any(char::is_control)).then_some(code)
}

impl Provider for Gateway {
    fn send<'a>(&'a self, batch: &'a [Outgoing]) -> Sending<'a> {
        each(batch, move |message| async move { self.send_one(message).await.into() })
    }

    fn batch_max(&self) -> usize {
        self.connections
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn refused(status: u16, body: &str) -> Outcome {
        let answer = Answer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        };
        outcome(&answer, Timestamp::from_millis(0))
    }

    #[test]
    fn a_failure_has_the_code_of_the_gateway_or_else_the_status() {
        let long = format!(r#"{{"code":"{}"}}"#, "x".repeat(CODE_CHARS_MAX + 1));
        let longest = "x".repeat(CODE_CHARS_MAX);
        for (body, expected) in [
            (r#"{"code":"21610"}"#, "21610"),
            (r#"{"code":21610,"message":"unsubscribed"}"#, "21610"),
            (r#"{"error":{"code":"invalid_number"}}"#, "invalid_number"),
            (r#"{"code":null,"error":{"code":7}}"#, "7"),
            (&format!(r#"{{"code":"{longest}"}}"#), &longest),
            (&long, "400"),
            (r#"{"code":""}"#, "400"),
            (r#"{"code":"a\nb"}"#, "400"),
            (r#"{"code":{"a":1}}"#, "400"),
            (r#"{"error":"no"}"#, "400"),
            (r#"["code"]"#, "400"),
            ("no JSON", "400"),
            ("", "400"),
        ] {
            let Outcome::Rejected { code, reason, .. } = refused(400, body) else {
                panic!("{body} is final");
            };
            assert_eq!((code.as_str(), reason.as_str()), (expected, body), "{body}");
        }
        let Outcome::Retry { code, .. } = refused(503, r#"{"code":"busy"}"#) else {
            panic!("503 is temporary");
        };
        assert_eq!(code, "busy");
    }
}

//! WhatsApp messages by Meta's Cloud API: templates that Meta approved, and free text within the 24 hours
//! after the recipient wrote.
//!
//! It knows no idempotency key, so a call that was cut off after it left is not made again.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use kernel::Clock;
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{config::WhatsappSettings, template};
use crate::{
    Provider, Sending, Sent,
    client::{Answer, Client},
    each::{self, CALLS_MAX, each},
    model::{Content, Effect, Outcome, Outgoing, Reference, WhatsappContent},
};

#[derive(Debug)]
pub(crate) struct Whatsapp {
    settings: WhatsappSettings,
    client: Client,
    clock: Clock,
}

#[derive(Deserialize)]
struct Taken {
    messages: Vec<TakenMessage>,
}

#[derive(Deserialize)]
struct TakenMessage {
    id: String,
}

#[derive(Deserialize)]
struct Refused {
    error: Problem,
}

/// What is wrong: https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes
#[derive(Debug, Deserialize)]
pub(super) struct Problem {
    pub(super) code: i64,
    message: Option<String>,
    title: Option<String>,
    error_data: Option<Details>,
}

#[derive(Debug, Deserialize)]
struct Details {
    details: Option<String>,
}

impl Problem {
    /// The most that is said about it.
    pub(super) fn reason(&self) -> &str {
        let details = self.error_data.as_ref().and_then(|data| data.details.as_deref());
        details.or(self.message.as_deref()).or(self.title.as_deref()).unwrap_or_default()
    }

    /// Whether another try may help: too many calls, to Meta or to this recipient, or a hiccup there.
    fn is_temporary(&self) -> bool {
        matches!(self.code, 1 | 2 | 4 | 80_007 | 130_429 | 131_016 | 131_048 | 131_056 | 133_004)
    }

    pub(super) fn effect(&self) -> Option<Effect> {
        // They chose to get no more marketing messages of this business.
        (self.code == 131_050).then_some(Effect::Unsubscribed)
    }
}

impl Whatsapp {
    pub(crate) fn new(settings: WhatsappSettings, client: Client, clock: Clock) -> Self {
        Self { settings, client, clock }
    }

    async fn one(&self, message: &Outgoing) -> Sent {
        let Content::Whatsapp(content) = &message.content else { return each::misplaced() };
        let Some(body) = self.body(message, content) else {
            return each::refused("content", "the message has neither a template nor a text")
                .into();
        };
        let base = self.settings.url.expose_secret().trim_end_matches('/');
        let number = content.phone_number_id.as_ref().unwrap_or(&self.settings.phone_number_id);
        let token = self.settings.access_token.expose_secret();
        let request =
            Request::post(format!("{base}/{}/{number}/messages", self.settings.api_version))
                .header(header::AUTHORIZATION, format!("Bearer {token}"))
                .header(header::CONTENT_TYPE, "application/json")
                .body(Bytes::from(body.to_string()));
        let Ok(request) = request else {
            return each::refused("sender", "the number's id is none").into();
        };
        let timeout =
            Duration::from_secs(u64::try_from(self.settings.timeout_seconds).unwrap_or(u64::MAX));
        match self.client.call(request, timeout).await {
            Ok(answer) => self.outcome(&answer).into(),
            Err(fault) => fault.once().into(),
        }
    }

    /// The message as the API takes it; none where it says nothing.
    fn body(&self, message: &Outgoing, content: &WhatsappContent) -> Option<Value> {
        let mut body = json!({
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": message.to.trim_start_matches('+'),
            "biz_opaque_callback_data": Reference::from(message).to_string(),
        });
        let (kind, written) = match (&content.template_id, &content.reply_text) {
            (Some(template), _) => {
                let language = &self.settings.language;
                ("template", template::written(template, language, &content.variables))
            }
            (None, Some(text)) => ("text", json!({ "body": text })),
            (None, None) => return None,
        };
        body["type"] = json!(kind);
        body[kind] = written;
        Some(body)
    }

    fn outcome(&self, answer: &Answer) -> Outcome {
        if answer.status.is_success() {
            let taken = answer.json::<Taken>().and_then(|taken| taken.messages.into_iter().next());
            return Outcome::Accepted { provider_id: taken.map(|one| one.id), is_delivered: false };
        }
        let Some(Refused { error }) = answer.json() else {
            let code = answer.status.as_str().to_owned();
            return answer.refusal(code, &answer.text(), self.clock.now());
        };
        let code = error.code.to_string();
        match answer.refusal(code, error.reason(), self.clock.now()) {
            Outcome::Rejected { code, reason, .. } if error.is_temporary() => {
                Outcome::Retry { code, reason, after: None }
            }
            Outcome::Rejected { code, reason, .. } => {
                Outcome::Rejected { code, reason, effect: error.effect() }
            }
            outcome => outcome,
        }
    }
}

impl Provider for Whatsapp {
    fn send<'a>(&'a self, batch: &'a [Outgoing]) -> Sending<'a> {
        each(batch, |message| self.one(message))
    }

    fn batch_max(&self) -> usize {
        CALLS_MAX
    }
}

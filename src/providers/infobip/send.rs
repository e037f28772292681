//! Viber messages by Infobip's API: https://www.infobip.com/docs/api/channels/viber
//!
//! Messages carry our own id as theirs, by which reports name them. Nothing says that a repeat of an id is
//! not delivered twice, so a call that was cut off after it left is not made again.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use kernel::Clock;
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::Url;

use super::config::InfobipSettings;
use crate::{
    Provider, Sending, Sent,
    client::{Answer, Client},
    each::{self, CALLS_MAX, each},
    model::{Content, Outcome, Outgoing, Reference, ViberContent, cut_to_line},
    whatsapp::text,
};

#[derive(Debug)]
pub(crate) struct Infobip {
    settings: InfobipSettings,
    callback_url: Option<Url>,
    client: Client,
    clock: Clock,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Taken {
    messages: Vec<TakenMessage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TakenMessage {
    message_id: Option<String>,
    status: Option<Status>,
}

/// Where a message stands: https://www.infobip.com/docs/essentials/response-status-and-error-codes
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    pub(super) group_name: String,
    name: Option<String>,
    description: Option<String>,
}

impl Status {
    pub(super) fn code(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.group_name.clone())
    }

    pub(super) fn reason(&self) -> &str {
        self.description.as_deref().unwrap_or(&self.group_name)
    }
}

/// What is wrong, in the old shape and the new one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Refused {
    request_error: Option<RequestError>,
    error_code: Option<String>,
    description: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestError {
    service_exception: ServiceException,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServiceException {
    message_id: Option<String>,
    text: Option<String>,
}

impl Infobip {
    /// Sets it up; `callbacks` is where this program takes them, if it does.
    pub(crate) fn new(
        settings: InfobipSettings,
        callbacks: Option<Url>,
        client: Client,
        clock: Clock,
    ) -> Self {
        let callback_url = settings.callback_url.clone().or(callbacks);
        Self { settings, callback_url, client, clock }
    }

    async fn one(&self, message: &Outgoing) -> Sent {
        let Content::Viber(content) = &message.content else { return each::misplaced() };
        let Some(sender) = content.sender_id.as_ref().or(self.settings.from.as_ref()) else {
            return each::refused(
                "no_sender",
                "neither the message nor the channel names a sender",
            )
            .into();
        };
        let Some(content_body) = self.content(content) else {
            return each::refused("content", "the message has neither a template nor a text")
                .into();
        };
        let body = self.body(message, sender, &content_body, content.ttl_seconds);
        let base = self.settings.url.expose_secret().trim_end_matches('/');
        let request = Request::post(format!("{base}/viber/2/messages"))
            .header(header::AUTHORIZATION, format!("App {}", self.settings.api_key.expose_secret()))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .body(Bytes::from(body.to_string()));
        let Ok(request) = request else {
            return each::refused("api_key", "the key cannot stand in a header").into();
        };
        let timeout =
            Duration::from_secs(u64::try_from(self.settings.timeout_seconds).unwrap_or(u64::MAX));
        match self.client.call(request, timeout).await {
            Ok(answer) => self.outcome(message, &answer).into(),
            Err(fault) => fault.once().into(),
        }
    }

    /// The content in the form of the API; none if it is empty. `id:LANGUAGE` names a template's language.
    fn content(&self, content: &ViberContent) -> Option<Value> {
        let Some(template) = &content.template_id else {
            return content.body.as_ref().map(|text| json!({ "type": "TEXT", "text": text }));
        };
        let (id, language) = match template.split_once(':') {
            Some((id, language)) => (id, Some(language)),
            None => (template.as_str(), None),
        };
        let parameters: Map<_, _> = (content.variables.iter())
            .map(|(name, value)| (name.clone(), Value::String(text(value))))
            .collect();
        let mut written =
            json!({ "type": self.settings.template_type, "id": id, "parameters": parameters });
        if let Some(language) = language {
            written["language"] = json!(language);
        }
        Some(written)
    }

    fn body(&self, message: &Outgoing, sender: &str, content: &Value, ttl: Option<u32>) -> Value {
        let to = message.to.trim_start_matches('+');
        let mut body = json!({
            "sender": sender,
            "destinations": [{ "to": to, "messageId": message.id }],
            "content": content,
        });
        if let Some(ttl) = ttl {
            let validity = json!({ "amount": ttl.max(1), "timeUnit": "SECONDS" });
            body["options"] = json!({ "validityPeriod": validity });
        }
        if let Some(url) = &self.callback_url {
            body["webhooks"] = json!({
                "delivery": { "url": url.as_str() },
                "seen": { "url": url.as_str() },
                "contentType": "application/json",
                "callbackData": Reference::from(message).to_string(),
            });
        }
        json!({ "messages": [body] })
    }

    fn outcome(&self, message: &Outgoing, answer: &Answer) -> Outcome {
        if !answer.status.is_success() {
            let refused: Option<Refused> = answer.json();
            let (code, reason) = refused.map_or((None, None), Refused::code_and_text);
            let code = code.unwrap_or_else(|| answer.status.as_str().to_owned());
            let reason = reason.unwrap_or_else(|| answer.text().into_owned());
            return answer.refusal(code, &reason, self.clock.now());
        }
        let taken = answer.json::<Taken>().and_then(|taken| taken.messages.into_iter().next());
        match taken {
            Some(TakenMessage { status: Some(status), .. })
                if matches!(
                    status.group_name.as_str(),
                    "REJECTED" | "UNDELIVERABLE" | "EXPIRED"
                ) =>
            {
                let reason = cut_to_line(status.reason());
                Outcome::Rejected { code: status.code(), reason, effect: None }
            }
            taken => {
                let id = taken.and_then(|taken| taken.message_id);
                let provider_id = Some(id.unwrap_or_else(|| message.id.to_string()));
                Outcome::Accepted { provider_id, is_delivered: false }
            }
        }
    }
}

impl Refused {
    fn code_and_text(self) -> (Option<String>, Option<String>) {
        match self.request_error {
            Some(RequestError { service_exception }) => {
                (service_exception.message_id, service_exception.text)
            }
            None => (self.error_code, self.description),
        }
    }
}

impl Provider for Infobip {
    fn send<'a>(&'a self, batch: &'a [Outgoing]) -> Sending<'a> {
        each(batch, |message| self.one(message))
    }

    fn batch_max(&self) -> usize {
        CALLS_MAX
    }
}

//! Text messages by Twilio's REST API, which others speak too.
//!
//! It knows no idempotency key, so a call that was cut off after it left is not made again.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Request, header};
use kernel::Clock;
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use url::{Url, form_urlencoded};

use super::config::TwilioSettings;
use crate::{
    Provider, Sending, Sent,
    client::{Answer, Client},
    each::{self, CALLS_MAX, each},
    model::{Content, Effect, Outcome, Outgoing, Reference, SmsContent, cut_to_line},
};

/// Seconds a message may be tried for at most: Twilio's own limit of `ValidityPeriod`.
const VALIDITY_SECONDS_MAX: u32 = 36_000;

#[derive(Debug)]
pub(crate) struct Twilio {
    settings: TwilioSettings,
    /// Where messages are posted.
    url: String,
    callback_url: Option<Url>,
    client: Client,
    clock: Clock,
}

/// What is answered: of a message, or of what is wrong.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answered {
    sid: Option<String>,
    code: Option<i64>,
    message: Option<String>,
    error_code: Option<i64>,
    error_message: Option<String>,
}

impl Twilio {
    /// Sets it up; `callbacks` is where this program takes them, if it does.
    pub(crate) fn new(
        settings: TwilioSettings,
        callbacks: Option<Url>,
        client: Client,
        clock: Clock,
    ) -> Self {
        let base = settings.url.expose_secret().trim_end_matches('/').to_owned();
        let account = form_urlencoded::byte_serialize(settings.account_sid.as_bytes());
        let url =
            format!("{base}/2010-04-01/Accounts/{}/Messages.json", account.collect::<String>());
        let callback_url = settings.callback_url.clone().or(callbacks);
        Self { settings, url, callback_url, client, clock }
    }

    async fn one(&self, message: &Outgoing) -> Sent {
        let Content::Sms(content) = &message.content else { return each::misplaced() };
        let Some(form) = self.form(message, content) else {
            return each::refused(
                "no_sender",
                "neither the message nor the channel names a sender",
            )
            .into();
        };
        let request = Request::post(&self.url)
            .header(header::AUTHORIZATION, self.credentials())
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::ACCEPT, "application/json")
            .body(Bytes::from(form))
            .expect("its address was read as one");
        let timeout =
            Duration::from_secs(u64::try_from(self.settings.timeout_seconds).unwrap_or(u64::MAX));
        match self.client.call(request, timeout).await {
            Ok(answer) => self.outcome(&answer).into(),
            Err(fault) => fault.once().into(),
        }
    }

    /// The message as a form; none without a sender.
    fn form(&self, message: &Outgoing, content: &SmsContent) -> Option<String> {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("To", &message.to).append_pair("Body", &content.body);
        let (from, service) = (&self.settings.from, &self.settings.messaging_service_sid);
        match (content.from.as_ref(), service, from) {
            (Some(from), _, _) | (None, None, Some(from)) => form.append_pair("From", from),
            (None, Some(service), _) => form.append_pair("MessagingServiceSid", service),
            (None, None, None) => return None,
        };
        if let Some(ttl) = content.ttl_seconds {
            let seconds = ttl.clamp(1, VALIDITY_SECONDS_MAX);
            form.append_pair("ValidityPeriod", &seconds.to_string());
        }
        if let Some(url) = &self.callback_url {
            let mut url = url.clone();
            url.query_pairs_mut().append_pair("m", &Reference::from(message).to_string());
            form.append_pair("StatusCallback", url.as_str());
        }
        Some(form.finish())
    }

    fn credentials(&self) -> String {
        let token = self.settings.auth_token.expose_secret();
        format!("Basic {}", STANDARD.encode(format!("{}:{token}", self.settings.account_sid)))
    }

    fn outcome(&self, answer: &Answer) -> Outcome {
        let answered: Answered = answer.json().unwrap_or_default();
        if answer.status.is_success() {
            return match answered.error_code {
                None => Outcome::Accepted { provider_id: answered.sid, is_delivered: false },
                Some(code) => failed(code, answered.error_message.as_deref().unwrap_or_default()),
            };
        }
        let code =
            answered.code.map_or_else(|| answer.status.as_str().to_owned(), |c| c.to_string());
        let reason = answered.message.unwrap_or_else(|| answer.text().into_owned());
        match (answer.refusal(code, &reason, self.clock.now()), answered.code) {
            (Outcome::Rejected { code, reason, .. }, Some(number)) => {
                Outcome::Rejected { code, reason, effect: effect(number) }
            }
            (outcome, _) => outcome,
        }
    }
}

impl Provider for Twilio {
    fn send<'a>(&'a self, batch: &'a [Outgoing]) -> Sending<'a> {
        each(batch, |message| self.one(message))
    }

    fn batch_max(&self) -> usize {
        CALLS_MAX
    }
}

fn failed(code: i64, reason: &str) -> Outcome {
    let reason = cut_to_line(reason);
    Outcome::Rejected { code: code.to_string(), reason, effect: effect(code) }
}

/// What an error says about the recipient: https://www.twilio.com/docs/api/errors
pub(super) fn effect(code: i64) -> Option<Effect> {
    match code {
        // They replied STOP.
        21_610 => Some(Effect::Unsubscribed),
        // No phone number, no mobile, unknown to every carrier, a landline.
        21_211 | 21_614 | 30_005 | 30_006 => Some(Effect::HardBounce),
        _ => None,
    }
}

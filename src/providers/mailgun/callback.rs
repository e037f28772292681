//! What Mailgun's webhooks say: one event a call, its signature in the body.

use config::Settings;
use serde_json::Value;

use super::{PROVIDER, signature::SigningKey};
use crate::{
    callback::{
        Call, CallbackSource, FromSettings, Head, Receiving, Status, Unproven,
        json::{text, unix_time},
        setting,
    },
    model::{AddressClaim, BounceKind, Feedback, FeedbackKind, FeedbackReason, Name, Report},
};

/// Values an event carries for us that may name the message.
const VARIABLES_MAX: usize = 20;

/// Mailgun's webhooks.
#[derive(Debug)]
pub(super) struct Mailgun(SigningKey);

impl FromSettings for Mailgun {
    fn from_settings(settings: &Settings) -> anyhow::Result<Option<Self>> {
        let Some(mailgun) = &settings.callbacks.mailgun else { return Ok(None) };
        let key = setting("mailgun.signing_key", SigningKey::read(&mailgun.signing_key))?;
        Ok(Some(Self(key)))
    }
}

impl CallbackSource for Mailgun {
    /// The signature is in the body.
    fn check_head(&self, _: &Head<'_>) -> Result<(), Unproven> {
        Ok(())
    }

    fn receive<'a>(&'a self, call: Call<'a>) -> Receiving<'a> {
        Box::pin(async move {
            let body = call.json()?;
            self.0.check(call.head.now, &body)?;
            let reports: Vec<Report> = report(&body).into_iter().collect();
            Ok(reports.into())
        })
    }
}

/// What an event says.
pub(super) fn report(body: &Value) -> Option<Report> {
    let event = body.pointer("/event-data")?;
    let heard = heard(event)?;
    let variables = event.pointer("/user-variables").and_then(Value::as_object);
    let variables = variables.into_iter().flat_map(|all| all.values()).take(VARIABLES_MAX);
    let message_id = text(event, "/message/headers/message-id");
    let ours = std::iter::once(message_id).chain(variables.filter_map(Value::as_str));
    let feedback = Feedback {
        source: PROVIDER.name,
        event: text(event, "/id").to_owned(),
        at: unix_time(event, "/timestamp"),
        heard,
    };
    Some(Report { names: Name::among(ours, message_id), feedback })
}

fn heard(event: &Value) -> Option<FeedbackKind> {
    let whose = match text(event, "/recipient") {
        "" => AddressClaim::Recipient,
        address => AddressClaim::Named(address.to_owned()),
    };
    Some(match text(event, "/event") {
        "delivered" => FeedbackKind::Delivered,
        "failed" => failed(event, whose),
        "rejected" => {
            FeedbackKind::Failed(FeedbackReason::new("rejected", text(event, "/reject/reason")))
        }
        "complained" => FeedbackKind::Complained { why: FeedbackReason::new("abuse", ""), whose },
        "unsubscribed" => FeedbackKind::Unsubscribed { source: "provider" },
        _ => return None,
    })
}

fn failed(event: &Value, whose: AddressClaim) -> FeedbackKind {
    let words = match text(event, "/delivery-status/message") {
        "" => text(event, "/delivery-status/description"),
        message => message,
    };
    let enhanced = Status::read(text(event, "/delivery-status/enhanced-code"));
    let status = enhanced.or_else(|| Status::within(words));
    let code = match event.pointer("/delivery-status/code") {
        _ if status.is_some() => status.map(|status| status.to_string()).unwrap_or_default(),
        Some(Value::Number(code)) => code.to_string(),
        _ => String::new(),
    };
    let why = FeedbackReason::new(&code, words);
    if text(event, "/severity") == "temporary" {
        return FeedbackKind::Deferred(why);
    }
    match text(event, "/reason") {
        "suppress-unsubscribe" => FeedbackKind::Unsubscribed { source: "provider" },
        "suppress-complaint" => FeedbackKind::Complained { why, whose },
        "suppress-bounce" => FeedbackKind::Bounced { kind: BounceKind::Hard, why, whose },
        // Mailgun gave up trying.
        "old" | "espblock" => FeedbackKind::Bounced { kind: BounceKind::Soft, why, whose },
        _ => {
            let kind = status.map_or(BounceKind::Hard, Status::bounce);
            FeedbackKind::Bounced { kind, why, whose }
        }
    }
}

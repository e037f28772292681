//! What Mailgun's webhooks say: one event a call, its signature in the body.

use config::Settings;
use secrecy::SecretString;
use serde::Deserialize;
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

/// Variables of an event that are searched for the message's reference.
const VARIABLES_MAX: usize = 20;

/// Mailgun's webhooks, signed with the account's key.
#[derive(Debug)]
pub(super) struct Mailgun(SigningKey);

/// The table `[callbacks.mailgun]` of the settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Credentials {
    /// The HTTP webhook signing key.
    signing_key: SecretString,
}

impl FromSettings for Mailgun {
    type Credentials = Credentials;

    const KEY: &'static str = "mailgun";

    fn from_settings(credentials: Credentials, _: &Settings) -> anyhow::Result<Self> {
        setting("mailgun.signing_key", SigningKey::read(&credentials.signing_key)).map(Self)
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

/// The report in an event.
pub(super) fn report(body: &Value) -> Option<Report> {
    let event = body.pointer("/event-data")?;
    let kind = kind_of(event)?;
    let variables = event.pointer("/user-variables").and_then(Value::as_object);
    let variables = variables.into_iter().flat_map(|all| all.values()).take(VARIABLES_MAX);
    let message_id = text(event, "/message/headers/message-id");
    let ours = std::iter::once(message_id).chain(variables.filter_map(Value::as_str));
    let feedback = Feedback {
        source: PROVIDER.name,
        event: text(event, "/id").to_owned(),
        at: unix_time(event, "/timestamp"),
        kind,
    };
    Some(Report { names: Name::among(ours, message_id), feedback })
}

fn kind_of(event: &Value) -> Option<FeedbackKind> {
    let address = match text(event, "/recipient") {
        "" => AddressClaim::Recipient,
        address => AddressClaim::Named(address.to_owned()),
    };
    Some(match text(event, "/event") {
        "delivered" => FeedbackKind::Delivered,
        "failed" => failed(event, address),
        "rejected" => {
            FeedbackKind::Failed(FeedbackReason::new("rejected", text(event, "/reject/reason")))
        }
        "complained" => {
            FeedbackKind::Complained { reason: FeedbackReason::new("abuse", ""), address }
        }
        "unsubscribed" => FeedbackKind::Unsubscribed { source: "provider" },
        _ => return None,
    })
}

fn failed(event: &Value, address: AddressClaim) -> FeedbackKind {
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
    let reason = FeedbackReason::new(&code, words);
    if text(event, "/severity") == "temporary" {
        return FeedbackKind::Deferred(reason);
    }
    match text(event, "/reason") {
        "suppress-unsubscribe" => FeedbackKind::Unsubscribed { source: "provider" },
        "suppress-complaint" => FeedbackKind::Complained { reason, address },
        "suppress-bounce" => FeedbackKind::Bounced { kind: BounceKind::Hard, reason, address },
        // Mailgun gave up trying.
        "old" | "espblock" => FeedbackKind::Bounced { kind: BounceKind::Soft, reason, address },
        _ => {
            let kind = status.map_or(BounceKind::Hard, Status::bounce);
            FeedbackKind::Bounced { kind, reason, address }
        }
    }
}

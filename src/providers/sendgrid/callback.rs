//! What SendGrid's event webhook says: a list of events.

use config::Settings;
use serde::Deserialize;
use serde_json::Value;

use super::{
    PROVIDER,
    signature::{Signed, SigningKey},
};
use crate::{
    callback::{
        Call, CallbackSource, FromSettings, Head, Receiving, Status, Unproven,
        json::{text, unix_time},
        setting,
    },
    model::{AddressClaim, BounceKind, Feedback, FeedbackKind, FeedbackReason, Name, Report},
};

/// Events of one call that are read; SendGrid sends about a thousand at most.
const EVENTS_MAX: usize = 10_000;

/// SendGrid's event webhook, signed with the account's key.
#[derive(Debug)]
pub(super) struct Sendgrid(SigningKey);

/// The table `[callbacks.sendgrid]` of the settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Credentials {
    /// The verification key as SendGrid displays it: base64 of an ECDSA P-256 key.
    public_key: String,
}

impl FromSettings for Sendgrid {
    type Credentials = Credentials;

    const KEY: &'static str = "sendgrid";

    fn from_settings(credentials: Credentials, _: &Settings) -> anyhow::Result<Self> {
        setting("sendgrid.public_key", SigningKey::read(&credentials.public_key)).map(Self)
    }
}

impl CallbackSource for Sendgrid {
    fn check_head(&self, head: &Head<'_>) -> Result<(), Unproven> {
        SigningKey::check_shape(signed(head), head.now)
    }

    fn receive<'a>(&'a self, call: Call<'a>) -> Receiving<'a> {
        Box::pin(async move {
            self.0.check(signed(&call.head), call.head.now, call.bytes)?;
            Ok(reports(&call.json()?).into())
        })
    }
}

fn signed<'c>(head: &Head<'c>) -> Signed<'c> {
    Signed {
        timestamp: head.header("x-twilio-email-event-webhook-timestamp"),
        signature: head.header("x-twilio-email-event-webhook-signature"),
    }
}

/// The reports in a list of events.
pub(super) fn reports(body: &Value) -> Vec<Report> {
    let events = body.as_array().map(Vec::as_slice).unwrap_or_default();
    events.iter().take(EVENTS_MAX).filter_map(report).collect()
}

fn report(event: &Value) -> Option<Report> {
    let kind = kind_of(event)?;
    // "smtp-id" is our Message-ID; SendGrid's own id has the name of a machine behind its first dot.
    let ours = [text(event, "/smtp-id"), text(event, "/X-Message-Id"), text(event, "/messageId")];
    let own = text(event, "/sg_message_id");
    let own = own.split_once('.').map_or(own, |(id, _)| id);
    let feedback = Feedback {
        source: PROVIDER.name,
        event: text(event, "/sg_event_id").to_owned(),
        at: unix_time(event, "/timestamp"),
        kind,
    };
    Some(Report { names: Name::among(ours, own), feedback })
}

fn kind_of(event: &Value) -> Option<FeedbackKind> {
    let words = match text(event, "/reason") {
        "" => text(event, "/response"),
        reason => reason,
    };
    let status = Status::read(text(event, "/status")).or_else(|| Status::within(words));
    let code = status.map(|status| status.to_string()).unwrap_or_default();
    let reason = FeedbackReason::new(&code, words);
    let address = match text(event, "/email") {
        "" => AddressClaim::Recipient,
        address => AddressClaim::Named(address.to_owned()),
    };
    Some(match text(event, "/event") {
        "delivered" => FeedbackKind::Delivered,
        "deferred" => FeedbackKind::Deferred(reason),
        "bounce" => {
            let is_block = text(event, "/type") == "blocked";
            let kind = match status {
                _ if is_block => BounceKind::Soft,
                Some(status) => status.bounce(),
                None => BounceKind::Hard,
            };
            FeedbackKind::Bounced { kind, reason, address }
        }
        "dropped" => dropped(words, address),
        "spamreport" => {
            FeedbackKind::Complained { reason: FeedbackReason::new("abuse", words), address }
        }
        "unsubscribe" | "group_unsubscribe" => FeedbackKind::Unsubscribed { source: "provider" },
        _ => return None,
    })
}

/// A message that SendGrid did not send because of the recipient's history.
fn dropped(words: &str, address: AddressClaim) -> FeedbackKind {
    let reason = FeedbackReason::new("dropped", words);
    match words.to_ascii_lowercase().as_str() {
        "bounced address" | "invalid" => {
            FeedbackKind::Bounced { kind: BounceKind::Hard, reason, address }
        }
        "spam reporting address" => FeedbackKind::Complained { reason, address },
        "unsubscribed address" => FeedbackKind::Unsubscribed { source: "provider" },
        _ => FeedbackKind::Failed(reason),
    }
}

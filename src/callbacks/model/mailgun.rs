//! What Mailgun's webhooks say: one event a call, its signature in the body.

use hmac::Mac as _;
use kernel::Timestamp;
use providers::model::{AddressClaim, BounceKind, Feedback, FeedbackKind, FeedbackReason};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::{
    Name, Report,
    proof::{AGE_MAX, Secret, Unproven, fresh},
    status::Status,
    text, unix_time,
};

const SOURCE: &str = "mailgun";
/// Values an event carries for us that may name the message.
const VARIABLES_MAX: usize = 20;

/// Mailgun's webhook signing key.
#[derive(Debug, Clone)]
pub struct Mailgun(Secret);

impl Mailgun {
    /// Reads the setting.
    ///
    /// # Errors
    /// The complaint, without the key.
    pub fn read(key: &SecretString) -> Result<Self, &'static str> {
        // Mailgun's keys are texts as they are, whatever they begin with.
        if key.expose_secret().is_empty() {
            return Err("must not be empty");
        }
        Secret::read(key).map(Self)
    }

    /// Judges a call: hex of HMAC-SHA256 of timestamp and token.
    ///
    /// # Errors
    /// Why it is not believed.
    pub fn proves(&self, now: Timestamp, body: &Value) -> Result<(), Unproven> {
        let part = |name| text(body, name);
        let (timestamp, token) = (part("/signature/timestamp"), part("/signature/token"));
        let signature = part("/signature/signature");
        if timestamp.is_empty() || token.is_empty() || signature.is_empty() {
            return Err(Unproven::Missing);
        }
        let signature = hex::decode(signature).map_err(|_| Unproven::Wrong)?;
        let mut hash = self.0.hash();
        hash.update(timestamp.as_bytes());
        hash.update(token.as_bytes());
        hash.verify_slice(&signature).map_err(|_| Unproven::Wrong)?;
        fresh(now, timestamp, AGE_MAX)
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
        source: SOURCE,
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

//! What Postmark's webhooks say: one record a call.

use providers::model::{AddressClaim, BounceKind, Feedback, FeedbackKind, FeedbackReason};
use serde_json::Value;

use super::{Name, Report, text, time};

const SOURCE: &str = "postmark";
/// Values of a record's metadata that may name the message.
const METADATA_MAX: usize = 20;

/// What a record says.
pub(super) fn report(body: &Value) -> Option<Report> {
    let (heard, at) = match text(body, "/RecordType") {
        "Delivery" => (FeedbackKind::Delivered, "/DeliveredAt"),
        "Bounce" => (bounced(body)?, "/BouncedAt"),
        "SpamComplaint" => (complained(body), "/BouncedAt"),
        "SubscriptionChange" if opts_out(body) => {
            (FeedbackKind::Unsubscribed { source: "provider" }, "/ChangedAt")
        }
        _ => return None,
    };
    let event = match body.pointer("/ID") {
        Some(Value::Number(id)) => id.to_string(),
        _ => text(body, at).to_owned(),
    };
    let metadata = body.pointer("/Metadata").and_then(Value::as_object);
    let ours = metadata.into_iter().flat_map(|all| all.values()).take(METADATA_MAX);
    let names = Name::among(ours.filter_map(Value::as_str), text(body, "/MessageID"));
    Some(Report { names, feedback: Feedback { source: SOURCE, event, at: time(body, at), heard } })
}

fn whose(body: &Value, pointer: &str) -> AddressClaim {
    match text(body, pointer) {
        "" => AddressClaim::Recipient,
        address => AddressClaim::Named(address.to_owned()),
    }
}

fn complained(body: &Value) -> FeedbackKind {
    let why = FeedbackReason::new(text(body, "/Type"), text(body, "/Description"));
    FeedbackKind::Complained { why, whose: whose(body, "/Email") }
}

fn bounced(body: &Value) -> Option<FeedbackKind> {
    let kind = text(body, "/Type");
    let words = match text(body, "/Details") {
        "" => text(body, "/Description"),
        details => details,
    };
    let why = FeedbackReason::new(kind, words);
    let bounce = |bounce| FeedbackKind::Bounced {
        kind: bounce,
        why: why.clone(),
        whose: whose(body, "/Email"),
    };
    Some(match kind {
        "HardBounce" | "BadEmailAddress" => bounce(BounceKind::Hard),
        "SpamComplaint" => complained(body),
        "Unsubscribe" => FeedbackKind::Unsubscribed { source: "provider" },
        "Transient" => FeedbackKind::Deferred(why),
        "SMTPApiError"
        | "InboundError"
        | "TemplateRenderingFailed"
        | "ManuallyDeactivated"
        | "Unconfirmed" => FeedbackKind::Failed(why),
        // Somebody answered, so it arrived.
        "AutoResponder"
        | "AddressChange"
        | "Subscribe"
        | "ChallengeVerification"
        | "OpenRelayTest" => return None,
        _ => bounce(BounceKind::Soft),
    })
}

/// Whether a recipient opted out at Postmark. What Postmark does by itself after a bounce or a complaint
/// is told as such.
fn opts_out(body: &Value) -> bool {
    body.pointer("/SuppressSending") == Some(&Value::Bool(true))
        && text(body, "/SuppressionReason") == "ManualSuppression"
        && text(body, "/Origin") == "Recipient"
}

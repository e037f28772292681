//! What Resend's webhooks say: one event a call, signed as Svix does.

use providers::model::{AddressClaim, BounceKind, Feedback, FeedbackKind, FeedbackReason};
use serde_json::Value;

use super::{Name, Report, list, status::Status, text, time};

const SOURCE: &str = "resend";
/// Recipients of one event that are looked at; messages of ours have one.
const RECIPIENTS_MAX: usize = 50;

/// What an event says of each recipient.
pub(super) fn reports(body: &Value, event: &str) -> Vec<Report> {
    let recipients = list(body, "/data/to").iter().filter_map(Value::as_str).take(RECIPIENTS_MAX);
    let mut whose: Vec<AddressClaim> =
        recipients.map(|to| AddressClaim::Named(to.to_owned())).collect();
    if whose.is_empty() {
        whose.push(AddressClaim::Recipient);
    }
    let headers = list(body, "/data/headers");
    let ours = headers
        .iter()
        .filter(|header| {
            ["x-message-id", "message-id"]
                .contains(&text(header, "/name").to_ascii_lowercase().as_str())
        })
        .map(|header| text(header, "/value"));
    let names =
        Name::among(ours.chain([text(body, "/data/message_id")]), text(body, "/data/email_id"));
    let heard = whose.into_iter().filter_map(|whose| heard(body, whose));
    heard
        .map(|heard| Report {
            names: names.clone(),
            feedback: Feedback {
                source: SOURCE,
                event: event.to_owned(),
                at: time(body, "/created_at"),
                heard,
            },
        })
        .collect()
}

fn heard(body: &Value, whose: AddressClaim) -> Option<FeedbackKind> {
    Some(match text(body, "/type") {
        "email.delivered" => FeedbackKind::Delivered,
        "email.delivery_delayed" => FeedbackKind::Deferred(FeedbackReason::default()),
        "email.failed" => {
            FeedbackKind::Failed(FeedbackReason::new("failed", text(body, "/data/failed/reason")))
        }
        "email.suppressed" => FeedbackKind::Failed(FeedbackReason::new(
            "suppressed",
            text(body, "/data/suppressed/message"),
        )),
        "email.complained" => {
            FeedbackKind::Complained { why: FeedbackReason::new("abuse", ""), whose }
        }
        "email.bounced" => {
            let words = text(body, "/data/bounce/message");
            let subtype = text(body, "/data/bounce/subType");
            let status = Status::within(words);
            let code = status.map_or_else(|| subtype.to_owned(), |status| status.to_string());
            let is_permanent = text(body, "/data/bounce/type") == "Permanent";
            let kind = if is_permanent { BounceKind::Hard } else { BounceKind::Soft };
            FeedbackKind::Bounced { kind, why: FeedbackReason::new(&code, words), whose }
        }
        _ => return None,
    })
}

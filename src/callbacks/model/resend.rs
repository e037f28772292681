//! What Resend's webhooks say: one event a call, signed as Svix does.

use providers::model::{BounceKind, Feedback, Heard, Whose, Why};
use serde_json::Value;

use super::{Name, Report, list, status::Status, text, time};

const TELLER: &str = "resend";
/// Recipients of one event that are looked at; messages of ours have one.
const RECIPIENTS_MAX: usize = 50;

/// What an event says of each recipient.
pub(super) fn reports(body: &Value, event: &str) -> Vec<Report> {
    let recipients = list(body, "/data/to").iter().filter_map(Value::as_str).take(RECIPIENTS_MAX);
    let mut whose: Vec<Whose> = recipients.map(|to| Whose::Named(to.to_owned())).collect();
    if whose.is_empty() {
        whose.push(Whose::Recipient);
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
                teller: TELLER,
                event: event.to_owned(),
                at: time(body, "/created_at"),
                heard,
            },
        })
        .collect()
}

fn heard(body: &Value, whose: Whose) -> Option<Heard> {
    Some(match text(body, "/type") {
        "email.delivered" => Heard::Delivered,
        "email.delivery_delayed" => Heard::Deferred(Why::default()),
        "email.failed" => Heard::Failed(Why::new("failed", text(body, "/data/failed/reason"))),
        "email.suppressed" => {
            Heard::Failed(Why::new("suppressed", text(body, "/data/suppressed/message")))
        }
        "email.complained" => Heard::Complained { why: Why::new("abuse", ""), whose },
        "email.bounced" => {
            let words = text(body, "/data/bounce/message");
            let subtype = text(body, "/data/bounce/subType");
            let status = Status::within(words);
            let code = status.map_or_else(|| subtype.to_owned(), |status| status.to_string());
            let is_permanent = text(body, "/data/bounce/type") == "Permanent";
            let kind = if is_permanent { BounceKind::Hard } else { BounceKind::Soft };
            Heard::Bounced { kind, why: Why::new(&code, words), whose }
        }
        _ => return None,
    })
}

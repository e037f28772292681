//! What Amazon SES says, by notifications and by event publishing alike.

use serde_json::Value;

use super::PROVIDER;
use crate::{
    callback::{
        Status,
        json::{list, message_ids, text, time},
    },
    model::{AddressClaim, BounceKind, Feedback, FeedbackKind, FeedbackReason, Name, Report},
};

/// The reports of an SES message, one for each recipient.
pub(super) fn reports(body: &Value) -> Vec<Report> {
    let kind = match text(body, "/notificationType") {
        "" => text(body, "/eventType"),
        kind => kind,
    };
    let names = names(body);
    let report = |(event, pointer): (&str, &str), kind| Report {
        names: names.clone(),
        feedback: Feedback {
            source: PROVIDER.name,
            event: text(body, event).to_owned(),
            at: time(body, pointer),
            kind,
        },
    };
    match kind {
        "Bounce" => list(body, "/bounce/bouncedRecipients")
            .iter()
            .map(|one| report(("/bounce/feedbackId", "/bounce/timestamp"), bounced(body, one)))
            .collect(),
        "Complaint" => list(body, "/complaint/complainedRecipients")
            .iter()
            .map(|one| {
                let words = text(body, "/complaint/userAgent");
                let kind = FeedbackKind::Complained {
                    reason: FeedbackReason::new(
                        text(body, "/complaint/complaintFeedbackType"),
                        words,
                    ),
                    address: named(one),
                };
                report(("/complaint/feedbackId", "/complaint/timestamp"), kind)
            })
            .collect(),
        "Delivery" => vec![report(("", "/delivery/timestamp"), FeedbackKind::Delivered)],
        "DeliveryDelay" => list(body, "/deliveryDelay/delayedRecipients")
            .iter()
            .map(|one| {
                let reason =
                    FeedbackReason::new(text(one, "/status"), text(one, "/diagnosticCode"));
                report(
                    ("/deliveryDelay/timestamp", "/deliveryDelay/timestamp"),
                    FeedbackKind::Deferred(reason),
                )
            })
            .collect(),
        "Reject" => {
            let reason = FeedbackReason::new("rejected", text(body, "/reject/reason"));
            vec![report(("", "/mail/timestamp"), FeedbackKind::Failed(reason))]
        }
        "Subscription" if opts_out(body) => {
            let kind = FeedbackKind::Unsubscribed { source: "provider" };
            vec![report(("/subscription/timestamp", "/subscription/timestamp"), kind)]
        }
        _ => Vec::new(),
    }
}

fn bounced(body: &Value, recipient: &Value) -> FeedbackKind {
    let diagnostic = text(recipient, "/diagnosticCode");
    let status = Status::read(text(recipient, "/status")).or_else(|| Status::within(diagnostic));
    let subtype = text(body, "/bounce/bounceSubType");
    let code = status.map_or_else(|| subtype.to_owned(), |status| status.to_string());
    let words = if diagnostic.is_empty() { subtype } else { diagnostic };
    let is_permanent = text(body, "/bounce/bounceType") == "Permanent";
    let kind = match status {
        _ if !is_permanent => BounceKind::Soft,
        // A full or guarded mailbox is permanent to Amazon, where its server said so with a 5.
        Some(status) if status.class == 5 => status.bounce(),
        _ => BounceKind::Hard,
    };
    FeedbackKind::Bounced {
        kind,
        reason: FeedbackReason::new(&code, words),
        address: named(recipient),
    }
}

fn named(recipient: &Value) -> AddressClaim {
    match text(recipient, "/emailAddress") {
        "" => AddressClaim::Recipient,
        // With a display name where the message had one.
        address => AddressClaim::Named(
            address.rsplit_once('<').map_or(address, |(_, a)| a.trim_end_matches('>')).to_owned(),
        ),
    }
}

/// SES writes a `Message-ID` of its own, so ours is in another header.
fn names(body: &Value) -> Vec<Name> {
    Name::among(message_ids(list(body, "/mail/headers")), text(body, "/mail/messageId"))
}

/// Whether a change of SES's own subscription page is an opt-out of everything.
fn opts_out(body: &Value) -> bool {
    body.pointer("/subscription/newTopicPreferences/unsubscribeAll") == Some(&Value::Bool(true))
}

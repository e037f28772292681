//! Abuse reports (RFC 5965): the feedback loops of mailbox providers.

use mail_parser::Message;
use providers::model::{AddressClaim, Feedback, FeedbackKind, FeedbackReason, Name, Report};

use super::{
    RECIPIENTS_MAX, event_id,
    fields::{Field, address_in, blocks_of_part, value},
    references,
};

/// The source of reports by mailbox providers.
const SOURCE: &str = "arf";
/// The source of an opt-out that a mailbox provider forwards.
const FEEDBACK_LOOP: &str = "feedback_loop";

/// The report in a mail, if it is about the recipient's wishes.
pub(super) fn read(mail: &Message<'_>, names: &[Name]) -> Vec<Report> {
    let blocks = blocks_of_part(mail, &["feedback-report"]).unwrap_or_default();
    let fields: Vec<Field> = blocks.into_iter().flatten().collect();
    let kind = match value(&fields, "Feedback-Type").to_ascii_lowercase().as_str() {
        "" | "not-spam" | "auth-failure" | "dmarc" => return Vec::new(),
        "opt-out" | "opt-out-list" => FeedbackKind::Unsubscribed { source: FEEDBACK_LOOP },
        feedback_type => FeedbackKind::Complained {
            reason: FeedbackReason::new(feedback_type, value(&fields, "User-Agent")),
            address: address(&fields),
        },
    };
    let sender = references::in_addresses(value(&fields, "Original-Mail-From"));
    let names = sender.map(Name::Reference).into_iter().chain(names.iter().cloned()).collect();
    let feedback = Feedback { source: SOURCE, event: event_id(mail), at: None, kind };
    vec![Report { names, feedback }]
}

/// The addresses that the report names. Many providers remove them; then the reference alone identifies the recipient.
fn address(fields: &[Field]) -> AddressClaim {
    let addresses: Vec<String> = fields
        .iter()
        .filter(|it| it.is_named("Original-Rcpt-To") || it.is_named("Removal-Recipient"))
        .filter_map(|it| address_in(&it.value))
        .take(RECIPIENTS_MAX)
        .collect();
    if addresses.is_empty() { AddressClaim::Recipient } else { AddressClaim::Claimed(addresses) }
}

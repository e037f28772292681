//! Reports of abuse (RFC 5965): the feedback loops of mailbox providers.

use mail_parser::Message;
use providers::model::{AddressClaim, Feedback, FeedbackKind, FeedbackReason};

use super::{Name, RECIPIENTS_MAX, Report, address_in, blocks, field, part, reference_in};

/// The source of reports by mailbox providers.
const SOURCE: &str = "arf";
/// The source of an opt-out that a mailbox provider hands on.
const FEEDBACK_LOOP: &str = "feedback_loop";

/// What a report of abuse says.
pub(super) fn reports(mail: &Message<'_>, own: &[Name]) -> Vec<Report> {
    let Some(block) = part(mail, "message", &["feedback-report"]).map(blocks) else {
        return Vec::new();
    };
    let fields: Vec<(String, String)> = block.into_iter().flatten().collect();
    let kind = field(&fields, "Feedback-Type").to_ascii_lowercase();
    let addresses: Vec<String> = fields
        .iter()
        .filter(|(name, _)| {
            ["Original-Rcpt-To", "Removal-Recipient"]
                .iter()
                .any(|key| name.eq_ignore_ascii_case(key))
        })
        .filter_map(|(_, value)| address_in(value))
        .take(RECIPIENTS_MAX)
        .collect();
    let heard = match kind.as_str() {
        // What says nothing about the recipient's wishes.
        "" | "not-spam" | "auth-failure" | "dmarc" => return Vec::new(),
        "opt-out" | "opt-out-list" => FeedbackKind::Unsubscribed { source: FEEDBACK_LOOP },
        kind => FeedbackKind::Complained {
            why: FeedbackReason::new(kind, field(&fields, "User-Agent")),
            // Many providers take the recipient out of it. Then the reference alone says who it was.
            whose: if addresses.is_empty() {
                AddressClaim::Recipient
            } else {
                AddressClaim::Claimed(addresses.clone())
            },
        },
    };
    let sender = reference_in(field(&fields, "Original-Mail-From")).map(Name::Reference);
    let own: Vec<Name> = sender.into_iter().chain(own.iter().cloned()).collect();
    let event = mail.message_id().unwrap_or_default().chars().take(200).collect();
    let feedback = Feedback { source: SOURCE, event, at: None, heard };
    vec![Report { names: own, feedback }]
}

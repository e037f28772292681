//! Returned mail: delivery reports (RFC 3464), their predecessors, and abuse reports (RFC 5965).
//!
//! Anyone who knows the address for bounces can write such mail. Nothing in it is trusted but its reference, which
//! proves that its writer had the message: see [`references`].

mod abuse_report;
mod delivery_report;
mod fields;
mod references;
#[cfg(test)]
mod tests;

use mail_parser::{Message, MessageParser, MimeHeaders as _};
use providers::model::Report;

/// Levels of nested messages: the parser recurses into them.
const NESTED_MAX: usize = 200;
/// Recipients of one report that are read; messages of Millrace have one.
const RECIPIENTS_MAX: usize = 100;
/// Characters of a report's id that are kept.
const EVENT_ID_CHARS_MAX: usize = 200;

/// The bytes are not a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a mail message")]
pub struct NotMail;

/// The reports in a mail; none in mail of another kind, such as an out-of-office reply. `recipients` are the
/// addresses in the SMTP envelope.
///
/// # Errors
/// If the mail has no header, or too many nested messages.
pub fn read_reports(bytes: &[u8], recipients: &[String]) -> Result<Vec<Report>, NotMail> {
    if nested_messages(bytes) > NESTED_MAX {
        return Err(NotMail);
    }
    let mail = MessageParser::default().parse(bytes).ok_or(NotMail)?;
    if mail.headers().is_empty() {
        return Err(NotMail);
    }
    let names = references::of_message(&mail, recipients);
    Ok(match report_type(&mail).as_deref() {
        Some("feedback-report") => abuse_report::read(&mail, &names),
        Some("delivery-status") => delivery_report::read(&mail, &names),
        _ => delivery_report::read_text(&mail, &names),
    })
}

/// Upper bound of the levels of nested messages, found without parsing.
fn nested_messages(bytes: &[u8]) -> usize {
    let count = |word: &[u8]| {
        let windows = bytes.windows(word.len());
        windows.filter(|window| window.eq_ignore_ascii_case(word)).count()
    };
    count(b"rfc822") + count(b"global") + count(b"digest")
}

/// The `report-type` of a `multipart/report`, in lower case.
fn report_type(mail: &Message<'_>) -> Option<String> {
    let content_type = mail.content_type()?;
    let is_report = content_type.ctype().eq_ignore_ascii_case("multipart")
        && content_type.subtype().is_some_and(|it| it.eq_ignore_ascii_case("report"));
    let report_type = content_type.attribute("report-type")?;
    is_report.then(|| report_type.to_ascii_lowercase())
}

/// The report's own id, by which a repeat is recognised.
fn event_id(mail: &Message<'_>) -> String {
    mail.message_id().unwrap_or_default().chars().take(EVENT_ID_CHARS_MAX).collect()
}

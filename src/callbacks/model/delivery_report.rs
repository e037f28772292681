//! Delivery reports (RFC 3464), and bounces in text form with the recipients in a header (Exim).

use kernel::Timestamp;
use mail_parser::{Message, PartType};
use providers::{
    callback::Status,
    model::{AddressClaim, BounceKind, Feedback, FeedbackKind, FeedbackReason, Name, Report},
};

use super::{
    RECIPIENTS_MAX, event_id,
    fields::{Field, address_in, blocks_of_part, value},
};

/// The source of reports by mail servers.
const SOURCE: &str = "dsn";
/// The header in which Exim lists the recipients that it could not reach.
const FAILED_RECIPIENTS: &str = "X-Failed-Recipients";

/// The report on each recipient.
pub(super) fn read(mail: &Message<'_>, names: &[Name]) -> Vec<Report> {
    let subtypes = ["delivery-status", "global-delivery-status"];
    let blocks = blocks_of_part(mail, &subtypes).unwrap_or_default();
    // The first block may be about the whole message, without a recipient.
    blocks
        .iter()
        .filter(|block| !value(block, "Final-Recipient").is_empty())
        .take(RECIPIENTS_MAX)
        .filter_map(|block| Some(report(mail, names, kind_of(block)?)))
        .collect()
}

fn report(mail: &Message<'_>, names: &[Name], kind: FeedbackKind) -> Report {
    let feedback = Feedback { source: SOURCE, event: event_id(mail), at: sent_at(mail), kind };
    Report { names: names.to_vec(), feedback }
}

/// What a block reports; none for an action after which no further report is sent.
fn kind_of(block: &[Field]) -> Option<FeedbackKind> {
    let diagnostic = value(block, "Diagnostic-Code");
    let text = diagnostic.split_once(';').map_or(diagnostic, |(_, text)| text.trim());
    let stated = Status::read(value(block, "Status"));
    let status = match stated {
        Some(stated) if !stated.is_unspecific() => Some(stated),
        _ => Status::within(diagnostic).or(stated),
    };
    let action = value(block, "Action").split_whitespace().next().unwrap_or_default();
    match action.to_ascii_lowercase().as_str() {
        "failed" => {
            let addresses = ["Original-Recipient", "Final-Recipient"]
                .iter()
                .filter_map(|name| address_in(value(block, name)));
            Some(bounced(status, text, addresses.collect()))
        }
        // The server still tries: it is not a bounce yet.
        "delayed" => Some(FeedbackKind::Deferred(FeedbackReason::new(&code(status), text))),
        "delivered" => Some(FeedbackKind::Delivered),
        // `relayed` and `expanded`.
        _ => None,
    }
}

/// A bounce. Without a status it is soft: the server gave up without saying that the address is invalid.
fn bounced(status: Option<Status>, text: &str, addresses: Vec<String>) -> FeedbackKind {
    FeedbackKind::Bounced {
        kind: status.map_or(BounceKind::Soft, Status::bounce),
        reason: FeedbackReason::new(&code(status), text),
        address: AddressClaim::Claimed(addresses),
    }
}

fn code(status: Option<Status>) -> String {
    status.map(|status| status.to_string()).unwrap_or_default()
}

/// The report in a bounce in text form, whose header lists the recipients.
pub(super) fn read_text(mail: &Message<'_>, names: &[Name]) -> Vec<Report> {
    let headers = mail.headers_raw();
    let failed = headers.filter(|(name, _)| name.eq_ignore_ascii_case(FAILED_RECIPIENTS));
    let addresses: Vec<String> = failed
        .flat_map(|(_, value)| value.split(','))
        .filter_map(|address| address_in(address.trim()))
        .take(RECIPIENTS_MAX)
        .collect();
    if addresses.is_empty() {
        return Vec::new();
    }
    let text = mail.parts.iter().find_map(|part| match &part.body {
        PartType::Text(text) => Some(text.as_ref()),
        _ => None,
    });
    let line = line_with_status(text.unwrap_or_default());
    vec![report(mail, names, bounced(Status::within(line), line, addresses))]
}

/// The first line with a status code, before the returned message begins; empty if there is none.
fn line_with_status(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("------"));
    lines.find(|line| Status::within(line).is_some()).unwrap_or_default()
}

fn sent_at(mail: &Message<'_>) -> Option<Timestamp> {
    let seconds = mail.date()?.to_timestamp();
    Some(Timestamp::from_millis(seconds.checked_mul(1000)?))
}

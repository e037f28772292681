//! Reports of delivery (RFC 3464), and what servers wrote before there were any.

use kernel::Timestamp;
use mail_parser::{Message, PartType};
use providers::model::{AddressClaim, BounceKind, Feedback, FeedbackKind, FeedbackReason};

use super::{Fields, Name, RECIPIENTS_MAX, Report, address_in, blocks, field, part};
use providers::callback::Status;

/// The source of reports by mail servers.
const SOURCE: &str = "dsn";
/// The header in which Exim names whom it could not reach.
const FAILED_RECIPIENTS: &str = "X-Failed-Recipients";

/// What a report of delivery says of each recipient.
pub(super) fn reports(mail: &Message<'_>, own: &[Name]) -> Vec<Report> {
    let Some(bytes) = part(mail, "message", &["delivery-status", "global-delivery-status"]) else {
        return Vec::new();
    };
    let blocks = blocks(bytes);
    // The first block is about the whole message, where the server wrote one.
    let of_recipients = blocks.iter().filter(|block| !field(block, "Final-Recipient").is_empty());
    let event = event_id(mail);
    of_recipients
        .take(RECIPIENTS_MAX)
        .filter_map(|block| report(block, own, &event, sent_at(mail)))
        .collect()
}

fn report(block: &Fields, own: &[Name], event: &str, at: Option<Timestamp>) -> Option<Report> {
    let addresses: Vec<String> = ["Original-Recipient", "Final-Recipient"]
        .iter()
        .filter_map(|name| address_in(field(block, name)))
        .collect();
    let heard = heard(block, &addresses)?;
    let feedback = Feedback { source: SOURCE, event: event.to_owned(), at, heard };
    Some(Report { names: own.to_vec(), feedback })
}

fn heard(block: &Fields, addresses: &[String]) -> Option<FeedbackKind> {
    let diagnostic = field(block, "Diagnostic-Code");
    let words = diagnostic.split_once(';').map_or(diagnostic, |(_, words)| words.trim());
    let stated = Status::read(field(block, "Status"));
    let status = match stated {
        Some(stated) if !stated.is_unspecific() => Some(stated),
        _ => Status::within(diagnostic).or(stated),
    };
    let code = status.map(|status| status.to_string()).unwrap_or_default();
    let why = FeedbackReason::new(&code, words);
    let action = field(block, "Action").split_whitespace().next().unwrap_or_default();
    match action.to_ascii_lowercase().as_str() {
        "failed" => Some(FeedbackKind::Bounced {
            // A server that does not say why, and gave up, has not said that the address is wrong.
            kind: status.map_or(BounceKind::Soft, Status::bounce),
            why,
            whose: AddressClaim::Claimed(addresses.to_vec()),
        }),
        // It is still being tried, and did not bounce yet.
        "delayed" => Some(FeedbackKind::Deferred(why)),
        "delivered" => Some(FeedbackKind::Delivered),
        // `relayed` and `expanded`: it went where nothing is told of it.
        _ => None,
    }
}

/// What a server says in a letter, whose header names the recipients (Exim).
pub(super) fn without_form(mail: &Message<'_>, own: &[Name]) -> Vec<Report> {
    let headers = || mail.headers_raw();
    let failed = headers().filter(|(name, _)| name.eq_ignore_ascii_case(FAILED_RECIPIENTS));
    let addresses: Vec<String> = failed
        .flat_map(|(_, value)| value.split(','))
        .filter_map(|address| address_in(address.trim()))
        .take(RECIPIENTS_MAX)
        .collect();
    if addresses.is_empty() {
        return Vec::new();
    }
    let letter = mail.parts.iter().find_map(|part| match &part.body {
        PartType::Text(text) => Some(text.as_ref()),
        _ => None,
    });
    let (status, line) = said(letter.unwrap_or_default());
    let code = status.map(|status| status.to_string()).unwrap_or_default();
    let heard = FeedbackKind::Bounced {
        kind: status.map_or(BounceKind::Soft, Status::bounce),
        why: FeedbackReason::new(&code, line),
        whose: AddressClaim::Claimed(addresses.clone()),
    };
    let feedback = Feedback { source: SOURCE, event: event_id(mail), at: sent_at(mail), heard };
    vec![Report { names: own.to_vec(), feedback }]
}

/// The first line of a letter that has a code in it, as far as the message that came back.
fn said(letter: &str) -> (Option<Status>, &str) {
    let mut lines = letter.lines().map(str::trim).take_while(|line| !line.starts_with("------"));
    let with_code = |line: &'_ str| Status::within(line).is_some();
    let line = lines.find(|line| with_code(line)).unwrap_or_default();
    (Status::within(line), line)
}

/// The report's own id, by which a repeat of it is known.
fn event_id(mail: &Message<'_>) -> String {
    mail.message_id().unwrap_or_default().chars().take(200).collect()
}

fn sent_at(mail: &Message<'_>) -> Option<Timestamp> {
    let seconds = mail.date()?.to_timestamp();
    Some(Timestamp::from_millis(seconds.checked_mul(1000)?))
}

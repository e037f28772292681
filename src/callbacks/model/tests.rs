//! Mail of several servers. Each fixture names its message in another way.

use kernel::{MessageId, WorkspaceId};
use proptest::prelude::*;
use providers::model::{AddressClaim, BounceKind, FeedbackKind, FeedbackReason, Name, Reference};

use super::*;

fn reference() -> Reference {
    let uuid = uuid::Uuid::from_u128;
    Reference { workspace: WorkspaceId::new(uuid(1)), message: MessageId::new(uuid(2)) }
}

fn mail(fixture: &str) -> Vec<u8> {
    fixture.replace("REFERENCE", &reference().to_string()).replace('\n', "\r\n").into_bytes()
}

fn only(fixture: &str) -> Report {
    let mut reports = read_reports(&mail(fixture), &[]).unwrap();
    assert_eq!(reports.len(), 1, "{reports:?}");
    let report = reports.remove(0);
    assert_eq!(report.names.first(), Some(&Name::Reference(reference())), "{:?}", report.names);
    report
}

const POSTFIX: &str = include_str!("fixtures/postfix.eml");
const DELAYED: &str = include_str!("fixtures/delayed.eml");
const GMAIL: &str = include_str!("fixtures/gmail.eml");
const EXCHANGE: &str = include_str!("fixtures/exchange.eml");
const EXIM: &str = include_str!("fixtures/exim.eml");
const EXIM_REPORT: &str = include_str!("fixtures/exim_report.eml");
const ARF: &str = include_str!("fixtures/arf.eml");
const YAHOO: &str = include_str!("fixtures/yahoo.eml");
const ALL: [&str; 8] = [POSTFIX, DELAYED, GMAIL, EXCHANGE, EXIM, EXIM_REPORT, ARF, YAHOO];

#[test]
fn the_bounces_of_each_server_are_read() {
    for (fixture, kind, code, text, address) in [
        (POSTFIX, BounceKind::Hard, "5.1.1", "User unknown in virtual", "ann@example.test"),
        (GMAIL, BounceKind::Hard, "5.1.1", "does not exist", "ann@gmail.test"),
        (EXCHANGE, BounceKind::Hard, "5.1.10", "RecipientNotFound", "ann@contoso.test"),
        (EXIM, BounceKind::Hard, "5.1.1", "550 5.1.1", "ann@example.test"),
        (EXIM_REPORT, BounceKind::Soft, "5.2.2", "mailbox full", "ann@example.test"),
    ] {
        let report = only(fixture);
        let FeedbackKind::Bounced { kind: found, reason, address: claim } = &report.feedback.kind
        else {
            panic!("{report:?}");
        };
        assert_eq!((*found, reason.code.as_str()), (kind, code));
        assert!(reason.text.contains(text), "{reason:?}");
        let AddressClaim::Claimed(addresses) = claim else { panic!("{claim:?}") };
        assert!(addresses.iter().all(|found| found == address), "{addresses:?}");
        assert!(!addresses.is_empty());
        assert!(!report.feedback.event.is_empty(), "a repeat is recognised by it");
        assert_eq!(report.feedback.at.map(|at| at.millis() / 60_000), Some(29_921_040), "{code}");
    }
}

#[test]
fn a_delayed_message_has_not_bounced() {
    let report = only(DELAYED);
    let reason = FeedbackReason::new(
        "4.4.1",
        "connect to mail.example.test[192.0.2.7]:25: Connection timed out",
    );
    assert_eq!(report.feedback.kind, FeedbackKind::Deferred(reason));
}

#[test]
fn the_action_and_the_status_make_the_kind() {
    for (action, status, expected) in [
        ("delivered", "2.0.0", Some("delivered")),
        ("Failed (bad)", "5.7.1", Some("bounced soft")),
        ("failed", "4.4.7", Some("bounced soft")),
        ("failed", "", Some("bounced hard")),
        ("relayed", "2.0.0", None),
        ("expanded", "2.0.0", None),
        ("", "5.1.1", None),
    ] {
        let fixture = POSTFIX
            .replace("Action: failed", &format!("Action: {action}"))
            .replace("Status: 5.1.1", &format!("Status: {status}"));
        let reports = read_reports(&mail(&fixture), &[]).unwrap();
        let found = reports.first().map(|report| match &report.feedback.kind {
            FeedbackKind::Bounced { kind, .. } => format!("bounced {}", kind.as_str()),
            kind => kind.message_kind().as_str().to_owned(),
        });
        assert_eq!(found.as_deref(), expected, "{action} {status}");
    }
    let silent = POSTFIX
        .replace("Status: 5.1.1", "Status:")
        .replace("Diagnostic-Code: smtp; 550 5.1.1", "X-Other:");
    let FeedbackKind::Bounced { kind, reason, .. } = only(&silent).feedback.kind else { panic!() };
    assert_eq!(
        (kind, reason),
        (BounceKind::Soft, FeedbackReason::default()),
        "the address may be valid"
    );
}

#[test]
fn abuse_reports_are_complaints_or_opt_outs() {
    let report = only(ARF);
    assert_eq!(
        report.feedback.kind,
        FeedbackKind::Complained {
            reason: FeedbackReason::new("abuse", "SomeGenerator/1.0"),
            address: AddressClaim::Claimed(vec!["ann@example.test".to_owned()]),
        }
    );
    let FeedbackKind::Complained { address, .. } = only(YAHOO).feedback.kind else { panic!() };
    assert_eq!(address, AddressClaim::Recipient, "the provider removed the recipient");
    for (feedback_type, expected) in [
        ("opt-out", Some("unsubscribed")),
        ("fraud", Some("complained")),
        ("not-spam", None),
        ("auth-failure", None),
    ] {
        let fixture =
            ARF.replace("Feedback-Type: abuse", &format!("Feedback-Type: {feedback_type}"));
        let reports = read_reports(&mail(&fixture), &[]).unwrap();
        let found = reports.first().map(|report| report.feedback.kind.message_kind().as_str());
        assert_eq!(found, expected, "{feedback_type}");
    }
}

#[test]
fn the_envelope_counts_before_the_headers() {
    let other = Reference { message: MessageId::new(uuid::Uuid::from_u128(9)), ..reference() };
    let envelope = [other.bounce_address("bounce.example.test")];
    let reports = read_reports(&mail(POSTFIX), &envelope).unwrap();
    assert_eq!(reports[0].names.first(), Some(&Name::Reference(other)));
}

#[test]
fn an_address_alone_identifies_no_message() {
    let fixture = POSTFIX.replace("b+REFERENCE", "bounces").replace("REFERENCE", "1234");
    let reports = read_reports(&mail(&fixture), &[]).unwrap();
    assert_eq!(reports[0].names, [], "addresses are no secret");
}

#[test]
fn other_mail_has_no_reports() {
    for letter in [
        "From: ann@example.test\nSubject: Out of office\nAuto-Submitted: auto-replied\n\nBack on Monday. 550 5.1.1\n",
        "Subject: x\nContent-Type: multipart/report; report-type=disposition-notification; boundary=a\n\n--a\n\n--a--\n",
        "Subject: x\nContent-Type: multipart/report; report-type=delivery-status; boundary=a\n\n--a\n\nno status\n--a--\n",
        "Subject: x\nX-Failed-Recipients: ann\n\nx\n",
    ] {
        assert!(read_reports(&mail(letter), &[]).unwrap().is_empty(), "{letter}");
    }
    assert_eq!(read_reports(b"", &[]), Err(NotMail));
}

#[test]
fn nesting_is_bounded_before_parsing() {
    let deep = |levels: usize| "Content-Type: message/rfc822\r\n\r\n".repeat(levels).into_bytes();
    assert!(read_reports(&deep(NESTED_MAX), &[]).is_ok());
    assert_eq!(read_reports(&deep(NESTED_MAX + 1), &[]), Err(NotMail));
    assert_eq!(read_reports(&deep(100_000), &[]), Err(NotMail));
    let recipients = "Final-Recipient: rfc822; ann@example.test\nAction: failed\nStatus: 5.1.1\n\n";
    let many = POSTFIX.replace(
        "Final-Recipient: rfc822; ann",
        &format!("{}Final-Recipient: rfc822; ann", recipients.repeat(120)),
    );
    assert_eq!(read_reports(&mail(&many), &[]).unwrap().len(), RECIPIENTS_MAX);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        drop(read_reports(&bytes, &[]));
    }

    #[test]
    fn no_damaged_report_makes_it_panic(which in 0..ALL.len(), at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let mut bytes = mail(ALL[which]);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(cut.index(bytes.len()).max(1));
        drop(read_reports(&bytes, &[]));
    }
}

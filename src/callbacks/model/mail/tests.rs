//! Mail as servers write it. Each fixture names its message in its own way.

use kernel::{MessageId, WorkspaceId};
use proptest::prelude::*;
use providers::model::{AddressClaim, BounceKind, FeedbackKind, FeedbackReason};

use super::*;

fn reference() -> Reference {
    let uuid = uuid::Uuid::from_u128;
    Reference { workspace: WorkspaceId::new(uuid(1)), message: MessageId::new(uuid(2)) }
}

fn mail(fixture: &str) -> Vec<u8> {
    // As it is on the wire.
    fixture.replace("REFERENCE", &reference().to_string()).replace('\n', "\r\n").into_bytes()
}

fn only(fixture: &str) -> Report {
    let Returned { mut reports } = returned(&mail(fixture), &[]).unwrap();
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
fn a_bounce_says_who_and_why_whichever_server_writes_it() {
    for (fixture, kind, code, words, address) in [
        (POSTFIX, BounceKind::Hard, "5.1.1", "User unknown in virtual", "ann@example.test"),
        (GMAIL, BounceKind::Hard, "5.1.1", "does not exist", "ann@gmail.test"),
        (EXCHANGE, BounceKind::Hard, "5.1.10", "RecipientNotFound", "ann@contoso.test"),
        (EXIM, BounceKind::Hard, "5.1.1", "550 5.1.1", "ann@example.test"),
        (EXIM_REPORT, BounceKind::Soft, "5.2.2", "mailbox full", "ann@example.test"),
    ] {
        let report = only(fixture);
        let FeedbackKind::Bounced { kind: found, why, whose } = &report.feedback.heard else {
            panic!("{report:?}");
        };
        assert_eq!((*found, why.code.as_str()), (kind, code));
        assert!(why.reason.contains(words), "{why:?}");
        let AddressClaim::Claimed(addresses) = whose else { panic!("{whose:?}") };
        assert!(addresses.iter().all(|found| found == address), "{addresses:?}");
        assert!(!addresses.is_empty());
        assert!(!report.feedback.event.is_empty(), "a repeat is known by it");
        assert_eq!(report.feedback.at.map(|at| at.millis() / 60_000), Some(29_921_040), "{code}");
    }
}

#[test]
fn what_is_late_has_not_bounced() {
    let report = only(DELAYED);
    let why = FeedbackReason::new(
        "4.4.1",
        "connect to mail.example.test[192.0.2.7]:25: Connection timed out",
    );
    assert_eq!(report.feedback.heard, FeedbackKind::Deferred(why));
}

#[test]
fn an_action_says_what_became_of_the_message() {
    for (action, status, heard) in [
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
        let Returned { reports } = returned(&mail(&fixture), &[]).unwrap();
        let found = reports.first().map(|report| match &report.feedback.heard {
            FeedbackKind::Bounced { kind, .. } => format!("bounced {}", kind.as_str()),
            heard => heard.kind().as_str().to_owned(),
        });
        assert_eq!(found.as_deref(), heard, "{action} {status}");
    }
    let silent = POSTFIX
        .replace("Status: 5.1.1", "Status:")
        .replace("Diagnostic-Code: smtp; 550 5.1.1", "X-Other:");
    let FeedbackKind::Bounced { kind, why, .. } = only(&silent).feedback.heard else { panic!() };
    assert_eq!(
        (kind, why),
        (BounceKind::Soft, FeedbackReason::default()),
        "nothing was said of the address"
    );
}

#[test]
fn a_complaint_is_whose_message_it_was() {
    let report = only(ARF);
    assert_eq!(
        report.feedback.heard,
        FeedbackKind::Complained {
            why: FeedbackReason::new("abuse", "SomeGenerator/1.0"),
            whose: AddressClaim::Claimed(vec!["ann@example.test".to_owned()]),
        }
    );
    let FeedbackKind::Complained { whose, .. } = only(YAHOO).feedback.heard else { panic!() };
    assert_eq!(whose, AddressClaim::Recipient, "the recipient was taken out of it");
    for (kind, heard) in [
        ("opt-out", Some("unsubscribed")),
        ("fraud", Some("complained")),
        ("not-spam", None),
        ("auth-failure", None),
    ] {
        let fixture = ARF.replace("Feedback-Type: abuse", &format!("Feedback-Type: {kind}"));
        let Returned { reports } = returned(&mail(&fixture), &[]).unwrap();
        let found = reports.first().map(|report| report.feedback.heard.kind().as_str());
        assert_eq!(found, heard, "{kind}");
    }
}

#[test]
fn the_address_it_came_to_names_the_message_before_anything_written_in_it() {
    let other = Reference { message: MessageId::new(uuid::Uuid::from_u128(9)), ..reference() };
    let envelope = [other.bounce_address("bounce.example.test")];
    let Returned { reports } = returned(&mail(POSTFIX), &envelope).unwrap();
    assert_eq!(reports[0].names.first(), Some(&Name::Reference(other)));
}

#[test]
fn what_names_nothing_but_the_address_is_about_no_message() {
    let fixture = POSTFIX.replace("b+REFERENCE", "bounces").replace("REFERENCE", "1234");
    let Returned { reports } = returned(&mail(&fixture), &[]).unwrap();
    assert_eq!(reports[0].names, [], "whoever can write to us knows addresses");
}

#[test]
fn other_mail_says_nothing() {
    for letter in [
        "From: ann@example.test\nSubject: Out of office\nAuto-Submitted: auto-replied\n\nBack on Monday. 550 5.1.1\n",
        "Subject: x\nContent-Type: multipart/report; report-type=disposition-notification; boundary=a\n\n--a\n\n--a--\n",
        "Subject: x\nContent-Type: multipart/report; report-type=delivery-status; boundary=a\n\n--a\n\nno status\n--a--\n",
        "Subject: x\nX-Failed-Recipients: nobody\n\nx\n",
    ] {
        assert!(returned(&mail(letter), &[]).unwrap().reports.is_empty(), "{letter}");
    }
    assert_eq!(returned(b"", &[]), Err(NotMail));
}

#[test]
fn nesting_is_bounded_before_it_is_followed() {
    let deep = |levels: usize| "Content-Type: message/rfc822\r\n\r\n".repeat(levels).into_bytes();
    assert!(returned(&deep(NESTED_MAX), &[]).is_ok());
    assert_eq!(returned(&deep(NESTED_MAX + 1), &[]), Err(NotMail));
    assert_eq!(returned(&deep(100_000), &[]), Err(NotMail));
    let recipients = "Final-Recipient: rfc822; ann@example.test\nAction: failed\nStatus: 5.1.1\n\n";
    let many = POSTFIX.replace(
        "Final-Recipient: rfc822; ann",
        &format!("{}Final-Recipient: rfc822; ann", recipients.repeat(120)),
    );
    assert_eq!(returned(&mail(&many), &[]).unwrap().reports.len(), RECIPIENTS_MAX);
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(bytes: Vec<u8>) {
        drop(returned(&bytes, &[]));
    }

    #[test]
    fn no_damage_to_a_report_is(which in 0..ALL.len(), at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let mut bytes = mail(ALL[which]);
        let place = at.index(bytes.len());
        bytes[place] = byte;
        bytes.truncate(cut.index(bytes.len()).max(1));
        drop(returned(&bytes, &[]));
    }
}

//! The mail that is written, and what is refused.

use kernel::{MessageId, WorkspaceId};
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::model::Content;

fn settings(text: &str) -> SmtpSettings {
    toml::from_str(&format!("url = \"smtp://127.0.0.1\"\n{text}")).unwrap()
}

fn writer(text: &str) -> Writer {
    Writer::from_settings(&settings(text)).unwrap()
}

fn message(email: &EmailContent) -> Outgoing {
    Outgoing {
        id: MessageId::new(Uuid::from_u128(7)),
        workspace: WorkspaceId::new(Uuid::from_u128(9)),
        user: None,
        external_id: None,
        campaign: None,
        variant: Some("a b/c".to_owned()),
        to: "ann@example.test".to_owned(),
        devices: Vec::new(),
        content: Content::Email(email.clone()),
    }
}

fn email() -> EmailContent {
    EmailContent {
        from: Some("Grüße, \"Shop\" & Söhne".to_owned() + " <hello@example.test>"),
        subject: "Grüße".to_owned(),
        html: Some("<p>Hällo</p>".to_owned()),
        text: Some("Hällo\n.\nHidden dot".to_owned()),
        ..EmailContent::default()
    }
}

fn written(writer: &Writer, email: &EmailContent) -> Result<String, Unwritable> {
    let mail = writer.write(&message(email), email, Timestamp::from_millis(1_772_366_400_000))?;
    Ok(String::from_utf8(mail.bytes).unwrap())
}

/// The head's fields by name, unfolded.
fn fields(mail: &str) -> Vec<(String, String)> {
    let head = mail.split_once("\r\n\r\n").unwrap().0.replace("\r\n ", " ").replace("\r\n\t", " ");
    let split = |line: &str| line.split_once(": ").map(|(n, v)| (n.to_owned(), v.to_owned()));
    head.split("\r\n").map(|line| split(line).unwrap_or_else(|| panic!("{line:?}"))).collect()
}

fn field_of(mail: &str, name: &str) -> Vec<String> {
    let named = |(field, _): &(String, String)| field.eq_ignore_ascii_case(name);
    fields(mail).into_iter().filter(named).map(|(_, value)| value).collect()
}

#[test]
fn each_field_is_written_once() {
    let writer = writer(
        "from = \"Default <default@example.test>\"\n\
         headers = { X-Mailer = \"Millrace\", List-ID = \"<all.example.test>\" }",
    );
    let email = EmailContent {
        from: Some("\"Shop, \\\"the\\\" one\" <hello@example.test>".to_owned()),
        reply_to: Some("Help <help@example.test>".to_owned()),
        headers: vec![
            ("List-Unsubscribe".to_owned(), "<https://example.test/u/x>".to_owned()),
            ("List-Unsubscribe-Post".to_owned(), "List-Unsubscribe=One-Click".to_owned()),
            ("list-id".to_owned(), "<news.example.test>".to_owned()),
        ],
        ..email()
    };
    let mail = written(&writer, &email).unwrap();
    let once = |name: &str| {
        let found = field_of(&mail, name);
        assert_eq!(found.len(), 1, "{name}: {found:?}\n{mail}");
        found[0].clone()
    };
    assert_eq!(once("From"), "=?utf-8?b?U2hvcCwgInRoZSIgb25l?= <hello@example.test>");
    assert_eq!(once("Reply-To"), "Help <help@example.test>");
    assert_eq!(once("To"), "ann@example.test");
    assert_eq!(once("Subject"), "=?utf-8?b?R3LDvMOfZQ==?=");
    assert_eq!(once("Date"), "Sun, 01 Mar 2026 12:00:00 +0000");
    assert_eq!(once("List-Unsubscribe"), "<https://example.test/u/x>");
    assert_eq!(
        once("List-ID"),
        "<news.example.test>",
        "a message's own field is before the channel's"
    );
    assert_eq!(once("X-Mailer"), "Millrace");
    let reference = once("X-Message-Id");
    assert_eq!(once("Message-ID"), format!("<{reference}@example.test>"));
    assert_eq!(reference.parse::<Reference>().unwrap().message, MessageId::new(Uuid::from_u128(7)));
    assert_eq!(once("Feedback-ID"), format!(":abc:{}:millrace", Uuid::from_u128(9).simple()));
    assert!(once("Content-Type").starts_with("multipart/alternative"));
    assert!(
        mail.find("text/plain").unwrap() < mail.find("text/html").unwrap(),
        "the best comes last"
    );
    assert!(mail.is_ascii());
}

#[test]
fn bounces_go_to_the_sender_or_to_an_address_of_the_message() {
    let email = EmailContent { from: Some("hello@example.test".to_owned()), ..email() };
    let path = |settings: &str| {
        let mail = writer(settings).write(&message(&email), &email, Timestamp::from_millis(0));
        mail.unwrap().from.to_string()
    };
    assert_eq!(path(""), "hello@example.test");
    let address = path("bounce_domain = \"bounce.example.test\"");
    let reference = Reference::of_bounce_address(&address).unwrap();
    assert_eq!(reference.message, MessageId::new(Uuid::from_u128(7)));
    assert!(address.ends_with("@bounce.example.test"));
}

#[test]
fn a_message_that_makes_no_mail_says_why() {
    let writer = writer("");
    let with = |change: fn(&mut EmailContent)| {
        let mut email = EmailContent { from: Some("a@example.test".to_owned()), ..email() };
        change(&mut email);
        written(&writer, &email).map_or_else(|fault| fault.code, |_| "written")
    };
    assert_eq!(with(|_| ()), "written");
    assert_eq!(with(|email| email.from = None), "no_sender");
    assert_eq!(with(|email| (email.html, email.text) = (None, None)), "no_content");
    assert_eq!(with(|email| email.from = Some("shop".to_owned())), "no_sender");
    assert_eq!(with(|email| email.reply_to = Some("help".to_owned())), "invalid_header");
    assert_eq!(
        with(|email| email.subject = "Hi\r\nBcc: b@example.test".to_owned()),
        "invalid_header"
    );
    assert_eq!(
        with(|email| email.headers.push(("Bcc".into(), "b@e.test".into()))),
        "invalid_header"
    );
    assert_eq!(
        with(|email| email.headers.push(("X".into(), "1\r\nBcc: b".into()))),
        "invalid_header"
    );
    assert_eq!(
        with(|email| email.headers.push(("X: y\r\nBcc".into(), "b".into()))),
        "invalid_header"
    );
    assert_eq!(with(|email| email.html = None), "written");
}

#[test]
fn settings_that_make_no_mail_are_refused_at_start() {
    for (text, problem) in [
        ("from = \"shop\"", "from must be"),
        ("bounce_domain = \"a b\"", "bounce_domain"),
        ("headers = { Subject = \"x\" }", "Subject is written by Millrace"),
        ("headers = { X = \"a\\nb\" }", "more than a line"),
        ("dkim = { domain = \"example.test\", selector = \"s\" }", "one of `key` and `key_file`"),
        ("dkim = { domain = \"example.test\", selector = \"s\", key = \"!\" }", "neither PEM"),
        (
            "dkim = { domain = \"example.test\", selector = \"s\", key_file = \"/no/such\" }",
            "/no/such",
        ),
    ] {
        let refusal = Writer::from_settings(&settings(text)).unwrap_err();
        assert!(format!("{refusal:#}").contains(problem), "{text}: {refusal:#}");
    }
}

proptest! {
    #[test]
    fn no_text_gets_out_of_its_field(
        subject in "[\\PC\r\n\0]{0,40}",
        name in "[\\PC\r\n\"<>\\\\]{0,20}",
        value in "[\\PC\r\n]{0,80}",
        html in "[\\PC\r\n]{0,60}",
        text in "[\\PC\r\n.]{0,60}",
    ) {
        let email = EmailContent {
            from: Some(format!("{name} <shop@example.test>")),
            subject,
            headers: vec![("X-Thing".to_owned(), value)],
            html: Some(html),
            text: Some(text),
            ..EmailContent::default()
        };
        if let Ok(mail) = written(&writer(""), &email) {
            let known = ["date", "message-id", "from", "to", "subject", "mime-version", "content-type",
                "x-thing", "x-message-id", "feedback-id"];
            for (name, _) in fields(&mail) {
                prop_assert!(known.contains(&name.to_ascii_lowercase().as_str()), "{}", name);
            }
        }
    }
}

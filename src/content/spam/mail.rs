//! The email to check.

use std::time::{Duration, SystemTime};

use kernel::Timestamp;
use lettre::{
    Message,
    message::{Mailbox, MultiPart, SinglePart},
};

use crate::template;

/// Replaces values that depend on the recipient.
const PLACEHOLDER: &str = "you";
/// Default sender and recipient: reserved addresses (RFC 2606).
const SENDER: &str = "sender@example.com";
const RECIPIENT: &str = "recipient@example.org";

/// An email before rendering, with its Liquid markup.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mail {
    pub subject: String,
    pub from: Option<String>,
    pub from_name: Option<String>,
    pub html: Option<String>,
    pub text: Option<String>,
}

impl Mail {
    /// The subject with placeholders.
    pub fn seen_subject(&self) -> String {
        template::blanked(&self.subject, PLACEHOLDER)
    }

    /// The HTML part with placeholders.
    pub fn seen_html(&self) -> Option<String> {
        self.html.as_deref().map(|html| template::blanked(html, PLACEHOLDER))
    }

    /// The text part with placeholders.
    pub fn seen_text(&self) -> Option<String> {
        self.text.as_deref().map(|text| template::blanked(text, PLACEHOLDER))
    }

    /// The email in wire format (RFC 5322).
    ///
    /// # Errors
    /// If the parts do not form an email.
    pub(super) fn written(&self, now: Timestamp) -> Result<Vec<u8>, lettre::error::Error> {
        let address = |text: &str| text.parse().ok();
        let sender = self.from.as_deref().and_then(address);
        let sender = sender.or_else(|| address(SENDER)).ok_or(lettre::error::Error::MissingFrom)?;
        let recipient = address(RECIPIENT).ok_or(lettre::error::Error::MissingTo)?;
        let name =
            self.from_name.as_deref().map(|name| one_line(&template::blanked(name, PLACEHOLDER)));
        let millis = u64::try_from(now.millis()).unwrap_or_default();
        let email = Message::builder()
            .date(SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
            .message_id(Some(format!("<{millis}.checked-before-sending@example.com>")))
            .from(Mailbox::new(name, sender))
            .to(Mailbox::new(None, recipient))
            .subject(one_line(&self.seen_subject()));
        let plain = self.seen_text().map(SinglePart::plain);
        let html = self.seen_html().map(SinglePart::html);
        let email = match (plain, html) {
            (Some(plain), Some(html)) => {
                email.multipart(MultiPart::alternative().singlepart(plain).singlepart(html))
            }
            (Some(only), None) | (None, Some(only)) => email.singlepart(only),
            (None, None) => email.singlepart(SinglePart::plain(String::new())),
        }?;
        Ok(email.formatted())
    }
}

/// The text without line breaks and control characters, which headers cannot hold.
fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_email_is_written_as_it_would_be_sent() {
        let mail = Mail {
            subject: "Grüße an {{ user.name }}".to_owned(),
            from: Some("shop@example.test".to_owned()),
            from_name: Some("Shop, Inc".to_owned()),
            html: Some("<p>{% if x %}Hi{% endif %} {{ user.name }}</p>".to_owned()),
            text: Some("Hi".to_owned()),
        };
        let written = mail.written(Timestamp::from_millis(1_772_366_400_000)).unwrap();
        let written = String::from_utf8(written).unwrap();
        for part in [
            "<shop@example.test>\r\n",
            "Date: Sun, 01 Mar 2026 12:00:00 +0000\r\n",
            "multipart/alternative",
            "<p>Hi you</p>",
        ] {
            assert!(written.contains(part), "{part}\n{written}");
        }
        assert!(!written.contains("{{"));
    }

    proptest! {
        #[test]
        fn no_text_can_inject_a_header(
            subject in "[\\PC\r\n\0]{0,40}",
            from_name in proptest::option::of("[\\PC\r\n\"<>]{0,20}"),
            from in proptest::option::of("[a-z@.<>\r\n ]{0,20}"),
            html in proptest::option::of("[\\PC\r\n]{0,60}"),
            text in proptest::option::of("[\\PC\r\n.]{0,60}"),
        ) {
            let mail = Mail { subject, from, from_name, html, text };
            if let Ok(written) = mail.written(Timestamp::from_millis(0)) {
                let written = String::from_utf8_lossy(&written).into_owned();
                let head = written.split("\r\n\r\n").next().unwrap();
                let known = ["date", "message-id", "from", "to", "subject", "mime-version",
                    "content-type", "content-transfer-encoding"];
                for line in head.lines().filter(|line| !line.starts_with([' ', '\t'])) {
                    let name = line.split(':').next().unwrap().to_ascii_lowercase();
                    prop_assert!(known.contains(&name.as_str()), "{}", line);
                }
            }
        }
    }
}

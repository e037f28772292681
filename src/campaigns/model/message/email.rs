//! An email.

use content::template;
use kernel::{EmailAddress, fields::Fields};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::words::{self, Read};

/// Characters of `subject`: RFC 5322 2.1.1 limits a line to 998.
const SUBJECT_CHARS_MAX: usize = 998;
const PREHEADER_CHARS_MAX: usize = 500;
const FROM_CHARS_MAX: usize = 600;
const FROM_NAME_CHARS_MAX: usize = 255;
const TEMPLATE_ID_CHARS_MAX: usize = 255;

/// Fields that identify an email if no channel is named.
pub(super) const FIELDS: &[&str] = &["subject", "html", "preheader", "fromName"];

/// An email. Every text is Liquid.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmailMessage {
    /// The subject: one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 998, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub subject: Option<String>,
    /// The preview text that inboxes show beside the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 500)]
    pub preheader: Option<String>,
    /// The sender: `hello@example.test` or `Shop <hello@example.test>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 600, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub from: Option<String>,
    /// The sender's name; has precedence over that in `from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub from_name: Option<String>,
    /// The HTML part; has precedence over a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 262_144)]
    pub html: Option<String>,
    /// A template stored at the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 255, pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$")]
    pub template_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 262_144)]
    pub text: Option<String>,
}

impl EmailMessage {
    pub(super) const FIELDS: &'static [&'static str] =
        &["subject", "preheader", "from", "fromName", "html", "templateId", "text"];

    pub(super) fn read(body: &mut Fields<'_>) -> Self {
        Self {
            subject: words::header(body.optional("subject"), SUBJECT_CHARS_MAX),
            preheader: words::templated(body.optional("preheader"), PREHEADER_CHARS_MAX),
            from: body
                .optional("from")
                .as_schema(|| words::one_line(0..=FROM_CHARS_MAX))
                .parsed(String::new(), sender),
            from_name: words::header(body.optional("fromName"), FROM_NAME_CHARS_MAX),
            html: words::page(body.optional("html")),
            template_id: words::line(body.optional("templateId"), TEMPLATE_ID_CHARS_MAX),
            text: words::document(body.optional("text")),
        }
    }
}

/// A sender. A templated one is checked after rendering.
fn sender(text: &str) -> Read<String> {
    words::at_most(text, FROM_CHARS_MAX)?;
    words::is_one_line(text)?;
    words::is_liquid(text)?;
    // An empty field of a draft.
    if text.is_empty() || template::has_markup(text) || address_of(text).is_some() {
        return Ok(text.to_owned());
    }
    Err("must be an email address, or a name and one in <>".to_owned())
}

/// The address in `address` or `name <address>`: RFC 5322 3.4, without comments and groups.
pub fn address_of(sender: &str) -> Option<EmailAddress> {
    let sender = sender.trim();
    let Some(inner) = sender.strip_suffix('>') else { return sender.parse().ok() };
    let (name, address) = inner.rsplit_once('<')?;
    is_phrase(name.trim()).then(|| address.parse().ok())?
}

/// Whether a name needs no further quotes.
fn is_phrase(name: &str) -> bool {
    let quoted = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match quoted {
        Some(inner) => !inner.replace("\\\\", "").replace("\\\"", "").contains(['"', '\\']),
        None => !name.contains(['<', '>', '"', ',', ';', ':', '@', '\\', '(', ')', '[', ']']),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sender_is_an_address_or_a_name_and_one() {
        for (text, address) in [
            ("ann@example.test", Some("ann@example.test")),
            (" Ann@Example.test ", Some("ann@example.test")),
            ("Ann <ann@example.test>", Some("ann@example.test")),
            ("<ann@example.test>", Some("ann@example.test")),
            ("Ann O'Neil & Söhne! <ann@example.test>", Some("ann@example.test")),
            ("\"Ann, of \\\"Shop\\\" <3\" <ann@example.test>", Some("ann@example.test")),
            ("ann", None),
            ("", None),
            ("Ann ann@example.test", None),
            ("Ann <ann@example.test", None),
            ("Ann <ann>", None),
            ("Ann <>", None),
            ("Ann, Bob <ann@example.test>", None),
            ("a@b.test <ann@example.test>", None),
            ("\"Ann\" Bob\" <ann@example.test>", None),
            ("\"Ann\\\" <ann@example.test>", None),
            ("a@b.test, c@d.test", None),
            ("Ann <ann@example.test> <b@example.test>", None),
        ] {
            let found = address_of(text).map(EmailAddress::into_string);
            assert_eq!(found.as_deref(), address, "{text}");
            assert_eq!(sender(text).is_ok(), address.is_some() || text.is_empty());
        }
        assert!(sender("{{ user.rep }} <{{ user.rep_email }}>").is_ok());
        assert!(sender("{{ user.rep }").is_err());
        for bad in
            ["Ann\r\nBcc: b@example.test <a@example.test>", "a@b.test\n", "a\u{2028}b@c.test"]
        {
            assert!(sender(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_sender_has_no_line_break(text in "\\PC{0,8}[\r\n\0\t]?\\PC{0,8}<?a@b\\.test>?") {
            if sender(&text).is_ok() {
                prop_assert!(!text.contains(['\r', '\n', '\0']));
            }
        }
    }
}

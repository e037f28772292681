//! A message as mail: RFC 5322, its texts as MIME, each field given exactly once.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use campaigns::model::message::address_of;
use kernel::Timestamp;
use lettre::{
    Address, Message,
    message::{
        Mailbox, MultiPart, SinglePart,
        header::{HeaderName, HeaderValue, Headers},
    },
};
use secrecy::ExposeSecret as _;

use super::{config::SmtpSettings, dkim::Signer};
use crate::model::{EmailContent, Outgoing, Reference};

/// Fields that this file writes; settings and messages may not.
const OURS: &[&str] = &[
    "from",
    "to",
    "cc",
    "bcc",
    "sender",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
    "dkim-signature",
    "return-path",
    "received",
    "x-message-id",
    "feedback-id",
];
/// Who sends, in `Feedback-ID`: constant, so that mailbox providers can add up (5 to 15 characters).
const FEEDBACK_SENDER: &str = "millrace";

#[derive(Debug)]
pub(super) struct Writer {
    from: Option<String>,
    headers: Vec<(HeaderName, String)>,
    bounce_domain: Option<String>,
    signer: Option<Signer>,
}

/// A mail and its envelope.
#[derive(Debug)]
pub(super) struct Mail {
    pub(super) from: Address,
    /// The recipient of the envelope.
    pub(super) to: Address,
    pub(super) bytes: Vec<u8>,
}

/// Why a message makes no mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unwritable {
    /// `no_sender`, `no_content`, `invalid_address`, `invalid_header`, `unwritable`.
    pub(super) code: &'static str,
    pub(super) reason: String,
}

fn unwritable(code: &'static str, reason: impl std::fmt::Display) -> Unwritable {
    Unwritable { code, reason: reason.to_string() }
}

impl Writer {
    /// # Errors
    /// What in the settings cannot be written into a mail.
    pub(super) fn from_settings(settings: &SmtpSettings) -> anyhow::Result<Self> {
        if settings.from.as_deref().is_some_and(|from| mailbox(from).is_none()) {
            bail!("from must be an email address, or a name and one in <>");
        }
        let bounce_domain = settings.bounce_domain.as_deref().map(|domain| {
            idna::domain_to_ascii_strict(domain).ok().context("bounce_domain is not a domain")
        });
        let headers = settings.headers.iter().map(|(name, value)| {
            let value = value.expose_secret().to_owned();
            field(name, &value).map_err(|fault| anyhow::anyhow!(fault.reason))
        });
        Ok(Self {
            from: settings.from.clone(),
            headers: headers.collect::<anyhow::Result<_>>()?,
            bounce_domain: bounce_domain.transpose()?,
            signer: settings.dkim.as_ref().map(Signer::from_settings).transpose()?,
        })
    }

    /// The name that this side can give itself: where its mail comes from.
    pub(super) fn domain(&self) -> Option<String> {
        let from = self.from.as_deref().and_then(mailbox);
        self.bounce_domain.clone().or_else(|| Some(from?.email.domain().to_owned()))
    }

    /// Writes a message.
    ///
    /// # Errors
    /// What of it makes no mail; it never will.
    pub(super) fn write(
        &self,
        message: &Outgoing,
        email: &EmailContent,
        now: Timestamp,
    ) -> Result<Mail, Unwritable> {
        let sender = email.from.as_deref().or(self.from.as_deref());
        let sender = sender.ok_or_else(|| unwritable("no_sender", "no sender is named"))?;
        let mut from = mailbox(sender)
            .ok_or_else(|| unwritable("no_sender", "the sender is no email address"))?;
        if email.from.is_none() && email.from_name.is_some() {
            from.name.clone_from(&email.from_name);
        }
        if email.html.is_none() && email.text.is_none() {
            let problem = "its content is a template that a mail server does not have";
            return Err(unwritable("no_content", problem));
        }
        let to: Address = message
            .to
            .parse()
            .map_err(|_| unwritable("invalid_address", "the recipient is no email address"))?;
        let reference = Reference { workspace: message.workspace, message: message.id };
        let return_path = match &self.bounce_domain {
            Some(domain) => reference.bounce_address(domain).parse().ok(),
            None => Some(from.email.clone()),
        };
        let mut built = built(message, email, Addresses { from, to: to.clone(), reference }, now)?;
        self.add_fields(built.headers_mut(), message, email, reference)?;
        let mut bytes = built.formatted();
        if let Some(signer) = &self.signer {
            let mut signatures = signer.sign(&bytes, now);
            if let Some(domain) = &email.signing_domain
                && !signer.speaks_for(domain)
            {
                let second = signer.sign_as(domain, &bytes, now);
                signatures = signatures.and_then(|first| Ok(first + &second?));
            }
            let signatures = signatures.map_err(|reason| unwritable("unwritable", reason))?;
            bytes.splice(0..0, signatures.into_bytes());
        }
        let from = return_path
            .ok_or_else(|| unwritable("unwritable", "the return path is no email address"))?;
        Ok(Mail { from, to, bytes })
    }

    /// The fields of every message, then those of this one in their place, then ours.
    fn add_fields(
        &self,
        headers: &mut Headers,
        message: &Outgoing,
        email: &EmailContent,
        reference: Reference,
    ) -> Result<(), Unwritable> {
        for (name, value) in &self.headers {
            headers.insert_raw(HeaderValue::new(name.clone(), value.clone()));
        }
        for (name, value) in &email.headers {
            let (name, value) = field(name, value)?;
            headers.insert_raw(HeaderValue::new(name, value));
        }
        // What Gmail reports complaints by: the campaign, the variant, the workspace, the sender.
        let campaign =
            message.campaign.map_or_else(String::new, |id| id.uuid().simple().to_string());
        let variant = message.variant.as_deref().unwrap_or_default();
        let variant: String =
            variant.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
        let feedback =
            format!("{campaign}:{variant}:{}:{FEEDBACK_SENDER}", message.workspace.uuid().simple());
        let ours = [("X-Message-Id", reference.to_string()), ("Feedback-ID", feedback)];
        for (name, value) in ours {
            headers.insert_raw(HeaderValue::new(HeaderName::new_from_ascii_str(name), value));
        }
        Ok(())
    }
}

/// The sender, the recipient, and the reference in `Message-ID`.
struct Addresses {
    from: Mailbox,
    to: Address,
    reference: Reference,
}

fn built(
    message: &Outgoing,
    email: &EmailContent,
    addresses: Addresses,
    now: Timestamp,
) -> Result<Message, Unwritable> {
    let Addresses { from, to, reference } = addresses;
    if email.subject.chars().any(char::is_control) {
        return Err(unwritable("invalid_header", "the subject is more than a line"));
    }
    let seconds = u64::try_from(now.millis().div_euclid(1000)).unwrap_or_default();
    let mut head = Message::builder()
        .date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
        .message_id(Some(format!("<{reference}@{}>", from.email.domain())))
        .from(from)
        .to(Mailbox::new(None, to))
        .subject(email.subject.as_str());
    if let Some(reply_to) = email.reply_to.as_deref().filter(|text| !text.is_empty()) {
        let reply_to = mailbox(reply_to)
            .ok_or_else(|| unwritable("invalid_header", "replyTo is no email address"))?;
        head = head.reply_to(reply_to);
    }
    let plain = email.text.clone().map(SinglePart::plain);
    let html = email.html.clone().map(SinglePart::html);
    let built = match (plain, html) {
        (Some(plain), Some(html)) => {
            // A boundary of its own, so that the same message is the same mail on every try.
            let boundary = format!("=_{}", message.id.uuid().simple());
            let parts = MultiPart::alternative().boundary(boundary);
            head.multipart(parts.singlepart(plain).singlepart(html))
        }
        (Some(only), None) | (None, Some(only)) => head.singlepart(only),
        (None, None) => head.singlepart(SinglePart::plain(String::new())),
    };
    built.map_err(|reason| unwritable("unwritable", reason))
}

/// A field's name and value, where it is not ours and its value stays on its line.
fn field(name: &str, value: &str) -> Result<(HeaderName, String), Unwritable> {
    let lower = name.to_ascii_lowercase();
    let is_token =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
    if !is_token {
        return Err(unwritable("invalid_header", "a header's name is none"));
    }
    if OURS.contains(&lower.as_str()) {
        return Err(unwritable(
            "invalid_header",
            format!("the header {name} is written by Millrace"),
        ));
    }
    if value.chars().any(char::is_control) {
        return Err(unwritable("invalid_header", format!("the header {name} is more than a line")));
    }
    let name = HeaderName::new_from_ascii(name.to_owned())
        .map_err(|_| unwritable("invalid_header", "a header's name is none"))?;
    Ok((name, value.to_owned()))
}

/// Reads `address` or `name <address>`.
fn mailbox(text: &str) -> Option<Mailbox> {
    let text = text.trim();
    let address = address_of(text)?.as_str().parse().ok()?;
    let name = text.strip_suffix('>').and_then(|rest| rest.rsplit_once('<'));
    let name = name.map(|(name, _)| unquoted(name.trim())).filter(|name| !name.is_empty());
    if name.as_deref().is_some_and(|name| name.chars().any(char::is_control)) {
        return None;
    }
    Some(Mailbox::new(name, address))
}

/// A quoted name without its quotes: RFC 5322 3.2.4.
fn unquoted(name: &str) -> String {
    let Some(inner) = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut out = String::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        out.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    out
}

#[cfg(test)]
mod tests;

//! Mail that came back: reports of delivery (RFC 3464) and of abuse (RFC 5965).
//!
//! Whoever knows the address such mail goes to can write it, so nothing in it is believed but what its
//! reference proves: that its writer had the message.

mod arf;
mod dsn;

use mail_parser::{Message, MessageParser, MimeHeaders as _, PartType};
use providers::model::{Name, Reference, Report};

/// Places of nested messages at most: a parser's work on them is recursive.
const NESTED_MAX: usize = 200;
/// Bytes of a report's fields that are looked at.
const FIELDS_BYTES_MAX: usize = 256 << 10;
/// Recipients of one report that are looked at; ours have one.
const RECIPIENTS_MAX: usize = 100;
/// The header by which our messages name themselves.
const OWN_HEADER: &str = "X-Message-Id";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    /// What is reported; nothing where it is mail of another kind: an answer out of office, a letter.
    pub reports: Vec<Report>,
}

/// The bytes are no mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a mail message")]
pub struct NotMail;

/// Reads mail. `recipients` are the addresses it was handed over for.
///
/// # Errors
/// When it has no header, or nests messages beyond any use.
pub fn returned(bytes: &[u8], recipients: &[String]) -> Result<Returned, NotMail> {
    if nested(bytes) > NESTED_MAX {
        return Err(NotMail);
    }
    let mail = MessageParser::default().parse(bytes).ok_or(NotMail)?;
    if mail.headers().is_empty() {
        return Err(NotMail);
    }
    let own = own_names(&mail, recipients);
    let reports = match kind(&mail).as_deref() {
        Some("feedback-report") => arf::reports(&mail, &own),
        Some("delivery-status") => dsn::reports(&mail, &own),
        // What is no report by its form may be one by its header.
        _ => dsn::without_form(&mail, &own),
    };
    Ok(Returned { reports })
}

/// Where a message may be nested in another, at most.
fn nested(bytes: &[u8]) -> usize {
    let found = |word: &[u8]| {
        let windows = bytes.windows(word.len());
        windows.filter(|window| window.eq_ignore_ascii_case(word)).count()
    };
    found(b"rfc822") + found(b"global") + found(b"digest")
}

/// The kind of a `multipart/report`.
fn kind(mail: &Message<'_>) -> Option<String> {
    let form = mail.content_type()?;
    let is_report = form.ctype().eq_ignore_ascii_case("multipart")
        && form.subtype().is_some_and(|subtype| subtype.eq_ignore_ascii_case("report"));
    let kind = form.attribute("report-type")?;
    is_report.then(|| kind.to_ascii_lowercase())
}

/// What names the message in all of the mail: the address it came back to, then what was returned of it.
fn own_names(mail: &Message<'_>, recipients: &[String]) -> Vec<Name> {
    let handed = recipients.iter().map(String::as_str);
    let written = ["Delivered-To", "X-Original-To", "To"]
        .into_iter()
        .flat_map(|name| mail.headers_raw().filter(move |(key, _)| key.eq_ignore_ascii_case(name)));
    let addresses = handed.chain(written.map(|(_, value)| value));
    let mut references: Vec<Reference> = addresses.filter_map(reference_in).collect();
    for header in returned_headers(mail) {
        let (name, value) = header;
        let is_ours =
            name.eq_ignore_ascii_case(OWN_HEADER) || name.eq_ignore_ascii_case("Message-ID");
        references.extend(is_ours.then(|| Reference::of_message_id(&value)).flatten());
    }
    references.into_iter().map(Name::Reference).collect()
}

/// The bounce address in the value of a header.
fn reference_in(text: &str) -> Option<Reference> {
    text.split([',', ' ', '<', '>', '"', '\t', '\r', '\n']).find_map(Reference::of_bounce_address)
}

/// The headers of the message that came back, as far as they did.
fn returned_headers(mail: &Message<'_>) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    for part in &mail.parts {
        match &part.body {
            PartType::Message(message) => {
                headers.extend(
                    message.headers_raw().map(|(k, v)| (k.to_owned(), v.trim().to_owned())),
                );
            }
            PartType::Text(text) if is(part, "text", "rfc822-headers") => {
                headers.extend(blocks(text.as_bytes()).into_iter().take(1).flatten());
            }
            PartType::Binary(bytes) | PartType::InlineBinary(bytes)
                if is(part, "message", "global-headers") =>
            {
                headers.extend(blocks(bytes).into_iter().take(1).flatten());
            }
            _ => {}
        }
    }
    headers
}

fn is(part: &mail_parser::MessagePart<'_>, kind: &str, subtype: &str) -> bool {
    part.content_type().is_some_and(|form| {
        form.ctype().eq_ignore_ascii_case(kind)
            && form.subtype().is_some_and(|own| own.eq_ignore_ascii_case(subtype))
    })
}

/// The bytes of the first part of a type.
fn part<'a>(mail: &'a Message<'_>, kind: &str, subtypes: &[&str]) -> Option<&'a [u8]> {
    let part =
        mail.parts.iter().find(|part| subtypes.iter().any(|subtype| is(part, kind, subtype)))?;
    let bytes = part.contents();
    Some(bytes.get(..bytes.len().min(FIELDS_BYTES_MAX)).unwrap_or(bytes))
}

/// Fields of a block, unfolded, in their order.
type Fields = Vec<(String, String)>;

/// Blocks of fields with blank lines between them.
fn blocks(bytes: &[u8]) -> Vec<Fields> {
    let bytes = bytes.get(..bytes.len().min(FIELDS_BYTES_MAX)).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let mut blocks: Vec<Fields> = vec![Fields::new()];
    for line in text.lines() {
        if line.trim().is_empty() {
            if blocks.last().is_some_and(|block| !block.is_empty()) {
                blocks.push(Fields::new());
            }
            continue;
        }
        let Some(block) = blocks.last_mut() else { continue };
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = block.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            block.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// The value of a field; empty where there is none.
fn field<'a>(block: &'a [(String, String)], name: &str) -> &'a str {
    let found = block.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str()).unwrap_or_default()
}

/// The address in `rfc822; ann@example.test`, or alone.
fn address_in(value: &str) -> Option<String> {
    let address = value.split_once(';').map_or(value, |(_, address)| address);
    let address = address.trim().trim_start_matches('<').trim_end_matches('>').trim();
    (address.contains('@') && !address.contains(char::is_whitespace)).then(|| address.to_owned())
}

#[cfg(test)]
mod tests;

//! The references in a returned mail: in the address that it was sent to, and in the headers that it returns.

use mail_parser::{Message, PartType};
use providers::model::{Name, Reference};

use super::fields::{Field, blocks, is};

/// The header with the reference in messages of Millrace.
const OWN_HEADER: &str = "X-Message-Id";

/// References to the message that was returned, best first: those in the envelope, then those in the headers of the
/// mail, then those in the headers of the returned message.
pub(super) fn of_message(mail: &Message<'_>, recipients: &[String]) -> Vec<Name> {
    let envelope = recipients.iter().map(String::as_str);
    let headers = ["Delivered-To", "X-Original-To", "To"]
        .into_iter()
        .flat_map(|name| mail.headers_raw().filter(move |(key, _)| key.eq_ignore_ascii_case(name)));
    let addresses = envelope.chain(headers.map(|(_, value)| value));
    let mut references: Vec<Reference> = addresses.filter_map(in_addresses).collect();
    for field in returned_headers(mail) {
        if field.is_named(OWN_HEADER) || field.is_named("Message-ID") {
            references.extend(Reference::of_message_id(&field.value));
        }
    }
    references.into_iter().map(Name::Reference).collect()
}

/// The first reference in the addresses of a header's value.
pub(super) fn in_addresses(text: &str) -> Option<Reference> {
    text.split([',', ' ', '<', '>', '"', '\t', '\r', '\n']).find_map(Reference::of_bounce_address)
}

/// The headers of the returned message, if the mail contains them.
fn returned_headers(mail: &Message<'_>) -> Vec<Field> {
    let mut headers = Vec::new();
    for part in &mail.parts {
        match &part.body {
            PartType::Message(message) => {
                headers.extend(message.headers_raw().map(|(name, value)| Field {
                    name: name.to_owned(),
                    value: value.trim().to_owned(),
                }));
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

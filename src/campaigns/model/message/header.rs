//! Headers that an author may add to a request: whose names are headers', whose values are one line, and
//! that are not the transport's or ours.

use std::collections::{BTreeMap, BTreeSet};

use kernel::fields::Fields;

use super::{
    super::words::{self, Read},
    secret,
};

/// Headers of one request.
const HEADERS_MAX: usize = 50;
/// Characters of a name.
const NAME_CHARS_MAX: usize = 100;
/// Characters of a value.
const VALUE_CHARS_MAX: usize = 4_096;

/// Headers of one hop (RFC 9110 7.6.1) and of the message's frame, which belong to the transport.
const OF_THE_TRANSPORT: &[&str] = &[
    "host",
    "content-length",
    "content-encoding",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
    "http2-settings",
    "expect",
];
/// Headers that sign the request, so that its receiver knows us by them.
const OURS: &[&str] = &["webhook-id", "webhook-timestamp", "webhook-signature"];

/// Parts of names of headers that carry credentials.
const CREDENTIAL_PARTS: &[&str] = &[
    "authorization",
    "authentication",
    "cookie",
    "credential",
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
];
/// Whole words of such names: `X-Auth`, `X-Api-Key`.
const CREDENTIAL_WORDS: &[&str] = &["auth", "key", "jwt", "session"];
/// Headers that only look as if they carried credentials.
const NO_CREDENTIALS: &[&str] = &["idempotency-key", "x-idempotency-key"];

/// Whether the value of a header of this name is a credential: it is kept sealed and never answered.
pub fn carries_credentials(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    if NO_CREDENTIALS.contains(&lower.as_str()) {
        return false;
    }
    CREDENTIAL_PARTS.iter().any(|part| lower.contains(part))
        || lower.split(['-', '_', '.']).any(|word| CREDENTIAL_WORDS.contains(&word))
}

/// Judges a header's name.
pub(super) fn name(name: &str) -> Read<()> {
    words::at_most(name, NAME_CHARS_MAX)?;
    if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Err("must be a header's name".to_owned());
    }
    let lower = name.to_ascii_lowercase();
    if OF_THE_TRANSPORT.contains(&lower.as_str()) {
        return Err("must not be set: the transport sets it".to_owned());
    }
    if OURS.contains(&lower.as_str()) {
        return Err("must not be set: it signs the request".to_owned());
    }
    Ok(())
}

/// Judges a header's value, which is Liquid.
pub(super) fn value(value: &str) -> Read<()> {
    words::at_most(value, VALUE_CHARS_MAX)?;
    words::is_one_line(value)?;
    words::is_liquid(value)
}

/// Reads the object `headers`.
pub(super) fn read(body: &mut Fields<'_>) -> Option<BTreeMap<String, String>> {
    let sent = body.optional("headers").json_object()?;
    if sent.len() > HEADERS_MAX {
        body.refuse("headers", format!("must have at most {HEADERS_MAX} headers"));
        return None;
    }
    let (mut headers, mut seen) = (BTreeMap::new(), BTreeSet::new());
    for (header, content) in sent {
        let judged = name(&header).and_then(|()| {
            let Some(text) = content.as_str() else { return Err("must be a string".to_owned()) };
            if !(carries_credentials(&header) && secret::is_sealed_text(text)?) {
                value(text)?;
            }
            if !seen.insert(header.to_ascii_lowercase()) {
                return Err("must not be sent in two spellings".to_owned());
            }
            Ok(text.to_owned())
        });
        match judged {
            Ok(text) => drop(headers.insert(header, text)),
            Err(problem) => body.refuse(&format!("headers.{}", shown(&header)), problem),
        }
    }
    Some(headers)
}

/// A name as a complaint shows it: what is no name may be long, and more than a line.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_carry_credentials_are_known_by_their_names() {
        for name in [
            "Authorization",
            "Proxy-Authorization",
            "X-Api-Key",
            "api-key",
            "ApiKey",
            "X-Auth-Token",
            "X-Auth",
            "Cookie",
            "X-Functions-Key",
            "Ocp-Apim-Subscription-Key",
            "x_access_token",
            "Client-Secret",
            "X-JWT-Assertion",
        ] {
            assert!(carries_credentials(name), "{name}");
        }
        for name in [
            "Content-Type",
            "X-Plan",
            "Idempotency-Key",
            "Author",
            "X-Keyword",
            "Accept",
            "User-Agent",
        ] {
            assert!(!carries_credentials(name), "{name}");
        }
    }
}

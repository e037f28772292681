//! Custom headers of a request: valid names, single-line values, and none that the transport or Millrace
//! sets.

use std::collections::{BTreeMap, BTreeSet};

use kernel::fields::Fields;

use super::{
    super::words::{self, Read},
    secret,
};

const HEADERS_MAX: usize = 50;
const NAME_CHARS_MAX: usize = 100;
const VALUE_CHARS_MAX: usize = 4_096;

/// Hop-by-hop headers (RFC 9110 7.6.1) and framing headers, which belong to the transport.
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
/// Headers that sign the request.
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
/// Headers that match but carry no credentials.
const NO_CREDENTIALS: &[&str] = &["idempotency-key", "x-idempotency-key"];

/// Whether the value of this header is a credential: it is stored sealed and never returned.
pub fn carries_credentials(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    if NO_CREDENTIALS.contains(&lower.as_str()) {
        return false;
    }
    CREDENTIAL_PARTS.iter().any(|part| lower.contains(part))
        || lower.split(['-', '_', '.']).any(|word| CREDENTIAL_WORDS.contains(&word))
}

/// Whether a text is a token (RFC 9110, 5.6.2), as names of headers are.
fn is_token(text: &str) -> bool {
    let is_of_tokens =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_of_tokens)
}

/// Checks a header's name.
pub(super) fn name(name: &str) -> Read<()> {
    words::at_most(name, NAME_CHARS_MAX)?;
    if !is_token(name) {
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

/// Checks a header's value, which is Liquid.
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
        let checked = name(&header).and_then(|()| {
            let Some(text) = content.as_str() else { return Err("must be a string".to_owned()) };
            if !(carries_credentials(&header) && secret::is_sealed_text(text)?) {
                value(text)?;
            }
            if !seen.insert(header.to_ascii_lowercase()) {
                return Err("must not be sent in two spellings".to_owned());
            }
            Ok(text.to_owned())
        });
        match checked {
            Ok(text) => drop(headers.insert(header, text)),
            Err(problem) => body.refuse(&format!("headers.{}", shown(&header)), problem),
        }
    }
    Some(headers)
}

/// A name in an error message, without line breaks and shortened.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_headers_are_those_that_can_be_sent() {
        for text in (0_u8..128)
            .map(char::from)
            .map(|it| format!("x{it}"))
            .chain([String::new(), "ä".into()])
        {
            assert_eq!(
                is_token(&text),
                http::HeaderName::from_bytes(text.as_bytes()).is_ok(),
                "{text:?}"
            );
        }
    }

    #[test]
    fn headers_with_credentials_are_recognised_by_name() {
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

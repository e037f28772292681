//! Moves the credentials of a URL into a header (RFC 7617).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderValue;
use percent_encoding::percent_decode_str;
use url::Url;

/// The URL without its credentials, and the header with them.
pub(super) fn split(mut url: Url) -> (Url, Option<HeaderValue>) {
    if url.username().is_empty() && url.password().is_none() {
        return (url, None);
    }
    let bytes = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    let mut pair = bytes(url.username());
    pair.push(b':');
    pair.extend(bytes(url.password().unwrap_or_default()));
    // Both fail only on URLs without a host, which have no credentials.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    (url, header(&pair))
}

/// The header of a name and a password.
pub(super) fn of(username: &str, password: &str) -> Option<HeaderValue> {
    header(format!("{username}:{password}").as_bytes())
}

fn header(pair: &[u8]) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_removed_from_the_url() {
        let split = |text: &str| {
            let (url, header) = split(Url::parse(text).unwrap());
            (url.to_string(), header.map(|header| header.to_str().unwrap().to_owned()))
        };
        assert_eq!(split("http://h/x"), ("http://h/x".to_owned(), None));
        let expected = Some(format!("Basic {}", STANDARD.encode("a@b:p:ä")));
        assert_eq!(split("http://a%40b:p%3A%C3%A4@h/x"), ("http://h/x".to_owned(), expected));
    }
}

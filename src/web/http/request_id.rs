//! `X-Request-Id`: the caller's if it is valid, otherwise a new one; returned, and part of every log line.

use std::{fmt, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest id accepted from a caller, in characters.
const REQUEST_ID_CHARS_MAX: usize = 128;

/// Identifies one request in logs and answers. It is in the request's extensions.
#[derive(Debug, Clone)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// The caller's id if it is 1–128 letters, digits, `-`, `_`, `.` or `:`; otherwise a new one.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let sent = headers.get(X_REQUEST_ID).and_then(|value| value.to_str().ok());
        match sent.filter(|text| is_sane(text)) {
            Some(text) => Self(text.into()),
            None => Self(Uuid::new_v4().simple().to_string().into()),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("checked or minted: visible ASCII")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_sane(text: &str) -> bool {
    (1..=REQUEST_ID_CHARS_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_for(sent: &[u8]) -> RequestId {
        let mut headers = HeaderMap::new();
        headers.insert(X_REQUEST_ID, HeaderValue::from_bytes(sent).unwrap());
        RequestId::of(&headers)
    }

    #[test]
    fn a_valid_id_is_kept() {
        assert_eq!(id_for(b"01HX-a_b.c:9").as_str(), "01HX-a_b.c:9");
    }

    #[test]
    fn anything_else_is_replaced() {
        for sent in [&b""[..], b"a b", b"a\"b", b"\xff", &[b'x'; 129], b"${jndi}"] {
            let id = id_for(sent);
            assert_eq!(id.as_str().len(), 32, "{sent:?}");
            assert_ne!(id.as_str().as_bytes(), sent);
        }
        assert_eq!(RequestId::of(&HeaderMap::new()).as_str().len(), 32);
    }
}

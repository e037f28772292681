//! hyper refuses bytes that are not a request by itself, with an empty body, before any service sees them. This
//! module replaces those answers by ones with the error body.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::StatusCode;
use kernel::Timestamp;
use tokio::io::AsyncWrite;

use crate::http::envelope;

/// The beginning of hyper's own answers; a status follows.
const BEGINNING: &[u8] = b"HTTP/1.1 ";
/// Distinguishes them from this program's answers, which have bodies.
const NO_BODY: &[u8] = b"\r\ncontent-length: 0\r\n";
/// The end of a head.
const END: &[u8] = b"\r\n\r\n";

/// Bytes to write instead of others.
#[derive(Debug)]
pub(super) struct Swap {
    bytes: Vec<u8>,
    written: usize,
    /// The number of hyper's bytes that these replace.
    replaced: usize,
}

impl Swap {
    /// The replacement for a refusal of hyper's; `None` for any other bytes.
    pub(super) fn of(written: &[u8], now: Timestamp) -> Option<Self> {
        let rest = written.strip_prefix(BEGINNING)?;
        let status = StatusCode::from_bytes(rest.get(..3)?).ok()?;
        let is_canned = status.is_client_error()
            && written.ends_with(END)
            && written.windows(NO_BODY.len()).any(|window| window == NO_BODY);
        let swap =
            || Self { bytes: envelope::whole(status, now), written: 0, replaced: written.len() };
        is_canned.then(swap)
    }

    /// Continues to write; ready with the number of replaced bytes once all is written.
    pub(super) fn poll_write<W: AsyncWrite + Unpin>(
        &mut self,
        out: &mut W,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        while self.written < self.bytes.len() {
            let count = ready!(Pin::new(&mut *out).poll_write(cx, &self.bytes[self.written..]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += count;
        }
        Poll::Ready(Ok(self.replaced))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANNED: &[u8] =
        b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

    #[test]
    fn only_refusals_without_a_body_are_replaced() {
        let now = Timestamp::from_millis(0);
        let swap = Swap::of(CANNED, now).expect("hyper's own");
        let text = String::from_utf8(swap.bytes).unwrap();
        assert!(text.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{text}");
        assert!(text.contains(r#""errors":["Request head is too large"]"#), "{text}");
        assert_eq!(swap.replaced, CANNED.len());
        for other in [
            &b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"[..],
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n\r\nhello",
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\n",
            b"HTTP/1.1 4",
            b"",
        ] {
            assert!(Swap::of(other, now).is_none(), "{}", String::from_utf8_lossy(other));
        }
    }

    #[tokio::test]
    async fn a_replacement_is_written_whole_in_any_number_of_writes() {
        let mut swap = Swap::of(CANNED, Timestamp::from_millis(0)).unwrap();
        let expected = swap.bytes.clone();
        let (mut near, mut far) = tokio::io::duplex(3);
        let writing = tokio::spawn(async move {
            std::future::poll_fn(|cx| swap.poll_write(&mut near, cx)).await.unwrap()
        });
        let mut got = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut far, &mut got).await.unwrap();
        assert_eq!(writing.await.unwrap(), CANNED.len());
        assert_eq!(got, expected);
    }
}

//! Reads a body into bytes: content type, limit, memory, pace, decompression, in this order.

use std::time::Duration;

use axum::extract::Request;
use bytes::Bytes;
use http::{
    HeaderMap,
    header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT},
};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use kernel::Error;
use tokio::time::{Instant, timeout_at};

use super::{
    budget::{Held, Pace},
    encoding::Encoding,
};

/// Most bytes allocated when the first bytes of a body arrive, if these need no more. The `Content-Length`
/// alone allocates nothing.
const FIRST_CAPACITY_BYTES_MAX: usize = 4 << 10;
/// Growth factor of the buffer, so that a body is copied few times.
const GROWTH: usize = 4;
/// Compressed bodies up to this size are decompressed on the async thread; larger ones on a blocking thread.
const INFLATE_INLINE_BYTES_MAX: usize = 32 << 10;
/// A body over the limit is read and discarded up to this size, so that its sender still reads the answer.
const DISCARD_BYTES_MAX: u64 = 64 << 20;
/// Longest time for discarding.
const DISCARD_MAX: Duration = Duration::from_secs(5);

/// A whole JSON body, decompressed, of at most `limit` bytes.
pub(super) async fn json(
    request: Request,
    limit: usize,
    held: Held,
) -> Result<(Vec<u8>, Held), Error> {
    check_content_type(request.headers())?;
    whole(request, limit, held).await
}

/// A whole body, decompressed, of at most `limit` bytes, of any type.
pub(super) async fn whole(
    request: Request,
    limit: usize,
    mut held: Held,
) -> Result<(Vec<u8>, Held), Error> {
    let (parts, body) = request.into_parts();
    let encoding = Encoding::of(&parts.headers)?;
    let promised = promised_bytes(&parts.headers);
    if let Some(received) = promised.filter(|bytes| *bytes > limit as u64) {
        // With `Expect: 100-continue` the sender has not begun, and must not be asked to.
        if !parts.headers.contains_key(EXPECT) {
            discard(body, 0).await;
        }
        return Err(Error::TooLarge { limit: limit as u64, received: Some(received) });
    }
    let bytes = arrive(body, promised, limit, &mut held).await?;
    if encoding == Encoding::Identity {
        return Ok((bytes, held));
    }
    inflate(encoding, bytes, limit, held).await
}

/// Accepts JSON, a type with `+json`, or no type.
fn check_content_type(headers: &HeaderMap) -> Result<(), Error> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let text = value.to_str().unwrap_or("?");
    let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = match essence.split_once('/') {
        Some(("application" | "text", "json")) => true,
        Some((kind, subtype)) => {
            !kind.is_empty() && subtype.len() > 5 && subtype.ends_with("+json")
        }
        None => essence.is_empty(),
    };
    if is_json {
        Ok(())
    } else {
        Err(Error::UnsupportedMediaType("Content-Type must be application/json".to_owned()))
    }
}

fn promised_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads the bytes as they were sent; `promised` is the `Content-Length`.
async fn arrive(
    mut body: axum::body::Body,
    promised: Option<u64>,
    limit: usize,
    held: &mut Held,
) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let promised = promised.and_then(|bytes| usize::try_from(bytes).ok());
    let pace = held.budget().pace();
    while let Some(chunk) = next_chunk(&mut body, &pace, bytes.len()).await? {
        let sum = bytes.len() + chunk.len();
        if sum > limit {
            let received = discard(body, sum as u64).await;
            return Err(Error::TooLarge { limit: limit as u64, received });
        }
        if sum > bytes.capacity() {
            let most = promised.unwrap_or(limit).max(sum);
            let room = bytes.capacity().saturating_mul(GROWTH).max(FIRST_CAPACITY_BYTES_MAX);
            reserve(&mut bytes, room.max(sum).min(most), held)?;
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Grows the capacity to `room`, after taking the memory from the budget.
fn reserve(bytes: &mut Vec<u8>, room: usize, held: &mut Held) -> Result<(), Error> {
    held.grow(room - held.bytes())?;
    bytes.reserve_exact(room - bytes.len());
    Ok(())
}

/// The next bytes; `None` at the end.
async fn next_chunk(
    body: &mut axum::body::Body,
    pace: &Pace,
    received: usize,
) -> Result<Option<Bytes>, Error> {
    loop {
        let (by, limit) = pace.deadline(Instant::now(), received);
        let Ok(frame) = timeout_at(by, body.frame()).await else {
            metrics_catalogue::HTTP_BODIES_TIMED_OUT.with([limit]).increment(1);
            return Err(Error::RequestTimeout);
        };
        match frame {
            None => return Ok(None),
            Some(Err(_)) => return Err(Error::bad_request("body did not arrive in full")),
            Some(Ok(frame)) => {
                if let Ok(chunk) = frame.into_data() {
                    return Ok(Some(chunk));
                }
            }
        }
    }
}

/// Reads and discards. Returns the whole size if the body ended within bounds.
async fn discard(mut body: axum::body::Body, already: u64) -> Option<u64> {
    let mut received = already;
    let deadline = Instant::now() + DISCARD_MAX;
    while !body.is_end_stream() && received < DISCARD_BYTES_MAX {
        match timeout_at(deadline, body.frame()).await {
            Ok(Some(Ok(frame))) => received += frame.data_ref().map_or(0, Bytes::len) as u64,
            Ok(None) => return Some(received),
            Ok(Some(Err(_))) | Err(_) => return None,
        }
    }
    body.is_end_stream().then_some(received)
}

/// Decompresses a body; a large one on a blocking thread, few at a time.
pub(super) async fn inflate(
    encoding: Encoding,
    packed: Vec<u8>,
    limit: usize,
    mut held: Held,
) -> Result<(Vec<u8>, Held), Error> {
    if packed.len() <= INFLATE_INLINE_BYTES_MAX {
        let bytes = encoding.inflate(packed, limit, &mut held)?;
        return Ok((bytes, held));
    }
    let budget = held.budget().clone();
    let _turn = budget.inflations().acquire().await.map_err(Error::internal)?;
    let inflated = tokio::task::spawn_blocking(move || {
        let bytes = encoding.inflate(packed, limit, &mut held)?;
        Ok((bytes, held))
    });
    inflated.await.map_err(Error::internal)?
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use http::HeaderValue;

    use super::*;
    use crate::http::body::{BodyBudget, BodyLimits};

    #[test]
    fn json_types_are_accepted_and_others_refused() {
        let is_accepted = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(text));
            check_content_type(&headers).is_ok()
        };
        for text in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "text/json",
            "application/cloudevents+json",
            "application/vnd.api+json;v=1",
            "",
        ] {
            assert!(is_accepted(text), "{text:?}");
        }
        for text in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=json",
            "application/xml",
            "json",
            "application/+json",
            "/json",
            "application/jsonx",
        ] {
            assert!(!is_accepted(text), "{text:?}");
        }
        assert!(check_content_type(&HeaderMap::new()).is_ok());
    }

    fn held(limits: BodyLimits) -> Held {
        BodyBudget::new(limits).hold_for_public(None)
    }

    async fn arrived(
        frames: Vec<&'static [u8]>,
        promised: Option<u64>,
        limit: usize,
    ) -> Result<Vec<u8>, Error> {
        let frames = futures_util::stream::iter(frames.into_iter().map(Ok::<_, std::io::Error>));
        let mut held = held(BodyLimits::of_bytes(1 << 20));
        arrive(axum::body::Body::from_stream(frames), promised, limit, &mut held).await
    }

    #[tokio::test]
    async fn a_body_arrives_whatever_its_frames() {
        for promised in [None, Some(6), Some(1)] {
            assert_eq!(arrived(vec![b"abc", b"", b"def"], promised, 6).await.unwrap(), b"abcdef");
        }
        assert_eq!(arrived(vec![], None, 0).await.unwrap(), b"");
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_refused_with_its_size() {
        for promised in [None, Some(6)] {
            let refused = arrived(vec![b"abc", b"def"], promised, 5).await;
            let Err(Error::TooLarge { limit: 5, received: Some(6) }) = refused else {
                panic!("{refused:?}");
            };
        }
    }

    #[tokio::test]
    async fn memory_is_taken_for_received_bytes_and_not_for_content_length() {
        const PROMISED: usize = 1 << 20;
        let budget = BodyBudget::new(BodyLimits::of_bytes(1 << 21));
        let mut held = budget.hold_for_public(None);
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        let frames = futures_util::stream::unfold(receiver, |mut receiver| async {
            Some((Ok::<Bytes, std::io::Error>(receiver.recv().await?), receiver))
        });
        let body = axum::body::Body::from_stream(frames);
        let mut reading = Box::pin(arrive(body, Some(PROMISED as u64), 1 << 21, &mut held));
        let mut used = Vec::new();
        for chunk in [0, 1, 4095, 1, PROMISED - 4097] {
            assert!(reading.as_mut().now_or_never().is_none());
            used.push(budget.used_bytes());
            sender.send(Bytes::from(vec![b'x'; chunk])).await.unwrap();
        }
        // After nothing, an empty chunk, one byte, 4 KiB, one byte more.
        assert_eq!(used, [0, 0, 4 << 10, 4 << 10, 16 << 10]);
        drop(sender);
        assert_eq!(reading.await.unwrap().len(), PROMISED);
        assert_eq!(held.bytes(), PROMISED, "and no more than was promised");
    }

    #[tokio::test]
    async fn a_silent_body_times_out() {
        let limits =
            BodyLimits { silence_max: Duration::from_millis(20), ..BodyLimits::of_bytes(1 << 20) };
        let frames = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
        let body = axum::body::Body::from_stream(frames);
        let refused = arrive(body, Some(10), 10, &mut held(limits)).await;
        assert!(matches!(refused, Err(Error::RequestTimeout)), "{refused:?}");
    }

    /// One byte every 5 ms, without end.
    fn drip() -> axum::body::Body {
        let drip = futures_util::stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b"x")), ()))
        });
        axum::body::Body::from_stream(drip)
    }

    #[tokio::test]
    async fn an_endless_slow_body_times_out() {
        let limits =
            BodyLimits { arrival_max: Duration::from_millis(50), ..BodyLimits::of_bytes(1 << 20) };
        let refused = arrive(drip(), None, 100_000, &mut held(limits)).await;
        assert!(matches!(refused, Err(Error::RequestTimeout)), "{refused:?}");
    }

    #[tokio::test]
    async fn a_body_below_the_least_rate_times_out_after_the_grace() {
        // Bytes arrive at most once in 5 ms, which is less than a fifth of this rate.
        let limits = BodyLimits {
            grace: Duration::from_millis(50),
            rate_min: 1024,
            ..BodyLimits::of_bytes(1 << 20)
        };
        let begun = Instant::now();
        let refused = arrive(drip(), None, 100_000, &mut held(limits)).await;
        assert!(matches!(refused, Err(Error::RequestTimeout)), "{refused:?}");
        assert!(begun.elapsed() >= Duration::from_millis(50));
    }

    #[tokio::test]
    async fn a_body_without_memory_gets_503_and_retry_after() {
        let body = axum::body::Body::from("abcdef");
        let refused = arrive(body, None, 1000, &mut held(BodyLimits::of_bytes(4))).await;
        assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
    }
}

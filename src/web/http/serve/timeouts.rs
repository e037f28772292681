//! Timeouts of a connection: request head, idleness and stalled answers, derived from its bytes and requests.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Request, Version};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use kernel::Clock;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tower::Service;

use super::{super::front::Front, canned::Swap, options::ServeOptions};

/// Checks of a connection within its shortest limit.
const CHECKS_PER_LIMIT: u32 = 8;
/// The value of an unset time.
const NEVER: u64 = u64::MAX;

/// The state of one connection; times are milliseconds since its start.
#[derive(Debug)]
pub(super) struct ConnectionTimeouts {
    start: Instant,
    requests: AtomicUsize,
    /// The first byte of an incomplete head; the connection's start before its first head.
    head_since: AtomicU64,
    /// The last byte sent, or the end of the last request.
    idle_since: AtomicU64,
    /// The end of the last request and its answer, in microseconds; the connection's start before.
    rest_since_us: AtomicU64,
    /// The start of a write that the peer does not take.
    stalled_since: AtomicU64,
    /// Set by the first request. HTTP/2 sends pings between requests, so bytes need not belong to a head: only
    /// idleness is limited, and hyper limits the size of heads.
    is_http2: AtomicBool,
}

impl ConnectionTimeouts {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            requests: AtomicUsize::new(0),
            head_since: AtomicU64::new(0),
            idle_since: AtomicU64::new(0),
            rest_since_us: AtomicU64::new(0),
            stalled_since: AtomicU64::new(NEVER),
            is_http2: AtomicBool::new(false),
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(NEVER - 1)
    }

    /// Since when no request is served and nothing waits to be written; `None` otherwise. Bytes of an incomplete
    /// request head do not count.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let waits = self.stalled_since.load(Ordering::Acquire) != NEVER;
        let rest = Duration::from_micros(self.rest_since_us.load(Ordering::Acquire));
        let is_idle = !waits && self.is_between_requests();
        is_idle.then(|| self.start + rest)
    }

    /// Resolves with the reason once the connection has exceeded a limit.
    pub(super) async fn overdue(&self, options: &ServeOptions) -> Overdue {
        let shortest = options.head_max.min(options.idle_max).min(options.stall_max);
        let mut looks = tokio::time::interval(shortest / CHECKS_PER_LIMIT);
        loop {
            looks.tick().await;
            if let Some(reason) = self.overdue_at(self.now_ms(), options) {
                return reason;
            }
        }
    }

    fn overdue_at(&self, now_ms: u64, options: &ServeOptions) -> Option<Overdue> {
        let over = |since: &AtomicU64, limit: Duration| {
            let since = since.load(Ordering::Acquire);
            since != NEVER && u128::from(now_ms.saturating_sub(since)) > limit.as_millis()
        };
        if over(&self.stalled_since, options.stall_max) {
            return Some(Overdue::Answer);
        }
        if self.requests.load(Ordering::Acquire) > 0 {
            return None;
        }
        if over(&self.head_since, options.head_max) {
            return Some(Overdue::Head);
        }
        let waits_for_head = self.head_since.load(Ordering::Acquire) != NEVER;
        (!waits_for_head && over(&self.idle_since, options.idle_max)).then_some(Overdue::Idle)
    }

    /// Whether no service is running, so that written bytes may be hyper's own.
    fn is_between_requests(&self) -> bool {
        self.requests.load(Ordering::Acquire) == 0
    }

    fn has_read(&self, bytes: &[u8]) {
        let between_requests = self.is_between_requests()
            && self.head_since.load(Ordering::Acquire) == NEVER
            && !self.is_http2.load(Ordering::Acquire);
        if between_requests && !bytes.is_empty() {
            self.head_since.store(self.now_ms(), Ordering::Release);
        }
    }

    /// A request in flight, for tests.
    #[cfg(test)]
    pub(super) fn begin_for_test(self: &Arc<Self>) -> InFlight {
        InFlight::begin(self, Version::HTTP_11)
    }

    fn has_written(&self) {
        self.stalled_since.store(NEVER, Ordering::Release);
        self.idle_since.store(self.now_ms(), Ordering::Release);
    }

    fn cannot_write(&self) {
        let now_ms = self.now_ms();
        let _ =
            self.stalled_since.compare_exchange(NEVER, now_ms, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// The limit that a connection exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overdue {
    Head,
    Idle,
    Answer,
}

impl Overdue {
    /// The name in metrics and logs.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Head => "head_timeout",
            Self::Idle => "idle_timeout",
            Self::Answer => "answer_timeout",
        }
    }
}

/// A request being answered, until the last byte of its answer is passed on.
#[derive(Debug)]
pub(super) struct InFlight(Arc<ConnectionTimeouts>);

impl InFlight {
    fn begin(timeouts: &Arc<ConnectionTimeouts>, version: Version) -> Self {
        if version == Version::HTTP_2 {
            timeouts.is_http2.store(true, Ordering::Release);
        }
        timeouts.requests.fetch_add(1, Ordering::AcqRel);
        timeouts.head_since.store(NEVER, Ordering::Release);
        Self(Arc::clone(timeouts))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let rest_us = u64::try_from(self.0.start.elapsed().as_micros()).unwrap_or(NEVER);
        self.0.rest_since_us.store(rest_us, Ordering::Release);
        self.0.idle_since.store(self.0.now_ms(), Ordering::Release);
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Wraps the front so that the connection's timeouts know its requests in flight.
pub(super) fn counted(front: Front, timeouts: Arc<ConnectionTimeouts>) -> Counted {
    Counted { front, timeouts }
}

#[derive(Clone)]
pub(super) struct Counted {
    front: Front,
    timeouts: Arc<ConnectionTimeouts>,
}

impl Service<Request<Incoming>> for Counted {
    type Response = http::Response<Answering>;
    type Error = std::convert::Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let in_flight = InFlight::begin(&self.timeouts, request.version());
        let answer = self.front.clone().answer(request.map(axum::body::Body::new));
        Box::pin(async move {
            let response = answer.await;
            Ok(response.map(|body| Answering { body, _in_flight: in_flight }))
        })
    }
}

/// The body of an answer, whose request is in flight until the end of the body.
pub(super) struct Answering {
    body: axum::body::Body,
    _in_flight: InFlight,
}

impl http_body::Body for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection whose reads and writes reset its timeouts.
pub(super) struct WatchedIo {
    stream: TcpStream,
    timeouts: Arc<ConnectionTimeouts>,
    clock: Clock,
    /// The answer that replaces one of hyper's.
    swap: Option<Swap>,
}

impl WatchedIo {
    pub(super) fn new(stream: TcpStream, timeouts: Arc<ConnectionTimeouts>, clock: Clock) -> Self {
        Self { stream, timeouts, clock, swap: None }
    }

    /// Replaces a refusal that hyper writes by itself. `None` when there is nothing to replace.
    fn poll_swap(&mut self, cx: &mut Context<'_>, buf: &[u8]) -> Option<Poll<io::Result<usize>>> {
        if self.swap.is_none() && self.timeouts.is_between_requests() {
            self.swap = Swap::of(buf, self.clock.now());
        }
        let written = self.swap.as_mut()?.poll_write(&mut self.stream, cx);
        if written.is_ready() {
            self.swap = None;
        }
        Some(written)
    }

    fn note<T>(&self, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match &written {
            Poll::Ready(Ok(_)) => self.timeouts.has_written(),
            Poll::Pending => self.timeouts.cannot_write(),
            Poll::Ready(Err(_)) => {}
        }
        written
    }
}

impl AsyncRead for WatchedIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if let Poll::Ready(Ok(())) = read {
            self.timeouts.has_read(&buf.filled()[before..]);
        }
        read
    }
}

impl AsyncWrite for WatchedIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = match self.poll_swap(cx, buf) {
            Some(written) => written,
            None => Pin::new(&mut self.stream).poll_write(cx, buf),
        };
        self.note(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.first().map_or(&[][..], |buf| buf);
        let written = match self.poll_swap(cx, first) {
            Some(written) => written,
            None => Pin::new(&mut self.stream).poll_write_vectored(cx, bufs),
        };
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> ServeOptions {
        ServeOptions {
            head_max: Duration::from_millis(100),
            idle_max: Duration::from_secs(1),
            stall_max: Duration::from_millis(300),
            ..ServeOptions::default()
        }
    }

    #[test]
    fn a_first_head_that_never_comes_is_overdue() {
        let timeouts = ConnectionTimeouts::new();
        assert_eq!(timeouts.overdue_at(100, &options()), None);
        assert_eq!(timeouts.overdue_at(101, &options()), Some(Overdue::Head));
    }

    #[test]
    fn a_request_being_answered_is_never_overdue() {
        let timeouts = Arc::new(ConnectionTimeouts::new());
        let in_flight = InFlight::begin(&timeouts, Version::HTTP_11);
        assert_eq!(timeouts.overdue_at(1_000_000, &options()), None);
        drop(in_flight);
        assert_eq!(timeouts.overdue_at(1_000_000, &options()), Some(Overdue::Idle));
    }

    #[test]
    fn idle_limit_is_longer_than_the_head_limit() {
        let timeouts = Arc::new(ConnectionTimeouts::new());
        drop(InFlight::begin(&timeouts, Version::HTTP_11));
        assert_eq!(timeouts.overdue_at(900, &options()), None);
        timeouts.has_read(b"G");
        let since = timeouts.head_since.load(Ordering::Acquire);
        assert_eq!(timeouts.overdue_at(since + 101, &options()), Some(Overdue::Head));
    }

    #[test]
    fn a_stalled_answer_is_overdue_during_further_requests() {
        let timeouts = Arc::new(ConnectionTimeouts::new());
        let _in_flight = InFlight::begin(&timeouts, Version::HTTP_11);
        timeouts.cannot_write();
        let since = timeouts.stalled_since.load(Ordering::Acquire);
        assert_eq!(timeouts.overdue_at(since + 301, &options()), Some(Overdue::Answer));
        timeouts.has_written();
        assert_eq!(timeouts.overdue_at(since + 301, &options()), None);
    }

    #[test]
    fn a_connection_is_idle_from_its_start_or_its_last_answer_whatever_bytes_come() {
        let timeouts = Arc::new(ConnectionTimeouts::new());
        assert_eq!(timeouts.idle_since(), Some(timeouts.start));
        timeouts.has_read(b"GET / HT");
        assert_eq!(timeouts.idle_since(), Some(timeouts.start));
        let in_flight = InFlight::begin(&timeouts, Version::HTTP_11);
        assert_eq!(timeouts.idle_since(), None);
        std::thread::sleep(Duration::from_millis(2));
        drop(in_flight);
        assert!(timeouts.idle_since().unwrap() > timeouts.start);
        timeouts.cannot_write();
        assert_eq!(timeouts.idle_since(), None, "an answer is still to be taken");
        timeouts.has_written();
        assert!(timeouts.idle_since().is_some());
    }

    #[test]
    fn http2_is_limited_by_idleness_alone() {
        let timeouts = Arc::new(ConnectionTimeouts::new());
        drop(InFlight::begin(&timeouts, Version::HTTP_2));
        timeouts.has_read(b"ping");
        assert_eq!(timeouts.overdue_at(500, &options()), None);
        assert_eq!(timeouts.overdue_at(2000, &options()), Some(Overdue::Idle));
    }
}

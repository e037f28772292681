//! Every question to ClickHouse passes here: so many at one time, and each ends in time.
//!
//! A question first waits for one of [`ReadLimits::queries_max`] places. What it waits there and what it waits for
//! ClickHouse come out of the same [`ReadLimits::time_max`]; then it fails with [`AnalyticsError::Late`]. A store that
//! is frozen so costs its callers that time, and not a connection each for ever.
//!
//! A place is free when its statement has ended in ClickHouse, also where the question was given up before.

use std::error::Error as _;
use std::{
    any::Any,
    future::poll_fn,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::Poll,
    time::{Duration, Instant},
};

use clickhouse::{
    Client, Row, RowOwned, RowRead,
    native::Block,
    query::{NativeCursor, Query, RowCursor},
};
use serde::Serialize;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use traces::{KeyValue, SpanKind};

use crate::{
    error::AnalyticsError,
    given_up::{self, Kept, Running},
};

/// Bounds of all questions together.
#[derive(Debug, Clone, Copy)]
pub struct ReadLimits {
    /// Longest time from asking a question to the end of its answer. Of an answer that is read row by row, only the
    /// time spent waiting for rows counts, since its reader may be slow.
    pub time_max: Duration,
    /// Questions in flight at one time.
    pub queries_max: usize,
    /// Questions waiting for their turn at one time; more are refused at once with [`AnalyticsError::Busy`].
    pub waiting_max: usize,
    /// How far the threads of questions stand back for all others of the machine: a Linux nice value. For ClickHouse on the
    /// same machine; other releases may not know the setting.
    pub nice: Option<u8>,
}

impl ReadLimits {
    /// Longest time a question may run in ClickHouse, in seconds: two thirds of the whole, so that its answer can still
    /// arrive.
    pub fn execution_seconds(self) -> u64 {
        (self.time_max.as_secs() * 2 / 3).max(1)
    }
}

impl Default for ReadLimits {
    /// 15 seconds, 32 in flight, 256 waiting.
    fn default() -> Self {
        Self { time_max: Duration::from_secs(15), queries_max: 32, waiting_max: 256, nice: None }
    }
}

/// The places questions are asked from; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Reads {
    inner: Arc<Inner>,
    /// What is kept until the questions asked with it have ended.
    kept: Kept,
}

#[derive(Debug)]
struct Inner {
    limits: ReadLimits,
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    began: Instant,
    /// Milliseconds from `began` to the last answer; 0 when there was none.
    answered_at_ms: AtomicU64,
}

/// Held while a question waits for its place.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Reads {
    pub(crate) fn limits(&self) -> ReadLimits {
        self.inner.limits
    }

    pub(crate) fn new(limits: ReadLimits) -> Self {
        let inner = Inner {
            limits,
            places: Arc::new(Semaphore::new(limits.queries_max.max(1))),
            waiting: AtomicUsize::new(0),
            began: Instant::now(),
            answered_at_ms: AtomicU64::new(0),
        };
        Self { inner: Arc::new(inner), kept: None }
    }

    /// The same places. Questions asked with them keep this too, until they have ended.
    pub(crate) fn keeping(&self, kept: impl Any + Send + Sync) -> Self {
        let both = (kept, self.kept.clone());
        Self { inner: Arc::clone(&self.inner), kept: Some(Arc::new(both)) }
    }

    /// Questions in flight, and questions waiting.
    pub(crate) fn in_flight_and_waiting(&self) -> (usize, usize) {
        let free = self.inner.places.available_permits();
        let used = self.inner.limits.queries_max.max(1).saturating_sub(free);
        (used, self.inner.waiting.load(Ordering::Acquire))
    }

    /// How long ago ClickHouse last answered a question; none when it never did.
    pub(crate) fn since_answer(&self) -> Option<Duration> {
        match self.inner.answered_at_ms.load(Ordering::Relaxed) {
            0 => None,
            at_ms => Some(self.inner.began.elapsed().saturating_sub(Duration::from_millis(at_ms))),
        }
    }

    fn answered(&self) {
        let at_ms = u64::try_from(self.inner.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.inner.answered_at_ms.store(at_ms.max(1), Ordering::Relaxed);
    }

    async fn place(&self, left: &mut Duration) -> Result<OwnedSemaphorePermit, AnalyticsError> {
        if let Ok(place) = Arc::clone(&self.inner.places).try_acquire_owned() {
            return Ok(place);
        }
        let before = self.inner.waiting.fetch_add(1, Ordering::AcqRel);
        let _waiting = Waiting(&self.inner.waiting);
        if before >= self.inner.limits.waiting_max {
            return Err(AnalyticsError::Busy);
        }
        let place = Arc::clone(&self.inner.places).acquire_owned();
        let place = in_time(left, place).await?;
        Ok(place.expect("the places are never closed"))
    }
}

/// Awaits `future` and takes the time it took from `left`; late when nothing is left of it.
async fn in_time<T>(
    left: &mut Duration,
    future: impl Future<Output = T>,
) -> Result<T, AnalyticsError> {
    let began = Instant::now();
    let done = timeout(*left, future).await.map_err(|_| AnalyticsError::Late)?;
    *left = left.saturating_sub(began.elapsed());
    Ok(done)
}

/// One question, being put together.
#[must_use]
#[derive(Clone)]
pub(crate) struct Read {
    query: Query,
    reads: Reads,
    time_max: Duration,
    /// Without a database; asks whether the statement has ended.
    outside: Client,
}

impl Read {
    pub(crate) fn new(query: Query, reads: Reads, outside: Client) -> Self {
        let time_max = reads.inner.limits.time_max;
        Self { query, reads, time_max, outside }
    }

    /// Allows another time than [`ReadLimits::time_max`].
    pub(crate) fn with_time_max(self, time_max: Duration) -> Self {
        Self { time_max, ..self }
    }

    /// Gives the server-side parameter `name` a value.
    pub(crate) fn param(self, name: &str, value: impl Serialize) -> Self {
        Self { query: self.query.param(name, value), ..self }
    }

    /// Sets a setting of ClickHouse for this question.
    pub(crate) fn with_setting(self, name: &str, value: impl Into<String>) -> Self {
        Self { query: self.query.with_setting(name, value), ..self }
    }

    /// The one row of the answer.
    pub(crate) async fn fetch_one<T: RowOwned + RowRead>(self) -> Result<T, AnalyticsError> {
        self.whole(async |query| query.fetch_one::<T>().await).await
    }

    /// All rows of the answer.
    pub(crate) async fn fetch_all<T: RowOwned + RowRead>(self) -> Result<Vec<T>, AnalyticsError> {
        self.whole(async |query| query.fetch_all::<T>().await).await
    }

    async fn whole<T>(
        self,
        ask: impl AsyncFnOnce(Query) -> clickhouse::error::Result<T>,
    ) -> Result<T, AnalyticsError> {
        let Self { query, reads, time_max, outside } = self;
        let answer = async {
            let mut left = time_max;
            let place = reads.place(&mut left).await?;
            let id = given_up::new_id();
            let query = given_up::with_id(query, &id);
            let mut running = Running::new(outside, id, place, reads.kept.clone());
            let answer = in_time(&mut left, ask(query)).await?;
            running.end();
            Ok(answer?)
        };
        let span = traces::step("clickhouse", SpanKind::Client);
        span.describe(|| {
            [
                KeyValue::new("db.system.name", "clickhouse"),
                // The rows that are asked for say which query it is.
                KeyValue::new("db.query.summary", std::any::type_name::<T>()),
            ]
        });
        let answer =
            span.around(Box::pin(answer)).await.inspect_err(|error: &AnalyticsError| {
                span.fail(error.kind());
                observe(error);
            })?;
        reads.answered();
        Ok(answer)
    }

    /// The answer, to be read row by row; asked when the first row is wanted.
    pub(crate) fn fetch<T: Row>(self) -> Result<RowStream<T>, AnalyticsError> {
        let (query, waiter) = self.in_pieces();
        Ok(RowStream { cursor: query.fetch()?, waiter })
    }

    /// The answer, to be read in blocks of columns; asked when the first block is wanted. Numbers are so read in a fraction of
    /// the time that rows take.
    pub(crate) fn fetch_blocks(self) -> Result<BlockStream, AnalyticsError> {
        let (query, waiter) = self.in_pieces();
        Ok(BlockStream { cursor: query.fetch_native()?, waiter })
    }

    fn in_pieces(self) -> (Query, Waiter) {
        let Self { query, reads, time_max, outside } = self;
        let id = given_up::new_id();
        let query = given_up::with_id(query, &id);
        (query, Waiter { reads, outside, id, running: None, left: time_max })
    }
}

/// An answer that is read piece by piece. Holds its place until its end, or until it is dropped and has ended.
struct Waiter {
    reads: Reads,
    outside: Client,
    id: String,
    /// None before the first piece is wanted.
    running: Option<Running>,
    /// What is left of the time that may be spent waiting.
    left: Duration,
}

impl Waiter {
    /// The next piece; none at the end.
    async fn wait<T>(
        &mut self,
        next: impl Future<Output = clickhouse::error::Result<Option<T>>>,
    ) -> Result<Option<T>, AnalyticsError> {
        let Self { reads, outside, id, running, left } = self;
        let is_first = running.is_none();
        let piece = async {
            if is_first {
                let place = reads.place(left).await?;
                let id = std::mem::take(id);
                *running = Some(Running::new(outside.clone(), id, place, reads.kept.clone()));
            }
            let mut piece = pin!(next);
            // Most rows have arrived with others: to time each takes longer than to read it.
            let at_hand = poll_fn(|context| Poll::Ready(piece.as_mut().poll(context))).await;
            let piece = match at_hand {
                Poll::Ready(piece) => piece,
                Poll::Pending => in_time(left, piece).await?,
            };
            if !matches!(piece, Ok(Some(_)))
                && let Some(running) = running.as_mut()
            {
                running.end();
            }
            Ok(piece?)
        };
        let piece = piece.await.inspect_err(observe)?;
        if is_first {
            reads.answered();
        }
        Ok(piece)
    }
}

/// An answer that is read row by row. Its place is that of the [`Waiter`].
pub(crate) struct RowStream<T> {
    cursor: RowCursor<T>,
    waiter: Waiter,
}

impl<T> std::fmt::Debug for RowStream<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream").field("left", &self.waiter.left).finish_non_exhaustive()
    }
}

impl<T> RowStream<T> {
    /// The next row; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<T::Value<'_>>, AnalyticsError>
    where
        T: RowRead,
    {
        self.waiter.wait(self.cursor.next()).await
    }
}

/// An answer that is read column by column, some ten thousand rows at a time. Its place is that of the [`Waiter`].
pub(crate) struct BlockStream {
    cursor: NativeCursor,
    waiter: Waiter,
}

impl BlockStream {
    /// The next rows; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Block>, AnalyticsError> {
        self.waiter.wait(self.cursor.next()).await
    }
}

/// Counts and logs a query that failed.
fn observe(error: &AnalyticsError) {
    if error.is_missing_table() {
        // Before the first migration. Callers that do not expect it return it as their own error.
        return;
    }
    metrics_catalogue::CLICKHOUSE_ERRORS.with([error.kind()]).increment(1);
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    tracing::warn!(%error, cause, kind = error.kind(), "a query to ClickHouse failed");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(queries_max: usize, waiting_max: usize) -> Reads {
        Reads::new(ReadLimits { queries_max, waiting_max, ..ReadLimits::default() })
    }

    #[tokio::test]
    async fn a_question_beyond_those_in_flight_and_waiting_is_refused_at_once() {
        let reads = reads(2, 1);
        let mut left = [Duration::from_secs(15); 4];
        let [first, second, third, fourth] = &mut left;
        let held = (reads.place(first).await.unwrap(), reads.place(second).await.unwrap());
        let mut waits = std::pin::pin!(reads.place(third));
        let polled = timeout(Duration::ZERO, waits.as_mut()).await;
        assert!(polled.is_err(), "the third waits");
        assert_eq!(reads.in_flight_and_waiting(), (2, 1));
        assert!(matches!(reads.place(fourth).await, Err(AnalyticsError::Busy)));
        drop(held.0);
        drop(waits.await.unwrap());
        assert_eq!(reads.in_flight_and_waiting().1, 0);
    }

    #[tokio::test]
    async fn waiting_for_a_place_ends_when_the_time_is_over() {
        const TIME_MAX: Duration = Duration::from_millis(50);
        let reads = reads(1, 1);
        let mut left = TIME_MAX;
        let _held = reads.place(&mut left).await.unwrap();
        let began = Instant::now();
        let refused = reads.place(&mut left).await;
        assert!(matches!(refused, Err(AnalyticsError::Late)));
        assert!(began.elapsed() >= TIME_MAX);
        assert_eq!(reads.in_flight_and_waiting(), (1, 0), "who gave up does not wait any more");
    }
}

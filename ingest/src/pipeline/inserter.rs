//! Sends chunks to ClickHouse, as often as it takes, and moves the cursor behind them in order.

use std::{future::poll_fn, ops::Range, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, future::join_all, stream};
use landed_keys::LandedKeys;
use parking_lot::Mutex;
use supervisor::{Backoff, Heartbeat};
use tokio::sync::{mpsc, oneshot};
use traces::{KeyValue, SpanKind};

use super::{
    Flow,
    chunk::{Chunk, InsertTarget, Partition, Rows, for_each_row},
    dead_letters::{self, DeadLetter},
    encode,
    insert::{self, Statement},
    metrics::PipelineMetrics,
    refusal::{self, Refusal},
};
use crate::{
    record::Batch,
    spool::{Cursor, Mark},
};

/// Rows refused, and not one taken, before the fault is looked for in the table and not in the rows.
const REFUSED_ALONE_MAX: usize = 64;
/// Pause while a file of keys is being read.
const SYNC_PAUSE: Duration = Duration::from_millis(20);
/// Every how many failed tries there is a line in the log.
const TRIES_PER_LOG: u32 = 20;

/// The pauses between attempts at a write: a ClickHouse that is back is used within the longest.
fn backoff() -> Backoff {
    Backoff::new(Duration::from_millis(100), Duration::from_secs(5))
}

pub(super) struct Inserter {
    pub client: clickhouse::Client,
    pub cursor: Cursor,
    /// Made durable before the cursor moves past the rows.
    pub landed_keys: Option<Arc<Mutex<LandedKeys>>>,
    pub dead_letters_dir: PathBuf,
    pub flow: Arc<Flow>,
    pub heartbeat: Heartbeat,
    pub metrics: PipelineMetrics,
    /// First part of every token: the spool's id in hexadecimal.
    pub spool: String,
}

/// A chunk and its place in the order of commits.
struct Turn {
    chunk: Chunk,
    /// Answers when the chunk before is settled; none for the first.
    previous: Option<oneshot::Receiver<()>>,
    settled: oneshot::Sender<()>,
}

/// A row ClickHouse refused.
struct Refused {
    row: usize,
    code: u16,
    reason: String,
}

/// Why ClickHouse refused rows for their content.
struct ContentRefusal {
    code: u16,
    reason: String,
}

impl Inserter {
    /// Runs until the gathering thread ends. Several chunks are inserted at one time, since each waits for the disk; the
    /// cursor moves behind them in their order.
    pub(super) async fn run(self, chunks: mpsc::Receiver<Chunk>) {
        let turns = stream::unfold((chunks, None), async |(mut chunks, previous)| {
            let chunk = self.heartbeat.waiting(chunks.recv()).await?;
            let (settled, next) = oneshot::channel();
            Some((Turn { chunk, previous, settled }, (chunks, Some(next))))
        });
        // As many as there are permits for chunks.
        turns.for_each_concurrent(None, |turn| self.settle(turn)).await;
    }

    /// Brings a chunk in, and moves the cursor behind it once it is behind the chunk before.
    async fn settle(&self, turn: Turn) {
        let Turn { chunk, previous, settled } = turn;
        // ClickHouse may be away for long: each call of it has a deadline of its own.
        self.heartbeat.waiting(self.noting(&chunk, self.insert_chunk(&chunk))).await;
        if let Some(previous) = previous {
            // Its sender is dropped with it: only when all of them end.
            self.heartbeat.waiting(previous).await.ok();
        }
        self.heartbeat.waiting(self.noting(&chunk, self.commit(chunk.end))).await;
        self.flow.suspects.lock().passed(chunk.end.position.get());
        self.flow.in_flight.lock().pop_front();
        self.metrics.events_drained.increment(chunk.events);
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of a lag")]
        let lag_ms = (self.flow.now_ms)().saturating_sub(chunk.oldest_at_ms) as f64;
        self.metrics.visible_lag_seconds.record(lag_ms / 1000.0);
        drop(chunk.permit);
        // None waits for the last one.
        settled.send(()).ok();
    }

    /// Awaits `work` on a chunk whose frames are to blame should it panic.
    async fn noting<T>(&self, chunk: &Chunk, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        poll_fn(|context| {
            self.flow.inserting.set(chunk.first.get(), chunk.frames);
            work.as_mut().poll(context)
        })
        .await
    }

    /// Brings in all rows of a chunk.
    async fn insert_chunk(&self, chunk: &Chunk) {
        let span = traces::work("landing");
        span.around(Box::pin(self.insert_partitions(chunk))).await;
    }

    async fn insert_partitions(&self, chunk: &Chunk) {
        // Before the rows: then a file of keys lacks none that the table has, whenever the process ends.
        let is_synced = self.sync_landed_keys().await;
        let (derived, others): (Vec<_>, Vec<_>) =
            chunk.partitions.iter().partition(|it| it.target.is_derived());
        // Each of them waits for the disk.
        join_all(derived.into_iter().map(|it| self.insert_partition(chunk, it))).await;
        for partition in others {
            self.insert_partition(chunk, partition).await;
        }
        if !chunk.unreadable.is_empty() {
            let name = format!("{:020}-unreadable", chunk.first.get());
            self.keep(name, chunk.unreadable.clone()).await;
        }
        if !is_synced {
            while !self.sync_landed_keys().await {
                tokio::time::sleep(SYNC_PAUSE).await;
            }
        }
    }

    /// Brings the rows of one partition in, whatever it takes; those that can never go in become
    /// dead letters.
    async fn insert_partition(&self, chunk: &Chunk, partition: &Partition) {
        let mut backoff = backoff();
        loop {
            let all = 0..partition.rows;
            let refusal = self.insert(chunk, partition, &all, &partition.block).await;
            let Err(refusal) = refusal else { return };
            if partition.target.is_derived() {
                self.pause(&mut backoff, "schema", &refusal.reason).await;
                continue;
            }
            let rows = Arc::new(self.read_again(chunk).await);
            match self.find_refused(chunk, partition, &rows, refusal).await {
                Some(refused) => {
                    if refused.is_empty() {
                        return;
                    }
                    let letters = self.letters(&rows, partition.target, &refused);
                    let name = format!("{:020}-{}", chunk.first.get(), partition.target);
                    self.keep(name, letters).await;
                    return;
                }
                None => self.pause(&mut backoff, "schema", "every row was refused").await,
            }
        }
    }

    /// The rows of a chunk. Blocks were made of them, which cannot be taken apart.
    async fn read_again(&self, chunk: &Chunk) -> Rows {
        let mut backoff = backoff();
        loop {
            let (cursor, frames) = (self.cursor.clone(), chunk.first..chunk.end.position);
            let payloads = match blocking(move || cursor.read_again(frames)).await {
                Ok(payloads) => payloads,
                Err(error) => {
                    self.pause(&mut backoff, "spool", &error.to_string()).await;
                    continue;
                }
            };
            let batches = (chunk.first.get()..).zip(payloads).filter_map(|(position, payload)| {
                let is_skipped = chunk.skipped.iter().any(|it| it.get() == position);
                // It was a batch when it was read first.
                (!is_skipped).then(|| Batch::from_bytes(payload).ok()).flatten()
            });
            let (left_out, is_unique) = (chunk.left_out.clone(), chunk.is_unique);
            return Rows { batches: batches.collect(), left_out, is_unique };
        }
    }

    /// Inserts some rows of a partition, for ever until ClickHouse takes them or refuses them for
    /// their content.
    async fn insert(
        &self,
        chunk: &Chunk,
        partition: &Partition,
        range: &Range<usize>,
        block: &[Bytes],
    ) -> Result<(), ContentRefusal> {
        let token = self.token(chunk, partition, range);
        let statement = Statement::Native(partition.target.table());
        let mut backoff = backoff();
        loop {
            let start = std::time::Instant::now();
            let span = traces::step("clickhouse", SpanKind::Client);
            span.describe(|| {
                [
                    KeyValue::new("db.system.name", "clickhouse"),
                    KeyValue::new("db.query.summary", format!("INSERT {}", partition.target)),
                    KeyValue::new(
                        "db.operation.batch.size",
                        i64::try_from(range.len()).unwrap_or(i64::MAX),
                    ),
                ]
            });
            let inserted = insert::send(&self.client, statement, Some(&token), block);
            let sent = span.around(inserted).await;
            let Err(error) = sent else {
                self.metrics.insert_seconds.record(start.elapsed());
                if !partition.target.is_derived() {
                    self.metrics.insert_rows.increment(range.len() as u64);
                }
                if backoff.attempts() > 0 {
                    tracing::info!(tries = backoff.attempts(), "ClickHouse takes rows again");
                }
                return Ok(());
            };
            span.fail("ClickHouse did not take the rows");
            match refusal::sort(&error) {
                Refusal::Content { code, reason } => {
                    self.metrics.error("content");
                    return Err(ContentRefusal { code, reason });
                }
                Refusal::Transient(kind) => {
                    self.pause(&mut backoff, kind, &error.to_string()).await;
                }
            }
        }
    }

    /// The deduplication token of these rows. A chunk cut at the same positions after a restart has the
    /// same tokens, so ClickHouse drops what it already has.
    fn token(&self, chunk: &Chunk, partition: &Partition, range: &Range<usize>) -> String {
        let (first, end) = (chunk.first.get(), chunk.end.position.get());
        let whole = format!("{}-{first}-{end}-{}", self.spool, partition.target);
        if range.len() == partition.rows {
            whole
        } else {
            format!("{whole}-{}-{}", range.start, range.end)
        }
    }

    /// Halves until the refused rows stand alone; everything else goes in on the way. None when the
    /// fault is not in the rows: many are refused and none is taken.
    async fn find_refused(
        &self,
        chunk: &Chunk,
        partition: &Partition,
        rows: &Arc<Rows>,
        first: ContentRefusal,
    ) -> Option<Vec<Refused>> {
        let mut refused = Vec::new();
        let mut taken = 0;
        let mut suspects = vec![(0..partition.rows, first)];
        while let Some((range, ContentRefusal { code, reason })) = suspects.pop() {
            debug_assert!(
                !range.is_empty() && range.end <= partition.rows,
                "a range has rows of the block"
            );
            if range.len() == 1 {
                refused.push(Refused { row: range.start, code, reason });
                if taken == 0 && refused.len() >= REFUSED_ALONE_MAX {
                    return None;
                }
                continue;
            }
            let middle = range.start + range.len() / 2;
            for half in [middle..range.end, range.start..middle] {
                let block = encode_range(rows, partition.target, &half).await;
                match self.insert(chunk, partition, &half, &block).await {
                    Ok(()) => taken += half.len(),
                    Err(refusal) => suspects.push((half, refusal)),
                }
            }
        }
        refused.sort_unstable_by_key(|refused| refused.row);
        debug_assert!(
            refused.is_sorted_by(|one, next| one.row < next.row),
            "each row is refused once"
        );
        Some(self.offer_again(chunk, partition, rows, refused).await)
    }

    /// Tries each refused row once more: the table may have been repaired during the bisection.
    async fn offer_again(
        &self,
        chunk: &Chunk,
        partition: &Partition,
        rows: &Arc<Rows>,
        suspects: Vec<Refused>,
    ) -> Vec<Refused> {
        let mut refused = Vec::with_capacity(suspects.len());
        for Refused { row, .. } in suspects {
            let only = row..row + 1;
            let block = encode_range(rows, partition.target, &only).await;
            if let Err(ContentRefusal { code, reason }) =
                self.insert(chunk, partition, &only, &block).await
            {
                refused.push(Refused { row, code, reason });
            }
        }
        refused
    }

    fn letters(&self, rows: &Rows, target: InsertTarget, refused: &[Refused]) -> Vec<DeadLetter> {
        let at_ms = (self.flow.now_ms)();
        let mut letters = Vec::with_capacity(refused.len());
        for refused in refused {
            let only = refused.row..refused.row + 1;
            for_each_row(rows, target, &only, |header, record| {
                letters.push(DeadLetter {
                    at_ms,
                    code: refused.code,
                    reason: dead_letters::cut_reason(&refused.reason),
                    ..DeadLetter::of(header, &record)
                });
            });
        }
        letters
    }

    /// Keeps dead letters durably; the cursor does not move before that.
    async fn keep(&self, name: String, letters: Vec<DeadLetter>) {
        tracing::error!(
            rows = letters.len(),
            file = name,
            reason = letters.first().map_or("", |letter| letter.reason.as_str()),
            "rows went to the dead letters"
        );
        let count = letters.len() as u64;
        let letters = Arc::new(letters);
        let mut backoff = backoff();
        loop {
            let (dir, name, letters) =
                (self.dead_letters_dir.clone(), name.clone(), Arc::clone(&letters));
            let kept = blocking(move || dead_letters::keep(&dir, &name, &letters)).await;
            match kept {
                Ok(()) => break,
                Err(error) => self.pause(&mut backoff, "dead_letters", &error.to_string()).await,
            }
        }
        self.metrics.dead_letters.increment(count);
    }

    /// Makes the keys of the chunk durable; false while a file of keys was not read yet.
    async fn sync_landed_keys(&self) -> bool {
        let Some(keys) = &self.landed_keys else { return true };
        let mut backoff = backoff();
        loop {
            let keys = Arc::clone(keys);
            match blocking(move || keys.lock().sync()).await {
                Ok(is_synced) => return is_synced,
                Err(error) => self.pause(&mut backoff, "landed_keys", &error.to_string()).await,
            }
        }
    }

    async fn commit(&self, end: Mark) {
        let mut backoff = backoff();
        loop {
            let cursor = self.cursor.clone();
            match blocking(move || cursor.commit(end)).await {
                Ok(()) => return,
                Err(error) => self.pause(&mut backoff, "cursor", &error.to_string()).await,
            }
        }
    }

    async fn pause(&self, backoff: &mut Backoff, kind: &'static str, reason: &str) {
        self.metrics.error(kind);
        if backoff.attempts().is_multiple_of(TRIES_PER_LOG) {
            let reason = dead_letters::cut_reason(reason);
            tracing::warn!(
                kind,
                tries = backoff.attempts() + 1,
                reason,
                "insert failed, trying again"
            );
        }
        tokio::time::sleep(backoff.pause()).await;
    }
}

/// Encoding thousands of rows takes too long for a thread that serves requests.
async fn encode_range(rows: &Arc<Rows>, target: InsertTarget, range: &Range<usize>) -> Vec<Bytes> {
    let (rows, range) = (Arc::clone(rows), range.clone());
    tokio::task::spawn_blocking(move || encode::range(&rows, target, &range))
        .await
        .expect("encoding does not panic: it did not the first time")
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> std::io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(std::io::Error::other(error)))
}

//! From the log into ClickHouse: the consumer `clickhouse`, its batches, and dead letters.
//!
//! ```text
//! spool ─▶ gather (own thread: read, cut, encode) ─▶ inserter (task: one insert per partition) ─▶ cursor
//! ```
//!
//! # What holds
//!
//! 1. The cursor moves past a frame only when each of its events is in ClickHouse or is a durable
//!    dead letter. So every acknowledged event gets there at least once; the table's key makes it once.
//! 2. Nothing but the content of a row ever takes it out of the queue. ClickHouse being away, out of
//!    memory, out of disk or changed is waited for; the spool grows meanwhile.
//! 3. A row refused for its content is found by halving; the rows around it go in. When many rows are
//!    refused and none is taken, the table is at fault, and it is waited for.
//! 4. At most [`CHUNKS_MAX`] chunks are in memory: one being inserted, one being encoded.
//! 5. A chunk's inserts carry tokens made of the spool's id, the positions and the partition. Cuts
//!    are noted before the insert, so the same process restarted after a crash cuts and names the
//!    same batches, and ClickHouse drops those it has.
//!
//! # ClickHouse's durability
//!
//! ClickHouse answers an insert before its files are synced. The tables are therefore created with the
//! MergeTree settings `fsync_after_insert = 1` and `fsync_part_directory = 1` (they are settings of the
//! table; an insert cannot carry them). The alternative, keeping segments for some minutes and inserting
//! them again after an unclean start, was not chosen: it cannot know how long the kernel holds pages
//! back, needs an unclean start of *ClickHouse's* machine to be noticed here, and repeats minutes of
//! inserts at the worst moment. Measured figures: `benches/README.md`.
//!
//! Suggested reading order: `gather`, `chunk`, `encode`, `inserter`, `refusal`, [`dead_letters`].

mod backoff;
mod chunk;
pub mod dead_letters;
mod encode;
mod gather;
mod insert;
mod inserter;
mod metrics;
mod refusal;

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    fmt, io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{sync::mpsc, task::AbortHandle};

use self::{
    chunk::Permits, encode::Encoder, gather::Gather, inserter::Inserter, metrics::PipelineMetrics,
};
use crate::{
    record::Batch,
    spool::{self, Cursor, Entry, Spool, SpoolError},
};

/// The pipeline's name among the spool's consumers.
pub const CONSUMER: &str = "clickhouse";
/// Chunks in memory at once.
const CHUNKS_MAX: usize = 2;
/// Rows of a chunk, unless set otherwise.
pub const ROWS_MAX_DEFAULT: usize = 200_000;
/// Rows worth an insert of their own when nothing is being inserted, unless set otherwise.
pub const ROWS_MIN_DEFAULT: usize = 50_000;
/// Payload bytes of a chunk, unless set otherwise. The pipeline takes about six times this: payload
/// and block of [`CHUNKS_MAX`] chunks, and the columns one of them is sorted in.
pub const BYTES_MAX_DEFAULT: usize = 12 << 20;
/// How long a chunk waits for more events, unless set otherwise.
pub const LINGER_DEFAULT: Duration = Duration::from_millis(250);

/// Milliseconds since 1970, from whoever may read the clock.
pub type NowMs = Arc<dyn Fn() -> u64 + Send + Sync>;

/// How batches are cut.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// A chunk ends when it has this many rows, see [`ROWS_MAX_DEFAULT`].
    pub rows_max: usize,
    /// A chunk ends early with this many rows when ClickHouse is idle, see [`ROWS_MIN_DEFAULT`].
    pub rows_min: usize,
    /// A chunk ends when its frames have this many bytes, see [`BYTES_MAX_DEFAULT`].
    pub bytes_max: usize,
    /// A chunk ends this long after its first frame, see [`LINGER_DEFAULT`].
    pub linger: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rows_max: ROWS_MAX_DEFAULT,
            rows_min: ROWS_MIN_DEFAULT,
            bytes_max: BYTES_MAX_DEFAULT,
            linger: LINGER_DEFAULT,
        }
    }
}

/// What the pipeline works with.
#[derive(Clone)]
pub struct PipelineOptions {
    /// ClickHouse, with the database that has the tables `events` and `message_events`.
    pub clickhouse: clickhouse::Client,
    /// Where refused rows are kept; made when first needed.
    pub dead_letters_dir: PathBuf,
    /// How batches are cut.
    pub limits: Limits,
    /// The clock.
    pub now_ms: NowMs,
}

impl fmt::Debug for PipelineOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipelineOptions")
            .field("dead_letters_dir", &self.dead_letters_dir)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Why the pipeline did not start.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The spool's consumer could not be opened.
    #[error("could not open the spool's consumer")]
    Spool(#[from] SpoolError),
    /// The note of cuts could not be read, or no thread be started.
    #[error("could not start the pipeline")]
    Io(#[from] io::Error),
}

/// What is not in ClickHouse yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Frames behind the cursor.
    pub frames: u64,
    /// Events in them.
    pub events: u64,
    /// Bytes of log they take.
    pub bytes: u64,
    /// Age of the oldest of them in milliseconds; 0 when there is none.
    pub oldest_ms: u64,
}

/// What the gathering thread, the inserter and the owner share.
struct Flow {
    /// Finish what is in the log, without lingering.
    stopping: AtomicBool,
    /// Give up now.
    aborted: AtomicBool,
    /// Receive times of the oldest frames of the chunks on their way, in order.
    in_flight: Mutex<VecDeque<u64>>,
    now_ms: NowMs,
}

/// The running pipeline.
pub struct Pipeline {
    flow: Arc<Flow>,
    cursor: Cursor,
    gather: Option<JoinHandle<()>>,
    inserter: tokio::task::JoinHandle<()>,
    abort_inserter: AbortHandle,
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("backlog", &self.backlog()).finish_non_exhaustive()
    }
}

impl Pipeline {
    /// Starts reading the spool and inserting. Call it inside a tokio runtime.
    pub fn start(spool: &Spool, options: PipelineOptions) -> Result<Self, PipelineError> {
        let consumer = spool.consumer(CONSUMER)?;
        let cursor = consumer.cursor();
        let flow = Arc::new(Flow {
            stopping: AtomicBool::new(false),
            aborted: AtomicBool::new(false),
            in_flight: Mutex::default(),
            now_ms: Arc::clone(&options.now_ms),
        });
        let (sender, receiver) = mpsc::channel(1);
        let gather = Gather {
            noted: consumer.noted_cuts()?.into(),
            consumer,
            limits: options.limits,
            flow: Arc::clone(&flow),
            permits: Permits::new(CHUNKS_MAX),
            chunks: sender,
            encoder: Encoder::default(),
            cuts: Vec::new(),
        };
        let spool_id = cursor.spool_id();
        let inserter = Inserter {
            client: options.clickhouse,
            cursor: cursor.clone(),
            dead_letters_dir: options.dead_letters_dir,
            flow: Arc::clone(&flow),
            metrics: PipelineMetrics::new(),
            spool: uuid::Uuid::from_bytes(spool_id).simple().to_string(),
        };
        let gather = std::thread::Builder::new()
            .name("pipeline-gather".to_owned())
            .spawn(move || gather.run())?;
        let inserter = tokio::spawn(inserter.run(receiver));
        let abort_inserter = inserter.abort_handle();
        Ok(Self { flow, cursor, gather: Some(gather), inserter, abort_inserter })
    }

    /// What is acknowledged and not in ClickHouse yet.
    pub fn backlog(&self) -> Backlog {
        let behind = self.cursor.behind();
        if behind.frames == 0 {
            return Backlog::default();
        }
        let oldest = self.flow.in_flight.lock().front().copied();
        // Not read yet: everything behind is younger than what was committed last.
        let oldest = oldest.unwrap_or_else(|| self.cursor.committed().at_ms);
        let oldest_ms = if oldest == 0 { 0 } else { (self.flow.now_ms)().saturating_sub(oldest) };
        let spool::Behind { frames, events, bytes } = behind;
        Backlog { frames, events, bytes, oldest_ms }
    }

    /// Inserts what is in the log and stops; gives up after `deadline`. What was not inserted by then
    /// is inserted after the next start.
    pub async fn stop(mut self, deadline: Duration) {
        self.flow.stopping.store(true, Ordering::Release);
        if tokio::time::timeout(deadline, &mut self.inserter).await.is_err() {
            let Backlog { events, .. } = self.backlog();
            tracing::warn!(
                events,
                "stopped before everything was inserted, the rest waits in the spool"
            );
        }
        self.give_up();
        if let Some(gather) = self.gather.take() {
            let joined = tokio::task::spawn_blocking(move || gather.join()).await;
            if !matches!(joined, Ok(Ok(()))) {
                tracing::error!("the pipeline's gathering thread failed");
            }
        }
    }

    fn give_up(&self) {
        self.flow.aborted.store(true, Ordering::Release);
        self.abort_inserter.abort();
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl From<&Batch> for Entry {
    fn from(batch: &Batch) -> Self {
        let header = batch.header();
        Self {
            payload: batch.as_bytes().clone(),
            events: header.count,
            at_ms: u64::try_from(header.received_at_ms).unwrap_or(0),
        }
    }
}

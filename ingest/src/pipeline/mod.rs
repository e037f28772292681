//! From the spool into ClickHouse: the consumer `clickhouse`, its batches, and dead letters.
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
//! 4. At most [`CHUNKS_MAX`] chunks are in memory: one is being encoded, the others are being inserted.
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
//! # After a panic
//!
//! Its two parts are workers (see the crate `supervisor`). When one panics, both end and begin again at the cursor. The
//! frames that were being worked on are suspected: they are tried again in halves, and a frame that panicked three
//! times alone becomes a dead letter, whole, so that what comes after it lands.
//!
//! Suggested reading order: `gather`, `chunk`, `encode`, `inserter`, `refusal`, [`dead_letters`].

mod chunk;
pub mod dead_letters;
mod encode;
mod gather;
mod insert;
mod inserter;
mod metrics;
mod refusal;
mod repeats;

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    fmt, io,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use landed_keys::LandedKeys;
pub use landed_keys::Options as LandedKeysOptions;
use parking_lot::Mutex;
use supervisor::{Heartbeat, Suspects, Workers};
use tokio::{
    runtime::Handle,
    sync::{Notify, mpsc},
    task::JoinSet,
};

use self::{
    chunk::Permits,
    gather::{Finder, Gather},
    inserter::Inserter,
    metrics::PipelineMetrics,
    repeats::{ErasedFinder, Lookups, RepeatFinder, Upkeep},
};
use crate::{
    record::Batch,
    spool::{self, Consumer, Cursor, Entry, Position, Spool, SpoolError},
};

/// The pipeline's name among the spool's consumers.
pub const CONSUMER: &str = "clickhouse";
/// Its parts' names among the workers: what both begin with.
pub const WORKER: &str = "pipeline";
/// The thread that reads the spool and encodes.
const GATHERING: &str = "pipeline-gather";
/// The task that inserts.
const INSERTING: &str = "pipeline-insert";
/// How long a part may not beat before it counts as hung. A store that is away is waited for, and is no silence.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Chunks in memory at once.
const CHUNKS_MAX: usize = 4;
/// Rows of a chunk, unless set otherwise.
pub const ROWS_MAX_DEFAULT: usize = 200_000;
/// Rows worth an insert of their own when nothing is being inserted, unless set otherwise.
pub const ROWS_MIN_DEFAULT: usize = 50_000;
/// Payload bytes of a chunk, unless set otherwise. The pipeline takes about five times this: the payload of one chunk,
/// the blocks of [`CHUNKS_MAX`].
pub const BYTES_MAX_DEFAULT: usize = 12 << 20;
/// How long a chunk waits for more events, unless set otherwise. An insert costs ClickHouse about 20 ms of CPU in each of
/// three tables, whatever its size.
pub const LINGER_DEFAULT: Duration = Duration::from_millis(500);
/// How long it waits while it has few rows, unless set otherwise: few more would come.
pub const LINGER_OF_FEW_DEFAULT: Duration = Duration::from_millis(200);
/// A chunk of fewer rows has few.
const ROWS_FEW: usize = 100;

/// Reads the clock: milliseconds since 1970. Injected, because only the program reads the system clock.
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
    /// A chunk of few rows ends this long after its first frame, see [`LINGER_OF_FEW_DEFAULT`].
    pub linger_of_few: Duration,
}

impl Limits {
    /// How long a chunk of so many rows waits for more.
    fn linger_of(&self, rows: usize) -> Duration {
        if rows < ROWS_FEW { self.linger.min(self.linger_of_few) } else { self.linger }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rows_max: ROWS_MAX_DEFAULT,
            rows_min: ROWS_MIN_DEFAULT,
            bytes_max: BYTES_MAX_DEFAULT,
            linger: LINGER_DEFAULT,
            linger_of_few: LINGER_OF_FEW_DEFAULT,
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
    /// Where keys of stored events are kept, when this process is the only writer: it leaves repeats out then. None
    /// where others may write: ClickHouse collapses repeats when it reads and merges.
    pub landed_keys: Option<LandedKeysOptions>,
    /// How batches are cut.
    pub limits: Limits,
    /// Clock of arrival and retry times, Unix milliseconds.
    pub now_ms: NowMs,
    /// Where its parts are watched.
    pub workers: Workers,
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
    /// Events in these frames.
    pub events: u64,
    /// Bytes of segments they take.
    pub bytes: u64,
    /// Age of the oldest of them in milliseconds; 0 when there is none.
    pub oldest_ms: u64,
}

/// What the gathering thread, the inserter and the owner share.
struct Flow {
    /// Finish what is in the spool, without lingering.
    stopping: AtomicBool,
    /// Set once the deadline has passed: stop without draining.
    aborted: AtomicBool,
    /// One part panicked: the other is to end, so that both begin again.
    broken: AtomicBool,
    /// Rung when `aborted` is set.
    abort: Notify,
    /// Receive times of the oldest frames of the chunks on their way, in order.
    in_flight: Mutex<VecDeque<u64>>,
    /// The frames being gathered and encoded.
    gathering: Frames,
    /// The frames being inserted.
    inserting: Frames,
    suspects: Mutex<Suspects>,
    now_ms: NowMs,
}

impl Flow {
    fn new(now_ms: NowMs) -> Self {
        Self {
            stopping: AtomicBool::new(false),
            aborted: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            abort: Notify::new(),
            in_flight: Mutex::default(),
            gathering: Frames::default(),
            inserting: Frames::default(),
            suspects: Mutex::default(),
            now_ms,
        }
    }

    /// Whether the gathering thread of this run is to end.
    fn is_over(&self) -> bool {
        self.aborted.load(Ordering::Acquire) || self.broken.load(Ordering::Acquire)
    }

    fn abort(&self) {
        self.aborted.store(true, Ordering::Release);
        self.abort.notify_one();
    }
}

/// A range of frames that is being worked on.
#[derive(Debug, Default)]
struct Frames {
    first: AtomicU64,
    count: AtomicU64,
}

impl Frames {
    fn set(&self, first: u64, count: u64) {
        self.first.store(first, Ordering::Relaxed);
        self.count.store(count, Ordering::Release);
    }

    fn get(&self) -> (u64, u64) {
        let count = self.count.load(Ordering::Acquire);
        (self.first.load(Ordering::Relaxed), count)
    }
}

/// The running pipeline. Its parts are run again from the cursor on when one of them panics.
pub struct Pipeline {
    flow: Arc<Flow>,
    cursor: Cursor,
    running: tokio::task::JoinHandle<()>,
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("backlog", &self.backlog()).finish_non_exhaustive()
    }
}

/// The spool's consumer, and where it cut its batches before.
struct Source {
    consumer: Consumer,
    noted: VecDeque<Position>,
}

impl Source {
    fn of(consumer: Consumer) -> Result<Self, PipelineError> {
        Ok(Self { noted: consumer.noted_cuts()?.into(), consumer })
    }
}

/// What both parts are made of, for each run.
struct Parts {
    options: PipelineOptions,
    landed_keys: Option<Arc<Mutex<LandedKeys>>>,
    flow: Arc<Flow>,
    gathering: Heartbeat,
    inserting: Heartbeat,
}

impl Parts {
    /// Runs until stopped and drained, aborted, or the spool is closed and drained; again after a panic.
    async fn keep_running(self, first: Source) {
        let _upkeep = self.upkeep();
        let reopener = first.consumer.reopener();
        let mut source = Some(first);
        while !self.flow.aborted.load(Ordering::Acquire) {
            let opened = match source.take() {
                Some(source) => Ok(source),
                None => reopener.open().map_err(PipelineError::from).and_then(Source::of),
            };
            let outcome = match opened {
                Ok(source) => self.run_once(source).await,
                Err(error) => Err(error),
            };
            match outcome {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => {
                    tracing::error!(%error, "the pipeline cannot start, trying again");
                    self.gathering.failed();
                }
            }
            tokio::time::sleep(self.gathering.pause().max(self.inserting.pause())).await;
        }
        self.gathering.ended();
        self.inserting.ended();
    }

    /// One run; false when a part of it panicked.
    async fn run_once(&self, source: Source) -> Result<bool, PipelineError> {
        let flow = &self.flow;
        flow.in_flight.lock().clear();
        flow.gathering.set(0, 0);
        flow.inserting.set(0, 0);
        flow.broken.store(false, Ordering::Release);
        let cursor = source.consumer.cursor();
        let uncertain_before = cursor.head();
        let (sender, receiver) = mpsc::channel(1);
        let gather = Gather {
            noted: source.noted,
            consumer: source.consumer,
            limits: self.options.limits,
            flow: Arc::clone(flow),
            heartbeat: self.gathering.clone(),
            permits: Permits::new(CHUNKS_MAX),
            chunks: sender,
            finder: self.finder(cursor.clone(), uncertain_before),
            cuts: Vec::new(),
        };
        let inserter = Inserter {
            client: self.options.clickhouse.clone(),
            spool: uuid::Uuid::from_bytes(cursor.spool_id()).simple().to_string(),
            cursor,
            landed_keys: self.landed_keys.clone(),
            dead_letters_dir: self.options.dead_letters_dir.clone(),
            flow: Arc::clone(flow),
            heartbeat: self.inserting.clone(),
            metrics: PipelineMetrics::new(),
        };
        let gathering = self.gathering.clone();
        let thread = std::thread::Builder::new()
            .name("pipeline-gather".to_owned())
            .spawn(move || gathering.attempt(|| gather.run()))?;
        let inserted = tokio::select! {
            inserted = self.inserting.attempt_async(inserter.run(receiver)) => inserted,
            () = flow.abort.notified() => Ok(()),
        };
        if inserted.is_err() {
            let (first, count) = flow.inserting.get();
            flow.suspects.lock().panicked(first, count);
            flow.broken.store(true, Ordering::Release);
        }
        let gathered = tokio::task::spawn_blocking(move || thread.join()).await;
        let gathered = matches!(gathered, Ok(Ok(Ok(()))));
        if !gathered && inserted.is_ok() {
            let (first, count) = flow.gathering.get();
            flow.suspects.lock().panicked(first, count);
        }
        Ok(gathered && inserted.is_ok())
    }
}

impl Parts {
    /// Keeps the filters of landed keys complete for as long as the answer lives.
    fn upkeep(&self) -> Option<JoinSet<()>> {
        let upkeep = Upkeep {
            keys: Arc::clone(self.landed_keys.as_ref()?),
            client: self.options.clickhouse.clone(),
            dead_letters_dir: self.options.dead_letters_dir.clone(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(upkeep.run());
        Some(tasks)
    }

    fn finder(&self, cursor: Cursor, uncertain_before: Position) -> Finder {
        let lookups = Lookups {
            client: self.options.clickhouse.clone(),
            runtime: Handle::current(),
            flow: Arc::clone(&self.flow),
            heartbeat: self.gathering.clone(),
            metrics: PipelineMetrics::new(),
        };
        let Some(keys) = self.landed_keys.clone() else {
            return Finder::Erased(ErasedFinder { lookups });
        };
        let fingerprints = keys.lock().fingerprints();
        Finder::Repeats(RepeatFinder {
            keys,
            fingerprints,
            lookups,
            uncertain_before,
            cursor,
            unsettled: VecDeque::new(),
        })
    }
}

impl Pipeline {
    /// Starts reading the spool and inserting. Call it inside a tokio runtime.
    pub fn start(spool: &Spool, options: PipelineOptions) -> Result<Self, PipelineError> {
        let source = Source::of(spool.consumer(CONSUMER)?)?;
        let cursor = source.consumer.cursor();
        let flow = Arc::new(Flow::new(Arc::clone(&options.now_ms)));
        let landed_keys = options.landed_keys.clone().map(LandedKeys::open).transpose()?;
        let parts = Parts {
            landed_keys: landed_keys.map(Mutex::new).map(Arc::new),
            flow: Arc::clone(&flow),
            gathering: options.workers.register(GATHERING, SILENCE_MAX),
            inserting: options.workers.register(INSERTING, SILENCE_MAX),
            options,
        };
        let running = tokio::spawn(parts.keep_running(source));
        Ok(Self { flow, cursor, running })
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

    /// Inserts what is in the spool and stops; gives up after `deadline`. What was not inserted by then
    /// is inserted after the next start.
    pub async fn stop(mut self, deadline: Duration) {
        self.flow.stopping.store(true, Ordering::Release);
        if tokio::time::timeout(deadline, &mut self.running).await.is_err() {
            let Backlog { events, .. } = self.backlog();
            tracing::warn!(
                events,
                "stopped before everything was inserted, the rest waits in the spool"
            );
            self.flow.abort();
            if let Err(error) = (&mut self.running).await {
                tracing::error!(%error, "the pipeline failed");
            }
        }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.flow.abort();
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

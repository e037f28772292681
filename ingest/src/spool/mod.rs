//! A segmented append-only log with group commit: what makes an acknowledged event durable.
//!
//! # What holds
//!
//! 1. An append that answered `Ok` is on disk (written and `fdatasync`ed; with [`Durability::Os`]
//!    handed to the kernel). It is delivered to every consumer, in order, at least once, and until
//!    the consumer has committed it, again after every restart.
//! 2. Positions are dense and never given out twice to different acknowledged entries.
//! 3. An append is refused whole and at once when the queue or the disk budget is full.
//! 4. A frame is taken for valid only if its CRC32C holds over the spool's id, its header and its
//!    payload, and its header names the segment it was read from. So neither a torn write, nor what
//!    a recycled file held before, nor bytes a caller chose can pass.
//! 5. A segment whose write or sync failed is not written or synced again. Its acknowledged frames
//!    stay readable; the group that failed goes into a new segment, or is refused.
//! 6. A file has a live name only while its header is durable and its frames may be needed. Names
//!    are durable (directory synced) before anything depends on them.
//! 7. Appends never go on in a file of an earlier run.
//! 8. Damage is never silent. A bad frame is passed over to the next good one; what is missing
//!    before it is counted in `millrace_spool_frames_corrupt_total` and logged, except for the frames of a group
//!    that was never acknowledged (each frame says where its group began).
//! 9. A segment is freed when every registered consumer has durably committed past it; without any
//!    consumer nothing is freed.
//! 10. The spool never takes more than `limit_bytes` on disk (cursors and lock apart), and opens no
//!     new segment that would leave the file system less than `reserve_bytes`.
//! 11. One process at a time: the directory is locked.
//! 12. A panic of the writer is like a failed write: the group under way is refused, its segment is not written again,
//!     and the writer goes on in a new one. Until then appends are refused ([`AppendError::Restarting`]).
//!
//! # On disk
//!
//! ```text
//! lock                     held while open
//! hold                     held, shared, by a process that copies the spool: segments stay meanwhile (see `copy`)
//! identity                 spool id: "MLRIDEN1", 16 bytes, CRC32C of those 24
//! <20 digits>.seg          a segment: header, frames, 48 zero bytes (see `segment`, `frame`)
//! free-<20 digits>.seg     a freed segment, ready for use
//! damaged-<20 digits>.seg  a segment in which nothing could be read, kept for a human
//! <name>.cursor            how far consumer <name> is (see `cursor`)
//! <name>.cuts              where it cuts its batches: a hint (see `cursor`)
//! *.new                    a replacement being written; left over by a crash, ignored
//! ```
//!
//! Suggested reading order: `frame`, `segment`, `writer`, `consumer`, `log_reader`, `scan`, `recovery`, `state`.

mod consumer;
mod copy;
mod cursor;
mod files;
mod frame;
mod log_reader;
mod metrics;
mod recovery;
mod scan;
mod segment;
mod state;
mod survey;
mod writer;

#[cfg(test)]
mod tests;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bytes::Bytes;
use crossbeam_channel::{Sender, TrySendError};
use parking_lot::Mutex;
use supervisor::Workers;
use tokio::sync::oneshot;

pub use self::{
    consumer::{Behind, ConsumeError, Consumer, Cursor, Reopener},
    copy::{CopyError, HeldSpool, SpoolFileCopy},
    files::{Disk, Files, SpoolFile, create_private_dir},
    frame::{Frame, Mark, Position},
    log_reader::LogReader,
    recovery::Recovery,
    survey::{Backlog, Survey, survey},
    writer::Renewed,
};
use self::{
    frame::FRAME_HEADER_BYTES,
    scan::{Found, Scan},
    segment::SEGMENT_HEADER_BYTES,
    state::{Shared, State},
    writer::{Appended, Item, Message, Writer},
};

/// Size of a segment unless set otherwise: large enough that opening one is rare, small enough that
/// little waits to be freed.
pub const SEGMENT_BYTES_DEFAULT: u64 = 64 << 20;
/// The writer's name among the workers.
pub const WRITER: &str = "spool-writer";
/// How long the writer may not beat before it counts as hung: longer than a slow disk takes for one sync.
const WRITER_SILENCE_MAX: Duration = Duration::from_secs(10);
/// Bytes of frames for which there must be room, for the spool to have any.
const ROOM_BYTES_MIN: u64 = 64 << 10;
/// Appends waiting at once; the byte limit of the queue usually strikes first.
const QUEUE_ITEMS_MAX: usize = 16_384;
/// The smallest segment that makes sense: a header, a frame, and room to spare.
const SEGMENT_BYTES_MIN: u64 = 1024;
/// The largest: a frame's length is 32 bits.
const SEGMENT_BYTES_MAX: u64 = 1 << 31;

const _: () = assert!(SEGMENT_BYTES_MIN >= (SEGMENT_HEADER_BYTES + 2 * FRAME_HEADER_BYTES) as u64);
const _: () = assert!(
    SEGMENT_BYTES_MIN <= SEGMENT_BYTES_DEFAULT && SEGMENT_BYTES_DEFAULT <= SEGMENT_BYTES_MAX
);
const _: () = assert!(SEGMENT_BYTES_MAX <= u32::MAX as u64);

/// What an answered append has survived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// `fdatasync` before every answer: a power cut loses nothing that was answered.
    #[default]
    Fsync,
    /// Handed to the kernel: a crash of the process loses nothing, a power cut may.
    Os,
}

/// How a spool is opened.
#[derive(Debug, Clone)]
pub struct SpoolOptions {
    /// Folder of the spool; made when missing.
    pub dir: PathBuf,
    /// Size of a segment, see [`SEGMENT_BYTES_DEFAULT`]. Also bounds a payload.
    pub segment_bytes: u64,
    /// Bytes the spool may take on disk, in whole segments; at least two of them.
    pub limit_bytes: u64,
    /// Bytes of the file system that the spool leaves to others.
    pub reserve_bytes: u64,
    /// Payload bytes that may wait for the writer.
    pub queue_bytes: usize,
    /// What an answer promises.
    pub durability: Durability,
}

impl SpoolOptions {
    fn check(&self) -> Result<(), SpoolError> {
        if !(SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&self.segment_bytes) {
            return Err(SpoolError::Options("a segment takes from 1 KiB to 2 GiB"));
        }
        if self.limit_bytes < 2 * self.segment_bytes {
            return Err(SpoolError::Options("the spool's limit must hold two segments"));
        }
        Ok(())
    }
}

/// Payload of one append, with the number of its events.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The bytes to keep.
    pub payload: Bytes,
    /// Events in them, for the count of what is waiting.
    pub events: u32,
    /// When they were received, milliseconds since 1970.
    pub at_ms: u64,
}

/// Why a spool did not open.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// Another process has it.
    #[error("spool {} is in use by another process", dir.display())]
    Locked {
        /// Folder of the spool in use.
        dir: PathBuf,
    },
    /// A file operation failed.
    #[error("could not {doing} {}", path.display())]
    Io {
        /// Operation that failed, as `write`.
        doing: &'static str,
        /// File or folder of the operation.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The options contradict each other.
    #[error("{0}")]
    Options(&'static str),
    /// A consumer of that name is open already.
    #[error("spool consumer {name} is already open")]
    ConsumerBusy {
        /// Name of the consumer.
        name: String,
    },
    /// A consumer's name is part of a file name.
    #[error("spool consumer name {name:?} is not 1 to 64 of a-z, 0-9 and -")]
    ConsumerName {
        /// Name that was refused.
        name: String,
    },
}

impl SpoolError {
    fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), source }
    }
}

/// Why an append was refused. Nothing of it is durable then, or will be seen by a consumer, with one
/// exception: after [`AppendError::Io`] a crash may bring it back.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// The disk budget is used up; consumers have to catch up first.
    #[error("spool is full: {used_bytes} of {limit_bytes} bytes")]
    Full {
        /// Bytes of segments on disk.
        used_bytes: u64,
        /// The most it may take.
        limit_bytes: u64,
    },
    /// More is waiting for the disk than may wait.
    #[error("spool queue is full")]
    QueueFull,
    /// One payload larger than a segment.
    #[error("payload of {payload_bytes} bytes is larger than {limit_bytes}")]
    TooLarge {
        /// Size of the payload in bytes.
        payload_bytes: usize,
        /// The most a segment takes.
        limit_bytes: u64,
    },
    /// The writer failed and is being restarted; try again in a moment.
    #[error("spool writer is being started again")]
    Restarting,
    /// The spool is shutting down.
    #[error("spool is closed")]
    Closed,
    /// The disk refused, twice, in two segments.
    #[error("could not write the spool")]
    Io(#[source] Arc<io::Error>),
}

impl AppendError {
    fn io(error: io::Error) -> Self {
        Self::Io(Arc::new(error))
    }
}

/// The spool. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct Spool {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    queue: Sender<Message>,
    closing: AtomicBool,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Spool {
    /// Opens the spool in `options.dir`, making it when missing, and starts its writer. Says what
    /// was found. Reads the newest segment: up to some tens of milliseconds.
    pub fn open(options: SpoolOptions) -> Result<(Self, Recovery), SpoolError> {
        Self::open_on(Arc::new(Disk), options)
    }

    /// [`Spool::open`], with its writer as [`WRITER`] among `workers`.
    pub fn open_with(
        options: SpoolOptions,
        workers: &Workers,
    ) -> Result<(Self, Recovery), SpoolError> {
        Self::start(Arc::new(Disk), options, workers)
    }

    /// [`Spool::open`] on other files than the disk's.
    pub fn open_on(
        files: Arc<dyn Files>,
        options: SpoolOptions,
    ) -> Result<(Self, Recovery), SpoolError> {
        Self::start(files, options, &Workers::default())
    }

    fn start(
        files: Arc<dyn Files>,
        options: SpoolOptions,
        workers: &Workers,
    ) -> Result<(Self, Recovery), SpoolError> {
        let dir = options.dir.clone();
        let (shared, recovery) = recovery::open(files, options)?;
        let (queue, receiver) = crossbeam_channel::bounded(QUEUE_ITEMS_MAX);
        let heartbeat = workers.register(WRITER, WRITER_SILENCE_MAX);
        let writer = Writer::new(Arc::clone(&shared), receiver, heartbeat);
        let thread = std::thread::Builder::new()
            .name("spool-writer".to_owned())
            .spawn(move || writer.run())
            .map_err(|source| SpoolError::io("start the writer of", &dir, source))?;
        let inner = Inner {
            shared,
            queue,
            closing: AtomicBool::new(false),
            writer: Mutex::new(Some(thread)),
        };
        Ok((Self { inner: Arc::new(inner) }, recovery))
    }

    /// Appends one entry: durable, at the position answered, when this returns `Ok`. The entry is
    /// queued by the call itself, before the future is first polled; dropping the future does not
    /// take it back.
    pub fn append(
        &self,
        entry: Entry,
    ) -> impl Future<Output = Result<Position, AppendError>> + Send + use<> {
        let submitted = self.submit(entry);
        let resume_seconds = self.inner.shared.metrics.resume_seconds.clone();
        async move {
            let appended = submitted?.await.unwrap_or(Err(AppendError::Closed))?;
            resume_seconds.record(appended.answered_at.elapsed());
            Ok(appended.position)
        }
    }

    /// [`Spool::append`] for a thread that may block.
    pub fn append_blocking(&self, entry: Entry) -> Result<Position, AppendError> {
        let appended = self.submit(entry)?.blocking_recv().unwrap_or(Err(AppendError::Closed))?;
        Ok(appended.position)
    }

    fn submit(
        &self,
        entry: Entry,
    ) -> Result<oneshot::Receiver<Result<Appended, AppendError>>, AppendError> {
        let shared = &self.inner.shared;
        let bytes = entry.payload.len();
        let overhead = (SEGMENT_HEADER_BYTES + FRAME_HEADER_BYTES) as u64;
        let limit_bytes = shared.options.segment_bytes - overhead;
        if bytes as u64 > limit_bytes {
            return Err(AppendError::TooLarge { payload_bytes: bytes, limit_bytes });
        }
        if self.inner.closing.load(Ordering::Acquire) {
            return Err(AppendError::Closed);
        }
        if shared.is_writer_down.load(Ordering::Acquire) {
            return Err(AppendError::Restarting);
        }
        let before = shared.queued_bytes.fetch_add(bytes, Ordering::AcqRel);
        let give_back = |error| {
            shared.queued_bytes.fetch_sub(bytes, Ordering::AcqRel);
            Err(error)
        };
        if before.saturating_add(bytes) > shared.options.queue_bytes && before > 0 {
            return give_back(AppendError::QueueFull);
        }
        let needed = (before + bytes + FRAME_HEADER_BYTES) as u64;
        if needed > shared.room_bytes.load(Ordering::Relaxed) {
            let full = shared.full(&shared.state.lock());
            return give_back(full);
        }
        let (reply, answer) = oneshot::channel();
        let item = Item { entry, submitted_at: Instant::now(), reply };
        match self.inner.queue.try_send(Message::Append(item)) {
            Ok(()) => Ok(answer),
            Err(TrySendError::Full(_)) => give_back(AppendError::QueueFull),
            Err(TrySendError::Disconnected(_)) => give_back(AppendError::Closed),
        }
    }

    /// Opens the consumer `name`, registering it when it is new; a new one starts with the oldest
    /// frame there is. From then on segments wait for it, whether it is open or not.
    pub fn consumer(&self, name: &str) -> Result<Consumer, SpoolError> {
        Consumer::open(Arc::clone(&self.inner.shared), name)
    }

    /// Registers the consumer `name` without opening it: from now on segments are freed only after it has read them.
    pub fn register(&self, name: &str) -> Result<(), SpoolError> {
        self.consumer(name).map(drop)
    }

    /// Begins a segment in a new file, and sees to it that the bytes of all segments before leave the disk: their files are
    /// removed once every consumer is past them ([`Spool::is_freed`]), those that were freed before at once, and segments
    /// in which nothing could be read as well.
    ///
    /// # Errors
    /// As of an append: there is no room for a segment, or a file operation failed.
    pub async fn renew(&self) -> Result<Renewed, AppendError> {
        if self.inner.closing.load(Ordering::Acquire) {
            return Err(AppendError::Closed);
        }
        self.remove_damaged().map_err(AppendError::io)?;
        let (reply, answer) = oneshot::channel();
        match self.inner.queue.try_send(Message::Renew(reply)) {
            Ok(()) => answer.await.unwrap_or(Err(AppendError::Closed)),
            Err(TrySendError::Full(_)) => Err(AppendError::QueueFull),
            Err(TrySendError::Disconnected(_)) => Err(AppendError::Closed),
        }
    }

    /// Whether the files of all segments before are gone.
    pub fn is_freed(&self, before: Renewed) -> bool {
        let state = self.inner.shared.state.lock();
        state.segments.front().is_none_or(|first| first.id >= before.segment)
    }

    fn remove_damaged(&self) -> io::Result<()> {
        let shared = &self.inner.shared;
        let dir = &shared.options.dir;
        for name in shared.files.list(dir)? {
            if name.starts_with(segment::DAMAGED_PREFIX) {
                tracing::warn!(name, "a spool segment in which nothing could be read is removed");
                shared.files.remove(&dir.join(name))?;
            }
        }
        shared.files.sync_dir(dir)
    }

    /// Its id, which names it among the spools of all processes.
    pub fn id(&self) -> [u8; 16] {
        self.inner.shared.spool_id
    }

    /// The end of what is durable.
    pub fn head(&self) -> Position {
        self.inner.shared.state.lock().head.position
    }

    /// Calls `each` with the payloads of the newest two segments in order, read before or not. What is
    /// damaged is left out. Reads up to two segments, so it is for a start.
    ///
    /// # Errors
    /// When a segment cannot be opened.
    pub fn for_each_recent(&self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let shared = &self.inner.shared;
        let mut segments: Vec<_> =
            shared.state.lock().segments.iter().rev().take(2).copied().collect();
        segments.reverse();
        for segment in segments {
            let file = shared.files.open(&segment::live_path(&shared.options.dir, segment.id))?;
            let mut scan = Scan::new(file, segment.id, shared.seed, 0);
            while let Found::Frame { payload, .. } = scan.next(segment.bytes)? {
                each(&payload);
            }
        }
        Ok(())
    }

    /// Bytes of segments on disk, and the most it may take.
    pub fn used_and_limit_bytes(&self) -> (u64, u64) {
        let used = self.inner.shared.state.lock().used_bytes();
        (used, self.inner.shared.options.limit_bytes)
    }

    /// Whether an append of some size would be taken now: the limit and the file system leave room for it.
    pub fn has_room(&self) -> bool {
        let shared = &self.inner.shared;
        let options = &shared.options;
        let (in_active, may_open) = {
            let state = shared.state.lock();
            let active = state.segments.iter().find(|segment| Some(segment.id) == state.active);
            let in_active = active.map_or(0, |it| options.segment_bytes.saturating_sub(it.bytes));
            let fits = state.file_bytes() + options.segment_bytes <= options.limit_bytes;
            (in_active, fits.then_some(!state.free.is_empty()))
        };
        match may_open {
            _ if in_active >= ROOM_BYTES_MIN => true,
            Some(is_recycled) => is_recycled || shared.reserve_allows(),
            None => false,
        }
    }

    /// Takes no more appends, makes durable and answers what is queued, and stops the writer.
    /// Consumers get the rest of the spool and then [`ConsumeError::Closed`].
    pub async fn close(&self) {
        let inner = Arc::clone(&self.inner);
        let stopped = tokio::task::spawn_blocking(move || inner.stop()).await;
        if let Err(error) = stopped {
            tracing::error!(%error, "the spool's writer failed");
        }
    }
}

impl Inner {
    fn stop(&self) {
        self.closing.store(true, Ordering::Release);
        let Some(writer) = self.writer.lock().take() else { return };
        // Fails when the writer is gone, which is what is wanted.
        drop(self.queue.send(Message::Close));
        if writer.join().is_err() {
            tracing::error!("the spool's writer panicked");
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn full(&self, state: &State) -> AppendError {
        AppendError::Full { used_bytes: state.used_bytes(), limit_bytes: self.options.limit_bytes }
    }

    /// Whether the file system keeps its reserve when one more segment is taken from it.
    fn reserve_allows(&self) -> bool {
        match self.files.available_bytes(&self.options.dir) {
            Ok(available) => {
                available >= self.options.reserve_bytes.saturating_add(self.options.segment_bytes)
            }
            Err(error) => {
                tracing::warn!(%error, "could not ask for free disk space");
                true
            }
        }
    }
}

//! What the writer, the consumers and the callers share: which segments live, who has read how far,
//! and how much room is left.

use std::{
    collections::VecDeque,
    fmt::Debug,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use crossbeam_channel::Sender;
use parking_lot::Mutex;

use super::{
    SpoolOptions,
    copy::HOLD_FILE,
    files::Files,
    frame::{Frame, Mark},
    metrics::SpoolMetrics,
    segment::{self, SEGMENT_HEADER_BYTES},
};

/// Freed segments kept ready for use instead of being removed.
const FREE_SEGMENTS_MAX: usize = 2;

#[derive(Debug)]
pub(super) struct Shared {
    pub files: Arc<dyn Files>,
    pub options: SpoolOptions,
    pub spool_id: [u8; 16],
    pub seed: u32,
    pub state: Mutex<State>,
    /// Bytes of payloads accepted by `append` and not answered yet.
    pub queued_bytes: AtomicUsize,
    /// Bytes of frames that still fit under the limit; an estimate that the writer corrects.
    pub room_bytes: AtomicU64,
    /// The writer panicked and was not started again yet.
    pub is_writer_down: AtomicBool,
    pub metrics: SpoolMetrics,
    pub _lock: Box<dyn Debug + Send + Sync>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Ascending by id. Segment S holds positions from its base up to the base of the one after it
    /// (the last: up to the head); a frame outside that range was abandoned and is not read.
    pub segments: VecDeque<Segment>,
    /// Ids of freed files ready for use.
    pub free: Vec<u64>,
    /// Files of segments before this id are removed once they are freed, and not used again (see [`super::Spool::renew`]).
    pub reusable_from: u64,
    /// The end of what is durable.
    pub head: Mark,
    pub slots: Vec<Slot>,
    pub next_segment: u64,
    /// The segment being appended to, if any.
    pub active: Option<u64>,
    pub closed: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub id: u64,
    pub base: u64,
    /// Events in all frames before the base.
    pub base_events: u64,
    /// Bytes that may be read: for the active segment those that are durable.
    pub bytes: u64,
    /// Bytes taken on disk.
    pub file_bytes: u64,
    /// A write or sync of it failed, or may have in an earlier run: the file is not used again.
    pub is_abandoned: bool,
}

/// A registered consumer, open in this process or not.
#[derive(Debug)]
pub(super) struct Slot {
    pub name: String,
    pub committed: Mark,
    pub open: bool,
    /// Where the writer sends fresh frames while the consumer keeps up. Dropped when it does not.
    pub live: Option<Sender<Frame>>,
    /// Payload bytes in that channel.
    pub live_bytes: Arc<AtomicUsize>,
    /// Held while the cursor file is being replaced.
    pub replacing: Arc<Mutex<()>>,
}

impl State {
    pub(super) fn file_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.file_bytes).sum()
    }

    /// Bytes of frames in segments, the reserved rest of the active one left out.
    pub(super) fn used_bytes(&self) -> u64 {
        self.segments
            .iter()
            .map(|it| if Some(it.id) == self.active { it.bytes } else { it.file_bytes })
            .sum()
    }

    /// The segment that holds `position`, and the position at which the next one takes over.
    pub(super) fn segment_of(&self, position: u64) -> Option<(Segment, u64)> {
        let after = self.segments.partition_point(|segment| segment.base <= position);
        let segment = *self.segments.get(after.checked_sub(1)?)?;
        let end = self.segments.get(after).map_or(self.head.position.0, |next| next.base);
        Some((segment, end))
    }

    /// Bytes of segments between `mark` and the head.
    pub(super) fn bytes_after(&self, mark: &Mark) -> u64 {
        self.segments
            .iter()
            .filter(|segment| segment.id >= mark.segment)
            .map(|segment| {
                let from = if segment.id == mark.segment { mark.offset } else { 0 };
                segment.bytes.saturating_sub(from.max(SEGMENT_HEADER_BYTES as u64))
            })
            .sum()
    }

    /// Whether every consumer is past the oldest segment, and it is not the last.
    fn has_consumed(&self) -> bool {
        let past = self.slots.iter().map(|slot| slot.committed.position.0).min();
        past.is_some_and(|past| self.segments.get(1).is_some_and(|second| second.base <= past))
    }

    /// Takes the segments every consumer is past out of the list. The last one stays: its header
    /// keeps the positions going.
    fn take_consumed(&mut self) -> Vec<Segment> {
        let Some(past) = self.slots.iter().map(|slot| slot.committed.position.0).min() else {
            return Vec::new();
        };
        let mut taken = Vec::new();
        while self.segments.get(1).is_some_and(|second| second.base <= past) {
            taken.extend(self.segments.pop_front());
        }
        taken
    }
}

impl Shared {
    /// Frees the segments every consumer is past: kept for use again, or removed.
    pub(super) fn release(&self) {
        if self.is_held() {
            self.update_room();
            return;
        }
        let taken = self.state.lock().take_consumed();
        for segment in taken {
            if let Err(error) = self.free(&segment) {
                // Nothing is lost: the next start finds the file again and frees it then.
                tracing::warn!(segment = segment.id, %error, "could not free a consumed spool segment");
            }
        }
        self.update_room();
    }

    /// Whether segments that could be freed stay for a copy that another process makes. Not beyond half of the room:
    /// events matter more, and the copy finds out.
    fn is_held(&self) -> bool {
        {
            let state = self.state.lock();
            if !state.has_consumed() || state.file_bytes() > self.options.limit_bytes / 2 {
                return false;
            }
        }
        let path = self.options.dir.join(HOLD_FILE);
        self.files.is_held(&path).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "cannot find out whether the spool is being copied");
            false
        })
    }

    fn free(&self, segment: &Segment) -> io::Result<()> {
        let dir = &self.options.dir;
        let free_path = segment::free_path(dir, segment.id);
        self.files.rename(&segment::live_path(dir, segment.id), &free_path)?;
        self.files.sync_dir(dir)?;
        let whole = segment.file_bytes == self.options.segment_bytes && !segment.is_abandoned;
        {
            let mut state = self.state.lock();
            let free_bytes = (state.free.len() as u64 + 1) * self.options.segment_bytes;
            if whole
                && segment.id >= state.reusable_from
                && state.free.len() < FREE_SEGMENTS_MAX
                && state.file_bytes() + free_bytes <= self.options.limit_bytes
            {
                state.free.push(segment.id);
                return Ok(());
            }
        }
        self.files.remove(&free_path)?;
        self.files.sync_dir(dir)
    }

    /// Works out anew how many bytes of frames still fit, after anything that changes it.
    pub(super) fn update_room(&self) {
        let state = self.state.lock();
        let segment_bytes = self.options.segment_bytes;
        let in_active = state
            .active
            .and_then(|id| state.segments.iter().find(|segment| segment.id == id))
            .map_or(0, |segment| segment_bytes.saturating_sub(segment.bytes));
        let fresh = self.options.limit_bytes.saturating_sub(state.file_bytes()) / segment_bytes;
        let room = in_active + fresh * (segment_bytes - SEGMENT_HEADER_BYTES as u64);
        self.room_bytes.store(room, Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "a gauge")]
        self.metrics.used_bytes.set(state.used_bytes() as f64);
    }
}

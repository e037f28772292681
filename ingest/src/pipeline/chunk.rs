//! The events between two cuts of the spool, by partition, on their way into ClickHouse.

use std::{collections::HashSet, fmt, ops::Range};

use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender};
use metrics_catalogue::handle::Gauge;

use super::dead_letters::DeadLetter;
use crate::{
    columns::Table,
    model::calendar::partition_month,
    record::{Batch, BatchHeader, EventView, Record},
    spool::{Mark, Position},
};

/// What one round of inserts takes.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The first frame's position.
    pub first: Position,
    /// The place after the last frame.
    pub end: Mark,
    /// Frames the chunk consists of.
    pub frames: u64,
    /// Positions of frames that give no rows.
    pub skipped: Vec<Position>,
    /// Arrival numbers of events that are not stored.
    pub left_out: HashSet<u64>,
    /// Whether repeats are left out. Otherwise ClickHouse collapses them when it reads and merges.
    pub is_unique: bool,
    /// One block per partition of each table, in the order of their inserts.
    pub partitions: Vec<Partition>,
    /// Frames that are no batches.
    pub unreadable: Vec<DeadLetter>,
    /// Events in all frames.
    pub events: u64,
    /// Receive time of the oldest frame, milliseconds since 1970.
    pub oldest_at_ms: u64,
    /// Returned when the chunk is dropped, which lets the next one begin.
    pub permit: Permit,
}

/// The rows of a chunk, read again from the spool to find refused ones among them.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The frames' batches, in order.
    pub batches: Vec<Batch>,
    /// Arrival numbers of events that are not stored.
    pub left_out: HashSet<u64>,
    /// Whether repeats are left out. Otherwise ClickHouse collapses them when it reads and merges.
    pub is_unique: bool,
}

impl Rows {
    /// Whether an event is stored.
    fn is_stored(&self, seq: u64) -> bool {
        !self.left_out.contains(&seq)
    }
}

/// Target of one insert: a part of a table.
///
/// Entries of `timeline` and `orders` go in before the events they belong to. So an event that is stored has them,
/// whenever the process was killed; entries without an event are found by no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InsertTarget {
    /// First arrivals of orders.
    Orders,
    /// Entries of one month's events by identifier and time.
    Timeline { month: u32 },
    /// Events of one month, `toYYYYMM(day)`.
    Events { month: u32 },
    /// All message events: their table has no partitions.
    Messages,
}

impl InsertTarget {
    /// Whether its rows are derived from those of `events`, in which refused ones are found.
    pub(super) fn is_derived(self) -> bool {
        matches!(self, Self::Orders | Self::Timeline { .. })
    }

    pub(super) fn table(self) -> Table {
        match self {
            Self::Orders => Table::Orders,
            Self::Timeline { .. } => Table::Timeline,
            Self::Events { .. } => Table::Events,
            Self::Messages => Table::MessageEvents,
        }
    }
}

impl fmt::Display for InsertTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Orders => f.write_str("orders"),
            Self::Timeline { month } => write!(f, "{month}-timeline"),
            Self::Events { month } => write!(f, "{month}"),
            Self::Messages => f.write_str("messages"),
        }
    }
}

/// The rows of one target.
#[derive(Debug)]
pub(super) struct Partition {
    pub target: InsertTarget,
    pub rows: usize,
    /// The rows as a `Native` block, in pieces.
    pub block: Vec<Bytes>,
}

/// Calls `each` with the rows of one target, `range` of them in order of arrival.
pub(super) fn for_each_row<'a>(
    rows: &'a Rows,
    target: InsertTarget,
    range: &Range<usize>,
    mut each: impl FnMut(&'a BatchHeader, Record<'a>),
) {
    let mut index = 0;
    let mut offer = |header, record| {
        if range.contains(&index) {
            each(header, record);
        }
        index += 1;
    };
    for batch in &rows.batches {
        match target {
            InsertTarget::Events { month: wanted } => {
                let is_wanted = |event: &EventView<'_>| {
                    partition_month(event.day) == wanted && rows.is_stored(event.seq)
                };
                for event in batch.events().filter(is_wanted) {
                    offer(batch.header(), Record::Event(event));
                }
            }
            // Derived from events: they are never refused for their content.
            InsertTarget::Orders | InsertTarget::Timeline { .. } => {}
            InsertTarget::Messages => {
                for event in batch.messages() {
                    offer(batch.header(), Record::Message(event));
                }
            }
        }
    }
}

/// The right to hold one chunk in memory.
pub(super) struct Permit {
    back: Sender<()>,
    /// Bytes of the chunk's blocks.
    bytes: usize,
    chunk_bytes: Gauge,
}

impl Permit {
    /// Notes how much memory the chunk takes.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53 bytes")]
    pub(super) fn note_bytes(&mut self, bytes: usize) {
        self.chunk_bytes.increment(bytes as f64 - self.bytes as f64);
        self.bytes = bytes;
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Limits the chunks in memory: one permit each.
#[derive(Debug)]
pub(super) struct Permits {
    free: Receiver<()>,
    back: Sender<()>,
}

impl Permits {
    pub(super) fn new(count: usize) -> Self {
        let (back, free) = crossbeam_channel::bounded(count);
        for _ in 0..count {
            back.try_send(()).expect("the channel holds every permit");
        }
        Self { free, back }
    }

    /// Waits up to `timeout` for a permit.
    pub(super) fn take(&self, timeout: std::time::Duration) -> Option<Permit> {
        self.free.recv_timeout(timeout).ok()?;
        let chunk_bytes = metrics_catalogue::INGEST_CHUNKS_BYTES.handle();
        Some(Permit { back: self.back.clone(), bytes: 0, chunk_bytes })
    }

    /// Whether another chunk could begin right now: nothing is being inserted.
    pub(super) fn is_idle(&self) -> bool {
        !self.free.is_empty()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        // Fails only when the receiver is gone, at shutdown; then no task waits for the permit.
        self.back.try_send(()).ok();
        self.note_bytes(0);
    }
}

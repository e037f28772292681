//! The events between two cuts of the spool, by partition, on their way into ClickHouse.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    ops::Range,
    sync::Arc,
};

use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender};

use super::dead_letters::DeadLetter;
use crate::{
    columns::{OrderKey, Table},
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
    /// The rows until everything is in: refused ones are looked for among them.
    pub rows: Arc<Rows>,
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

/// What of a chunk's batches is stored.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The frames' batches, in order.
    pub batches: Vec<Batch>,
    /// What is known about repeats; none where they are not looked for, and ClickHouse collapses them when it reads and
    /// merges.
    pub repeats: Option<Repeats>,
}

/// Events by arrival number, as the writer found them when it looked for earlier arrivals.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// Events whose key came before: they are not stored.
    pub left_out: HashSet<u64>,
    /// Events that complete an order first.
    pub first_of_orders: HashMap<u64, OrderKey>,
}

impl Rows {
    /// Whether an event is stored.
    pub(super) fn is_stored(&self, seq: u64) -> bool {
        self.repeats.as_ref().is_none_or(|repeats| !repeats.left_out.contains(&seq))
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
    /// The rows as a `Native` block.
    pub block: Bytes,
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
#[derive(Debug)]
pub(super) struct Permit(Sender<()>);

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
        Some(Permit(self.back.clone()))
    }

    /// Whether another chunk could begin right now: nothing is being inserted.
    pub(super) fn is_idle(&self) -> bool {
        !self.free.is_empty()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        // Fails only when the receiver is gone, at shutdown; then no task waits for the permit.
        self.0.try_send(()).ok();
    }
}

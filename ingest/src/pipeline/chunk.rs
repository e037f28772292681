//! The events between two cuts of the spool, by partition, on their way into ClickHouse.

use std::{fmt, ops::Range, sync::Arc};

use bytes::Bytes;
use chrono::{Datelike, NaiveDate, TimeDelta};
use crossbeam_channel::{Receiver, Sender};

use super::dead_letters::DeadLetter;
use crate::{
    columns::Table,
    record::{Batch, BatchHeader, EventView, MessageEvent},
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
    /// The frames' batches, in order, until everything is in: refused rows are looked for in them.
    pub batches: Arc<Vec<Batch>>,
    /// One block per partition of each table, ascending.
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

/// Target of one insert: a part of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum InsertTarget {
    /// Events of one month, `toYYYYMM(day)`.
    Events { month: u32 },
    /// All message events: their table has no partitions.
    Messages,
}

impl InsertTarget {
    pub(super) fn table(self) -> Table {
        match self {
            Self::Events { .. } => Table::Events,
            Self::Messages => Table::MessageEvents,
        }
    }
}

impl fmt::Display for InsertTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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

/// The table's partition of a key day: `toYYYYMM(day)`.
pub(super) fn month(day: u16) -> u32 {
    let date = NaiveDate::default() + TimeDelta::days(i64::from(day));
    date.year().unsigned_abs() * 100 + date.month()
}

/// One row, as it is in its batch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Record<'a> {
    Event(EventView<'a>),
    Message(MessageEvent<'a>),
}

/// Calls `each` with the rows of one target, `range` of them in order of arrival.
pub(super) fn for_each_row<'a>(
    batches: &'a [Batch],
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
    for batch in batches {
        match target {
            InsertTarget::Events { month: wanted } => {
                for event in batch.events().filter(|event| month(event.day) == wanted) {
                    offer(batch.header(), Record::Event(event));
                }
            }
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

#[cfg(test)]
mod tests {
    use super::month;

    #[test]
    fn a_day_lies_in_its_month() {
        for (day, expected) in
            [(0, 197_001), (30, 197_001), (31, 197_002), (19_675, 202_311), (u16::MAX, 214_906)]
        {
            assert_eq!(month(day), expected, "{day}");
        }
    }
}

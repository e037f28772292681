//! Events to one block per partition.

use std::{collections::HashSet, ops::Range};

use bytes::Bytes;

use super::chunk::{InsertTarget, Partition, Rows, for_each_row};
use crate::{
    columns::{EventColumns, MessageColumns, OrderColumns},
    model::calendar::partition_month,
    record::{Batch, BatchHeader, EventView, Record},
};

/// Events of a chunk on their way into blocks, by month.
#[derive(Debug)]
pub(super) struct Months<'a> {
    open: Vec<OpenMonth<'a>>,
    rows_max: usize,
    is_unique: bool,
    /// Day of the event before, and where its month stands.
    last: Option<(u16, usize)>,
}

/// A month whose block is being filled.
#[derive(Debug)]
struct OpenMonth<'a> {
    /// `toYYYYMM(day)` of its events.
    month: u32,
    columns: EventColumns<'a>,
}

impl<'a> Months<'a> {
    /// For at most `rows_max` events. `is_unique`: repeats among them are looked for.
    pub(super) fn new(rows_max: usize, is_unique: bool) -> Self {
        Self { open: Vec::new(), rows_max, is_unique, last: None }
    }

    /// Adds an event. Answers its month, `toYYYYMM(day)`.
    pub(super) fn push(&mut self, header: &BatchHeader, event: &EventView<'a>) -> u32 {
        let slot = match self.last {
            // Most events are of the same day as the one before.
            Some((day, slot)) if day == event.day => slot,
            _ => self.slot(partition_month(event.day)),
        };
        self.last = Some((event.day, slot));
        self.open[slot].columns.push(header, event);
        self.open[slot].month
    }

    fn slot(&mut self, month: u32) -> usize {
        if let Some(slot) = self.open.iter().position(|it| it.month == month) {
            return slot;
        }
        let mut columns =
            if self.is_unique { EventColumns::unique() } else { EventColumns::default() };
        if self.open.is_empty() {
            columns.reserve(self.rows_max);
        }
        self.open.push(OpenMonth { month, columns });
        self.open.len() - 1
    }

    /// The blocks in the order of their inserts. Of each month the one of `timeline`, where the views behind `events` do
    /// not write it, and the one of `events`.
    pub(super) fn partitions(mut self, left_out: &HashSet<u64>) -> Vec<Partition> {
        self.open.sort_unstable_by_key(|it| it.month);
        let is_unique = self.is_unique;
        let mut partitions = Vec::with_capacity(2 * self.open.len());
        for OpenMonth { month, mut columns } in self.open {
            if !left_out.is_empty() {
                columns.leave_out(left_out);
            }
            let rows = columns.len();
            if rows == 0 {
                continue;
            }
            if is_unique {
                let mut block = Vec::new();
                columns.encode_timeline(&mut block);
                let target = InsertTarget::Timeline { month };
                partitions.push(Partition { target, rows, block: vec![Bytes::from(block)] });
            }
            let target = InsertTarget::Events { month };
            partitions.push(Partition { target, rows, block: columns.encode() });
        }
        partitions
    }
}

/// First arrivals of orders; none when there are none.
pub(super) fn orders(columns: OrderColumns<'_>) -> Option<Partition> {
    let rows = columns.len();
    let mut block = Vec::new();
    (rows > 0).then(|| {
        columns.encode(&mut block);
        Partition { target: InsertTarget::Orders, rows, block: vec![Bytes::from(block)] }
    })
}

/// All message events of `batches`; none when there are none.
pub(super) fn messages(batches: &[Batch]) -> Option<Partition> {
    let mut columns = MessageColumns::default();
    for batch in batches {
        batch.messages().for_each(|event| columns.push(batch.header(), event));
    }
    let rows = columns.len();
    (rows > 0).then(|| Partition {
        target: InsertTarget::Messages,
        rows,
        block: finish_messages(columns),
    })
}

/// Some rows of one target; of one that is derived from events none.
pub(super) fn range(rows: &Rows, target: InsertTarget, range: &Range<usize>) -> Vec<Bytes> {
    let mut events = if rows.is_unique { EventColumns::unique() } else { EventColumns::default() };
    let mut messages = MessageColumns::default();
    for_each_row(rows, target, range, |header, record| match record {
        Record::Event(event) => events.push(header, &event),
        Record::Message(event) => messages.push(header, event),
    });
    debug_assert_eq!(events.len() + messages.len(), range.len(), "the target has these rows");
    match target {
        InsertTarget::Messages => finish_messages(messages),
        _ => events.encode(),
    }
}

fn finish_messages(columns: MessageColumns<'_>) -> Vec<Bytes> {
    let mut block = Vec::new();
    columns.encode(&mut block);
    vec![Bytes::from(block)]
}

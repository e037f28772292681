//! Batches to one block per partition.

use std::ops::Range;

use bytes::Bytes;

use super::chunk::{InsertTarget, Partition, Record, for_each_row, month};
use crate::{
    columns::{EventColumns, MessageColumns},
    record::Batch,
};

/// Partitions whose columns are kept for the next chunk.
const COLUMNS_KEPT_MAX: usize = 2;

/// Fills columns; reuses their memory from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    spare: Vec<EventColumns>,
}

/// A month whose block is being filled.
struct OpenMonth {
    /// `toYYYYMM(day)` of its events.
    month: u32,
    columns: EventColumns,
}

impl Encoder {
    /// All rows of `batches`, by target, ascending.
    pub(super) fn partitions(&mut self, batches: &[Batch]) -> Vec<Partition> {
        let mut open: Vec<OpenMonth> = Vec::new();
        let (mut day, mut slot) = (None, 0);
        for batch in batches {
            for event in batch.events() {
                // Most events are of the same day as the one before.
                if day != Some(event.day) {
                    day = Some(event.day);
                    slot = self.slot(&mut open, month(event.day));
                }
                open[slot].columns.push(batch.header(), &event);
            }
        }
        open.sort_unstable_by_key(|it| it.month);
        debug_assert!(open.is_sorted_by(|one, next| one.month < next.month), "one block per month");
        let events = open.into_iter().map(|OpenMonth { month, mut columns }| {
            let rows = columns.len();
            let block = finish(&mut columns);
            if self.spare.len() < COLUMNS_KEPT_MAX {
                self.spare.push(columns);
            }
            Partition { target: InsertTarget::Events { month }, rows, block }
        });
        events.chain(messages(batches)).collect()
    }

    fn slot(&mut self, open: &mut Vec<OpenMonth>, month: u32) -> usize {
        if let Some(slot) = open.iter().position(|it| it.month == month) {
            return slot;
        }
        open.push(OpenMonth { month, columns: self.spare.pop().unwrap_or_default() });
        open.len() - 1
    }
}

/// All message events of `batches`; none when there are none.
fn messages(batches: &[Batch]) -> Option<Partition> {
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

/// Some rows of one target.
pub(super) fn range(batches: &[Batch], target: InsertTarget, range: &Range<usize>) -> Bytes {
    let (mut events, mut messages) = (EventColumns::default(), MessageColumns::default());
    for_each_row(batches, target, range, |header, record| match record {
        Record::Event(event) => events.push(header, &event),
        Record::Message(event) => messages.push(header, event),
    });
    match target {
        InsertTarget::Events { .. } => finish(&mut events),
        InsertTarget::Messages => finish_messages(messages),
    }
}

fn finish_messages(columns: MessageColumns<'_>) -> Bytes {
    let mut block = Vec::new();
    columns.encode(&mut block);
    Bytes::from(block)
}

fn finish(columns: &mut EventColumns) -> Bytes {
    let mut block = Vec::new();
    columns.encode(&mut block);
    columns.clear();
    Bytes::from(block)
}

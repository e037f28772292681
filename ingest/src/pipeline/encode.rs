//! Batches to one block per partition.

use std::ops::Range;

use bytes::Bytes;

use super::chunk::{Partition, Place, Record, for_each_row, month};
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

impl Encoder {
    /// All rows of `batches`, by place, ascending.
    pub(super) fn partitions(&mut self, batches: &[Batch]) -> Vec<Partition> {
        let mut open: Vec<(u32, EventColumns)> = Vec::new();
        let (mut day, mut slot) = (None, 0);
        for batch in batches {
            for event in batch.events() {
                // Most events are of the same day as the one before.
                if day != Some(event.day) {
                    day = Some(event.day);
                    slot = self.slot(&mut open, month(event.day));
                }
                open[slot].1.push(batch.header(), &event);
            }
        }
        open.sort_unstable_by_key(|(month, _)| *month);
        let events = open.into_iter().map(|(month, mut columns)| {
            let rows = columns.len();
            let block = finish(&mut columns);
            if self.spare.len() < COLUMNS_KEPT_MAX {
                self.spare.push(columns);
            }
            Partition { place: Place::Events { month }, rows, block }
        });
        events.chain(messages(batches)).collect()
    }

    fn slot(&mut self, open: &mut Vec<(u32, EventColumns)>, month: u32) -> usize {
        if let Some(slot) = open.iter().position(|(other, _)| *other == month) {
            return slot;
        }
        open.push((month, self.spare.pop().unwrap_or_default()));
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
    (rows > 0).then(|| Partition { place: Place::Messages, rows, block: finish_messages(columns) })
}

/// Some rows of one place.
pub(super) fn range(batches: &[Batch], place: Place, range: &Range<usize>) -> Bytes {
    let (mut events, mut messages) = (EventColumns::default(), MessageColumns::default());
    for_each_row(batches, place, range, |header, record| match record {
        Record::Event(event) => events.push(header, &event),
        Record::Message(event) => messages.push(header, event),
    });
    match place {
        Place::Events { .. } => finish(&mut events),
        Place::Messages => finish_messages(messages),
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

//! Batches to one block per partition.

use std::ops::Range;

use bytes::Bytes;

use super::chunk::{Partition, for_each_row, month};
use crate::{columns::EventColumns, record::Batch};

/// Partitions whose columns are kept for the next chunk.
const COLUMNS_KEPT_MAX: usize = 2;

/// Fills columns; reuses their memory from chunk to chunk.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    spare: Vec<EventColumns>,
}

impl Encoder {
    /// All rows of `batches`, by partition, ascending.
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
        open.into_iter()
            .map(|(month, mut columns)| {
                let rows = columns.len();
                let block = finish(&mut columns);
                if self.spare.len() < COLUMNS_KEPT_MAX {
                    self.spare.push(columns);
                }
                Partition { month, rows, block }
            })
            .collect()
    }

    fn slot(&mut self, open: &mut Vec<(u32, EventColumns)>, month: u32) -> usize {
        if let Some(slot) = open.iter().position(|(other, _)| *other == month) {
            return slot;
        }
        open.push((month, self.spare.pop().unwrap_or_default()));
        open.len() - 1
    }
}

/// Some rows of one partition.
pub(super) fn range(batches: &[Batch], partition: u32, range: &Range<usize>) -> Bytes {
    let mut columns = EventColumns::default();
    for_each_row(batches, partition, range, |header, event| columns.push(header, event));
    finish(&mut columns)
}

fn finish(columns: &mut EventColumns) -> Bytes {
    let mut block = Vec::new();
    columns.encode(&mut block);
    columns.clear();
    Bytes::from(block)
}

//! Batches to one block per partition.

use std::ops::Range;

use bytes::Bytes;

use super::chunk::{Partition, for_each_row, month};
use super::dead_letters::row_json;
use crate::record::{Batch, BatchHeader, EventView};

/// Partitions whose columns are kept for the next chunk.
const COLUMNS_KEPT_MAX: usize = 4;

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

/// Rows as JSON lines, until the `Native` columns are in.
#[derive(Debug, Default)]
struct EventColumns {
    rows: usize,
    lines: Vec<u8>,
}

impl EventColumns {
    fn push(&mut self, header: &BatchHeader, event: &EventView<'_>) {
        let row = row_json(header, event).expect("a row of plain values is JSON");
        self.rows += 1;
        self.lines.extend_from_slice(row.get().as_bytes());
        self.lines.push(b'\n');
    }

    fn len(&self) -> usize {
        self.rows
    }

    fn encode(&self, block: &mut Vec<u8>) {
        block.extend_from_slice(&self.lines);
    }

    fn clear(&mut self) {
        self.rows = 0;
        self.lines.clear();
    }
}

//! Batches to one block per partition.

use std::ops::Range;

use bytes::Bytes;

use super::chunk::{InsertTarget, Partition, Rows, for_each_row};
use crate::{
    columns::{EventColumns, MessageColumns, OrderColumns},
    model::calendar::partition_month,
    record::{Batch, Record},
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
    /// The stored rows by target, in the order of their inserts.
    pub(super) fn partitions(&mut self, rows: &Rows) -> Vec<Partition> {
        let mut open: Vec<OpenMonth> = Vec::new();
        let (mut day, mut slot) = (None, 0);
        for batch in &rows.batches {
            for event in batch.events().filter(|event| rows.is_stored(event.seq)) {
                // Most events are of the same day as the one before.
                if day != Some(event.day) {
                    day = Some(event.day);
                    slot = self.slot(&mut open, partition_month(event.day), rows.repeats.is_some());
                }
                open[slot].columns.push(batch.header(), &event);
            }
        }
        open.sort_unstable_by_key(|it| it.month);
        debug_assert!(open.is_sorted_by(|one, next| one.month < next.month), "one block per month");
        let mut partitions: Vec<Partition> = orders(rows).into_iter().collect();
        for open in open {
            self.finish_month(open, rows.repeats.is_some(), &mut partitions);
        }
        partitions.extend(messages(&rows.batches));
        debug_assert_eq!(
            partitions.iter().filter(|it| !it.target.is_derived()).map(|it| it.rows).sum::<usize>(),
            rows.batches.iter().map(|batch| batch.header().count as usize).sum::<usize>()
                - rows.repeats.as_ref().map_or(0, |repeats| repeats.left_out.len()),
            "each stored record is a row of one block"
        );
        partitions
    }

    fn slot(&mut self, open: &mut Vec<OpenMonth>, month: u32, is_unique: bool) -> usize {
        if let Some(slot) = open.iter().position(|it| it.month == month) {
            return slot;
        }
        let fresh = || if is_unique { EventColumns::unique() } else { EventColumns::default() };
        open.push(OpenMonth { month, columns: self.spare.pop().unwrap_or_else(fresh) });
        open.len() - 1
    }

    /// The blocks of a month: of `timeline`, where the views behind `events` do not write it, and of `events`.
    fn finish_month(&mut self, open: OpenMonth, is_unique: bool, into: &mut Vec<Partition>) {
        let OpenMonth { month, mut columns } = open;
        let rows = columns.len();
        if is_unique {
            let mut block = Vec::new();
            columns.encode_timeline(&mut block);
            let target = InsertTarget::Timeline { month };
            into.push(Partition { target, rows, block: Bytes::from(block) });
        }
        let block = finish(&mut columns);
        into.push(Partition { target: InsertTarget::Events { month }, rows, block });
        if self.spare.len() < COLUMNS_KEPT_MAX {
            self.spare.push(columns);
        }
    }
}

/// First arrivals of orders; none when there are none.
fn orders(rows: &Rows) -> Option<Partition> {
    let first = &rows.repeats.as_ref()?.first_of_orders;
    if first.is_empty() {
        return None;
    }
    let mut columns = OrderColumns::default();
    for batch in &rows.batches {
        for event in batch.events() {
            if let Some(key) = first.get(&event.seq) {
                columns.push(batch.header(), key.clone(), event);
            }
        }
    }
    debug_assert_eq!(columns.len(), first.len(), "each order has an event of the chunk");
    let rows = columns.len();
    let mut block = Vec::new();
    columns.encode(&mut block);
    Some(Partition { target: InsertTarget::Orders, rows, block: Bytes::from(block) })
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

/// Some rows of one target; of one that is derived from events none.
pub(super) fn range(rows: &Rows, target: InsertTarget, range: &Range<usize>) -> Bytes {
    let is_unique = rows.repeats.is_some();
    let mut events = if is_unique { EventColumns::unique() } else { EventColumns::default() };
    let mut messages = MessageColumns::default();
    for_each_row(rows, target, range, |header, record| match record {
        Record::Event(event) => events.push(header, &event),
        Record::Message(event) => messages.push(header, event),
    });
    debug_assert_eq!(events.len() + messages.len(), range.len(), "the target has these rows");
    match target {
        InsertTarget::Messages => finish_messages(messages),
        _ => finish(&mut events),
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

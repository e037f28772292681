//! Events as columns, sorted by the table's key and written as ClickHouse `Native` blocks.
//!
//! Rows are copied once, when they are written: in the exact order of
//! the table's key (`workspace_id, event_name, day, event_id`), so that ClickHouse finds them sorted and
//! leaves them where they are. Strings the table keeps as `LowCardinality` are sent
//! so, one dictionary a block, which spares ClickHouse a hash look-up for every value.

mod by_id;
mod messages;
mod native;
mod orders;
mod rows;
mod timeline;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::record::{BatchHeader, EventView};

pub use messages::MessageColumns;
pub use orders::{OrderColumns, OrderKey};

use rows::{Dictionaries, Row, Values};

/// A table that rows go into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// Table of tracked events.
    #[default]
    Events,
    /// What happened to messages.
    MessageEvents,
    /// Keys of events by identifier and time.
    Timeline,
    /// First arrivals of orders.
    Orders,
}

impl Table {
    /// The columns sent, in the order of a block, and their types in it.
    pub const fn columns(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Events => &COLUMNS,
            Self::MessageEvents => &messages::COLUMNS,
            Self::Timeline => &timeline::COLUMNS,
            Self::Orders => &orders::COLUMNS,
        }
    }

    /// The statement a block is the body of.
    pub const fn insert(self) -> &'static str {
        match self {
            Self::Events => INSERT,
            Self::MessageEvents => messages::INSERT,
            Self::Timeline => timeline::INSERT,
            Self::Orders => orders::INSERT,
        }
    }

    /// Name of the table in ClickHouse.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::MessageEvents => "message_events",
            Self::Timeline => "timeline",
            Self::Orders => "orders",
        }
    }
}

/// The columns sent, in the order of the block, and their types in it.
const COLUMNS: [(&str, &str); 23] = [
    ("workspace_id", "UUID"),
    ("event_name", "LowCardinality(String)"),
    ("day", "Date"),
    ("timestamp", "DateTime64(3, 'UTC')"),
    ("user_id", "String"),
    ("anonymous_id", "String"),
    ("service_user_id", "String"),
    ("alias_label", "LowCardinality(String)"),
    ("alias_name", "String"),
    ("event_id", "String"),
    ("session_id", "String"),
    ("device_id", "String"),
    ("received_at", "DateTime64(3, 'UTC')"),
    ("properties", "String"),
    ("numbers", "Map(LowCardinality(String), Float64)"),
    ("order_id", "String"),
    ("revenue", "Decimal(18, 4)"),
    ("currency", "LowCardinality(String)"),
    ("base_revenue", "Decimal(18, 4)"),
    ("base_currency", "LowCardinality(String)"),
    ("has_revenue", "UInt8"),
    ("seq", "UInt64"),
    ("is_unique", "UInt8"),
];

/// The statement a block is the body of.
const INSERT: &str = "INSERT INTO events (workspace_id, event_name, day, timestamp, user_id, \
     anonymous_id, service_user_id, alias_label, alias_name, event_id, session_id, device_id, \
     received_at, properties, numbers, order_id, revenue, currency, base_revenue, base_currency, \
     has_revenue, seq, is_unique) FORMAT Native";

/// Rows of one partition on their way into one block, borrowed from their batches.
#[derive(Debug, Default)]
pub struct EventColumns<'a> {
    rows: Vec<Row<'a>>,
    workspaces: Vec<Uuid>,
    dictionaries: Dictionaries,
    is_unique: bool,
}

impl<'a> EventColumns<'a> {
    /// Columns of rows whose writer has looked for earlier arrivals of their keys and writes their entries of `timeline`
    /// and `orders` itself: column `is_unique`. Of other rows the views behind `events` write them.
    pub fn unique() -> Self {
        Self { is_unique: true, ..Self::default() }
    }

    /// Makes room for as many rows more.
    pub fn reserve(&mut self, rows: usize) {
        self.rows.reserve(rows);
    }

    /// Appends an event as one row.
    pub fn push(&mut self, header: &BatchHeader, event: &EventView<'a>) {
        let workspace = self.workspace(header.workspace_id);
        self.rows.push(Row::new(workspace, header, event, &mut self.dictionaries));
    }

    /// Takes rows out, by their arrival numbers.
    pub fn leave_out(&mut self, seqs: &HashSet<u64>) {
        self.rows.retain(|row| !seqs.contains(&row.seq));
    }

    /// Rows pushed and not taken out.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All rows as one block in pieces, sorted by the table's key.
    pub fn encode(self) -> Vec<Bytes> {
        let order = self.sorted();
        debug_assert_eq!(order.len(), self.rows.len(), "each row has one place in the order");
        let mut values = Values::for_rows(&self.rows);
        for index in order {
            let row = &self.rows[index as usize];
            values.push(row, self.workspaces[row.workspace as usize]);
        }
        values.finish(&self.dictionaries, self.is_unique)
    }

    /// Appends the rows' entries of `timeline` as one block, sorted by that table's key.
    pub fn encode_timeline(&self, block: &mut Vec<u8>) {
        timeline::encode(self, block);
    }

    /// For every workspace of the rows, its rank in the order of ClickHouse, which compares UUIDs by their second half
    /// first.
    fn workspace_ranks(&self) -> Vec<u32> {
        let mut by_id: Vec<(u64, u64, u32)> = (0..)
            .zip(&self.workspaces)
            .map(|(number, id)| (id.as_u64_pair().1, id.as_u64_pair().0, number))
            .collect();
        by_id.sort_unstable();
        let mut workspace_ranks = vec![0_u32; by_id.len()];
        for ((_, _, number), rank) in by_id.into_iter().zip(0..) {
            workspace_ranks[number as usize] = rank;
        }
        workspace_ranks
    }

    /// The rows' positions in the order of the table's key.
    fn sorted(&self) -> impl ExactSizeIterator<Item = u32> + use<> {
        let workspace_ranks = self.workspace_ranks();
        let name_ranks = self.dictionaries.event_names.ranks();
        let mut groups: Vec<(u64, u16, u32)> = (0..)
            .zip(&self.rows)
            .map(|(index, row)| {
                let workspace = u64::from(workspace_ranks[row.workspace as usize]);
                let name = u64::from(name_ranks[row.event_name as usize]);
                (workspace << 32 | name, row.day, index)
            })
            .collect();
        groups.sort_unstable();
        let same_group =
            |one: &(u64, u16, u32), next: &(u64, u16, u32)| (one.0, one.1) == (next.0, next.1);
        let mut order = Vec::with_capacity(groups.len());
        for group in groups.chunk_by(same_group) {
            let ids =
                group.iter().map(|(_, _, index)| (self.rows[*index as usize].event_id(), *index));
            by_id::append_sorted(ids, &mut order);
        }
        order.into_iter()
    }

    /// The number of a workspace; the last one is nearly always meant.
    fn workspace(&mut self, id: Uuid) -> u32 {
        let known = self.workspaces.iter().rposition(|known| *known == id);
        let number = known.unwrap_or_else(|| {
            self.workspaces.push(id);
            self.workspaces.len() - 1
        });
        u32::try_from(number).expect("a block is far below 2^32 workspaces")
    }
}

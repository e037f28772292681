//! Events as columns, sorted by the table's key and written as ClickHouse `Native` blocks.
//!
//! Rows are copied once as they arrive, and once more when they are written: in the exact order of
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

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::record::{BatchHeader, EventView};

pub use messages::MessageColumns;
pub use orders::{OrderColumns, OrderKey};

use native::{Dictionary, write_column_header, write_var_uint};
use rows::{Row, Texts, Values};

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

/// Rows of one partition, on their way into one block. Buffers are kept from block to block.
#[derive(Debug, Default)]
pub struct EventColumns {
    rows: Vec<Row>,
    texts: Texts,
    workspaces: Vec<Uuid>,
    event_names: Dictionary,
    alias_labels: Dictionary,
    currencies: Dictionary,
    number_paths: Dictionary,
    values: Values,
    is_unique: bool,
}

impl EventColumns {
    /// Columns of rows whose writer has looked for earlier arrivals of their keys and writes their entries of `timeline`
    /// and `orders` itself: column `is_unique`. Of other rows the views behind `events` write them.
    pub fn unique() -> Self {
        Self { is_unique: true, ..Self::default() }
    }

    /// Appends an event as one row.
    pub fn push(&mut self, header: &BatchHeader, event: &EventView<'_>) {
        let order = event.order.unwrap_or_default();
        let numbers = self.texts.push_numbers(event.numbers(), &mut self.number_paths);
        let row = Row {
            workspace: self.workspace(header.workspace_id),
            event_name: self.event_names.number(event.event_name),
            day: event.day,
            timestamp_ms: event.timestamp_ms,
            received_at_ms: header.received_at_ms,
            seq: event.seq,
            alias_label: self.alias_labels.number(event.alias_label),
            currency: self.currencies.number(order.currency),
            base_currency: self.currencies.number(order.base_currency),
            revenue: order.revenue,
            base_revenue: order.base_revenue,
            numbers,
            texts: self.texts.push_texts(event, order.order_id),
        };
        self.rows.push(row);
    }

    /// Rows pushed since the last block.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Forgets all rows, keeps the memory.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.texts.clear();
        self.workspaces.clear();
        for dictionary in [
            &mut self.event_names,
            &mut self.alias_labels,
            &mut self.currencies,
            &mut self.number_paths,
        ] {
            dictionary.clear();
        }
    }

    /// Appends all rows as one block, sorted by the table's key.
    pub fn encode(&mut self, block: &mut Vec<u8>) {
        let order = self.sorted();
        debug_assert_eq!(order.len(), self.rows.len(), "each row has one place in the order");
        self.values.clear();
        for index in order {
            let row = &self.rows[index as usize];
            self.values.push(row, self.workspaces[row.workspace as usize], &self.texts);
        }
        self.write(block);
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
        let name_ranks = self.event_names.ranks();
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
            let ids = group
                .iter()
                .map(|(_, _, index)| (self.texts.event_id(&self.rows[*index as usize]), *index));
            by_id::append_sorted(ids, &mut order);
        }
        order.into_iter()
    }

    /// Writes the collected values column by column, in the order of [`COLUMNS`].
    fn write(&self, block: &mut Vec<u8>) {
        let values = &self.values;
        debug_assert_eq!(values.rows(), Some(self.rows.len()), "all columns have as many values");
        block.reserve(values.bytes() + self.number_paths.bytes() + COLUMNS.len() * 64);
        write_var_uint(block, COLUMNS.len());
        write_var_uint(block, self.rows.len());
        for (index, (name, kind)) in COLUMNS.iter().enumerate() {
            write_column_header(block, name, kind);
            let (dictionary, numbers) = match *name {
                "event_name" => (&self.event_names, &values.event_names),
                "alias_label" => (&self.alias_labels, &values.alias_labels),
                "currency" => (&self.currencies, &values.currencies),
                "base_currency" => (&self.currencies, &values.base_currencies),
                "numbers" => {
                    Dictionary::write_prefix(block);
                    block.extend_from_slice(&values.plain[index]);
                    self.number_paths.write_values(block, &values.leaf_paths);
                    block.extend_from_slice(&values.leaves);
                    continue;
                }
                "is_unique" => {
                    block.resize(block.len() + self.rows.len(), u8::from(self.is_unique));
                    continue;
                }
                _ => {
                    block.extend_from_slice(&values.plain[index]);
                    continue;
                }
            };
            Dictionary::write_prefix(block);
            dictionary.write_values(block, numbers);
        }
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

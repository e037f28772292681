//! First arrivals of orders as a `Native` block, sorted by the key of `orders`.

use ch_cityhash102::cityhash64;
use uuid::Uuid;

use super::native::{write_column_header, write_string, write_uuid, write_var_uint};
use crate::{
    model::ORDER_COMPLETED,
    record::{EventView, OrderView},
};

/// The columns sent, in the order of the block, and their types in it.
pub(super) const COLUMNS: [(&str, &str); 11] = [
    ("workspace_id", "UUID"),
    ("order_key", "String"),
    ("event_hash", "UInt64"),
    ("seq", "UInt64"),
    ("event_id", "String"),
    ("timestamp", "DateTime64(3, 'UTC')"),
    ("has_revenue", "UInt8"),
    ("revenue", "Decimal(18, 4)"),
    ("currency", "String"),
    ("base_revenue", "Decimal(18, 4)"),
    ("base_currency", "String"),
];

/// The statement a block is the body of.
pub(super) const INSERT: &str = "INSERT INTO orders (workspace_id, order_key, event_hash, seq, \
     event_id, timestamp, has_revenue, revenue, currency, base_revenue, base_currency) \
     FORMAT Native";

/// Begins the ids of events that came with a public key.
const PUBLIC_ID_PREFIX: &str = "sdk:";

/// What an order is known by in its workspace: its own id, or that of its event. The two kinds cannot meet: each begins
/// with its kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OrderKey(String);

impl OrderKey {
    /// The key of the order that an event completes; none where it completes none. An event that came with a public key
    /// under a name that is not trusted says nothing about money, and is no order.
    pub fn of(event: &EventView<'_>) -> Option<Self> {
        if event.event_name != ORDER_COMPLETED {
            return None;
        }
        let order = event.order.unwrap_or_default();
        if !order.order_id.is_empty() {
            return Some(Self(format!("order:{}", order.order_id)));
        }
        let says_nothing = order.revenue.is_none() && order.base_revenue.unwrap_or_default() == 0;
        let is_public = event.event_id.starts_with(PUBLIC_ID_PREFIX);
        (!(is_public && says_nothing)).then(|| Self(format!("event:{}", event.event_id)))
    }

    /// The key as the table holds it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// First arrivals of orders on their way into one block, borrowed from their batches.
#[derive(Debug, Default)]
pub struct OrderColumns<'a> {
    rows: Vec<Row<'a>>,
}

#[derive(Debug)]
struct Row<'a> {
    workspace_id: Uuid,
    key: OrderKey,
    event: EventView<'a>,
}

impl Row<'_> {
    fn order(&self) -> OrderView<'_> {
        self.event.order.unwrap_or_default()
    }
}

impl<'a> OrderColumns<'a> {
    /// Adds the event that completed an order first.
    pub fn push(&mut self, workspace_id: Uuid, key: OrderKey, event: EventView<'a>) {
        self.rows.push(Row { workspace_id, key, event });
    }

    /// Rows pushed so far.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends all rows as one block.
    pub fn encode(mut self, block: &mut Vec<u8>) {
        // ClickHouse compares UUIDs by their second half first.
        self.rows.sort_unstable_by(|one, other| {
            let key = |row: &Row<'_>| {
                let (first, second) = row.workspace_id.as_u64_pair();
                (second, first)
            };
            key(one).cmp(&key(other)).then_with(|| one.key.0.cmp(&other.key.0))
        });
        write_var_uint(block, COLUMNS.len());
        write_var_uint(block, self.rows.len());
        for (name, kind) in COLUMNS {
            write_column_header(block, name, kind);
            self.rows.iter().for_each(|row| row.write(block, name));
        }
    }
}

impl Row<'_> {
    fn write(&self, block: &mut Vec<u8>, column: &str) {
        let (event, order) = (&self.event, self.order());
        let mut number = |value: u64| block.extend_from_slice(&value.to_le_bytes());
        match column {
            "event_hash" => number(cityhash64(event.event_id.as_bytes())),
            "seq" => number(event.seq),
            "timestamp" => number(event.timestamp_ms.cast_unsigned()),
            "revenue" => number(order.revenue.unwrap_or_default().cast_unsigned()),
            "base_revenue" => number(order.base_revenue.unwrap_or_default().cast_unsigned()),
            "workspace_id" => write_uuid(block, self.workspace_id),
            "has_revenue" => block.push(u8::from(order.revenue.is_some())),
            "order_key" => write_string(block, self.key.as_str().as_bytes()),
            "event_id" => write_string(block, event.event_id.as_bytes()),
            "currency" => write_string(block, order.currency.as_bytes()),
            "base_currency" => write_string(block, order.base_currency.as_bytes()),
            _ => debug_assert!(false, "each column is written"),
        }
    }
}

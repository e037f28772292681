//! Message events as a `Native` block, sorted by the key of `message_events`.

use std::cmp::Ordering;

use uuid::Uuid;

use super::native::{Dictionary, write_column_header, write_string, write_uuid, write_var_uint};
use crate::record::{BatchHeader, MessageEvent};

/// The columns sent, in the order of the block, and their types in it.
pub(super) const COLUMNS: [(&str, &str); 20] = [
    ("workspace_id", "UUID"),
    ("campaign_id", "UUID"),
    ("type", "LowCardinality(String)"),
    ("user_id", "String"),
    ("message_id", "UUID"),
    ("event_id", "String"),
    ("timestamp", "DateTime64(3, 'UTC')"),
    ("occurrence", "UInt32"),
    ("variant_id", "LowCardinality(String)"),
    ("channel", "LowCardinality(String)"),
    ("is_bot", "Bool"),
    ("is_test", "Bool"),
    ("url", "String"),
    ("label", "LowCardinality(String)"),
    ("code", "LowCardinality(String)"),
    ("reason", "String"),
    ("platform", "LowCardinality(String)"),
    ("app_id", "LowCardinality(String)"),
    ("button_id", "LowCardinality(String)"),
    ("seq", "UInt64"),
];

/// The statement a block is the body of.
pub(super) const INSERT: &str = "INSERT INTO message_events (workspace_id, campaign_id, type, \
     user_id, message_id, event_id, timestamp, occurrence, variant_id, channel, is_bot, is_test, \
     url, label, code, reason, platform, app_id, button_id, seq) FORMAT Native";

/// Message events on their way into one block, borrowed from their batches.
#[derive(Debug, Default)]
pub struct MessageColumns<'a> {
    rows: Vec<Row<'a>>,
}

#[derive(Debug)]
struct Row<'a> {
    workspace_id: Uuid,
    event: MessageEvent<'a>,
}

impl<'a> MessageColumns<'a> {
    /// Adds a message event.
    pub fn push(&mut self, header: &BatchHeader, event: MessageEvent<'a>) {
        self.rows.push(Row { workspace_id: header.workspace_id, event });
    }

    /// Rows pushed since the last block.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends all rows as one block.
    pub fn encode(mut self, block: &mut Vec<u8>) {
        self.rows.sort_unstable_by(Row::by_key);
        debug_assert!(
            self.rows.is_sorted_by(|one, next| one.by_key(next).is_le()),
            "the key orders all rows"
        );
        write_var_uint(block, COLUMNS.len());
        write_var_uint(block, self.rows.len());
        for (name, kind) in COLUMNS {
            write_column_header(block, name, kind);
            self.write_column(block, name);
        }
    }

    fn write_column(&self, block: &mut Vec<u8>, name: &str) {
        let rows = self.rows.as_slice();
        match name {
            "workspace_id" => each(rows, |row| write_uuid(block, row.workspace_id)),
            "campaign_id" => each(rows, |row| write_uuid(block, row.event.campaign_id)),
            "message_id" => each(rows, |row| write_uuid(block, row.event.message_id)),
            "type" => words(block, rows, |event| event.kind.as_str()),
            "user_id" => texts(block, rows, |event| event.user_id),
            "event_id" => texts(block, rows, |event| event.event_id),
            "timestamp" => {
                each(rows, |row| block.extend_from_slice(&row.event.timestamp_ms.to_le_bytes()));
            }
            "occurrence" => {
                each(rows, |row| block.extend_from_slice(&row.event.occurrence.to_le_bytes()));
            }
            "variant_id" => words(block, rows, |event| event.variant_id),
            "channel" => words(block, rows, |event| event.channel),
            "is_bot" => each(rows, |row| block.push(u8::from(row.event.is_bot))),
            "is_test" => each(rows, |row| block.push(u8::from(row.event.is_test))),
            "url" => texts(block, rows, |event| event.url),
            "label" => words(block, rows, |event| event.label),
            "code" => words(block, rows, |event| event.code),
            "reason" => texts(block, rows, |event| event.reason),
            "platform" => words(block, rows, |event| event.platform),
            "app_id" => words(block, rows, |event| event.app_id),
            "button_id" => words(block, rows, |event| event.button_id),
            "seq" => each(rows, |row| block.extend_from_slice(&row.event.seq.to_le_bytes())),
            _ => unreachable!("every column is written"),
        }
    }
}

impl Row<'_> {
    /// The order of the table's key. ClickHouse compares UUIDs by their second half first.
    fn by_key(&self, other: &Self) -> Ordering {
        let id = |id: Uuid| (id.as_u64_pair().1, id.as_u64_pair().0);
        let (one, two) = (&self.event, &other.event);
        id(self.workspace_id)
            .cmp(&id(other.workspace_id))
            .then_with(|| id(one.campaign_id).cmp(&id(two.campaign_id)))
            .then_with(|| one.kind.as_str().cmp(two.kind.as_str()))
            .then_with(|| one.user_id.cmp(two.user_id))
            .then_with(|| id(one.message_id).cmp(&id(two.message_id)))
            .then_with(|| one.event_id.cmp(two.event_id))
            .then_with(|| one.seq.cmp(&two.seq))
    }
}

fn each<'a>(rows: &[Row<'a>], write: impl FnMut(&Row<'a>)) {
    rows.iter().for_each(write);
}

fn texts<'a>(block: &mut Vec<u8>, rows: &[Row<'a>], text: impl Fn(&MessageEvent<'a>) -> &'a str) {
    for row in rows {
        write_string(block, text(&row.event).as_bytes());
    }
}

fn words<'a>(block: &mut Vec<u8>, rows: &[Row<'a>], word: impl Fn(&MessageEvent<'a>) -> &'a str) {
    let mut dictionary = Dictionary::default();
    let numbers: Vec<u32> = rows.iter().map(|row| dictionary.number(word(&row.event))).collect();
    Dictionary::write_prefix(block);
    dictionary.write_values(block, &numbers);
}

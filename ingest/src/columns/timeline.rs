//! The entries of `timeline` of some events: the keys of events, for their workspace (identifier 0) and again for each
//! user identifier (its `cityHash64`), in the order of time. An event without a user is listed by its anonymous id.

use ch_cityhash102::cityhash64;

use super::{
    EventColumns,
    native::{Dictionary, write_column_header, write_string, write_uuid, write_var_uint},
    rows::Row,
};

/// The columns sent, in the order of the block, and their types in it.
pub(super) const COLUMNS: [(&str, &str); 6] = [
    ("workspace_id", "UUID"),
    ("identifier", "UInt64"),
    ("timestamp", "DateTime64(3, 'UTC')"),
    ("event_name", "LowCardinality(String)"),
    ("day", "Date"),
    ("event_id", "String"),
];

/// The statement a block is the body of.
pub(super) const INSERT: &str = "INSERT INTO timeline (workspace_id, identifier, timestamp, \
     event_name, day, event_id) FORMAT Native";

/// Bytes of an entry, at most, without its event's id.
const ENTRY_BYTES: usize = 16 + 8 + 8 + 4 + 2 + 2;

/// Stands for every event of a workspace.
const EVERYONE: u64 = 0;

/// An entry; its fields are the table's key, then the number of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    workspace_rank: u32,
    identifier: u64,
    timestamp_ms: i64,
    row: u32,
}

/// Appends the entries of all rows as one block, sorted by the table's key.
pub(super) fn encode(events: &EventColumns<'_>, block: &mut Vec<u8>) {
    let entries = sorted(events);
    let rows = || entries.iter().map(|entry| &events.rows[entry.row as usize]);
    let ids: usize = rows().map(|row| row.event_id().len()).sum();
    block.reserve(ids + entries.len() * ENTRY_BYTES + COLUMNS.len() * 64);
    write_var_uint(block, COLUMNS.len());
    write_var_uint(block, entries.len());
    for (name, kind) in COLUMNS {
        write_column_header(block, name, kind);
        match name {
            "workspace_id" => {
                rows().for_each(|row| write_uuid(block, events.workspaces[row.workspace as usize]));
            }
            "identifier" => {
                for entry in &entries {
                    block.extend_from_slice(&entry.identifier.to_le_bytes());
                }
            }
            "timestamp" => {
                for entry in &entries {
                    block.extend_from_slice(&entry.timestamp_ms.to_le_bytes());
                }
            }
            "event_name" => {
                let numbers: Vec<u32> = rows().map(|row| row.event_name).collect();
                Dictionary::write_prefix(block);
                events.dictionaries.event_names.write_values(block, &numbers);
            }
            "day" => rows().for_each(|row| block.extend_from_slice(&row.day.to_le_bytes())),
            "event_id" => {
                rows().for_each(|row| write_string(block, row.event_id()));
            }
            _ => debug_assert!(false, "each column is written"),
        }
    }
}

fn sorted(events: &EventColumns<'_>) -> Vec<Entry> {
    let ranks = events.workspace_ranks();
    let mut entries = Vec::with_capacity(2 * events.rows.len());
    for (number, row) in (0..).zip(&events.rows) {
        let entry = |identifier| Entry {
            workspace_rank: ranks[row.workspace as usize],
            identifier,
            timestamp_ms: row.timestamp_ms,
            row: number,
        };
        entries.push(entry(EVERYONE));
        entries.extend(identifiers(row).map(|text| entry(cityhash64(text))));
    }
    entries.sort_unstable();
    entries
}

/// The identifiers a row is listed by.
fn identifiers<'a>(row: &Row<'a>) -> impl Iterator<Item = &'a [u8]> {
    let (user, service) = (row.user_id(), row.service_user_id());
    let anonymous = (user.is_empty() && service.is_empty()).then(|| row.anonymous_id());
    let service = (service != user).then_some(service);
    [Some(user), service, anonymous].into_iter().flatten().filter(|text| !text.is_empty())
}

//! Looks keys up in ClickHouse, exactly.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    io,
};

use clickhouse::{Client, Row, error::Error};
use landed_keys::Fingerprints;
use serde::Deserialize;
use uuid::Uuid;

use super::ORDERS;

/// Most keys of one question.
const KEYS_MAX: usize = 20_000;
/// Most bytes of names and ids of one question, so that its form stays far below what the server takes.
const BYTES_MAX: usize = 2 << 20;
/// Longest a question may run in ClickHouse, in seconds.
const SECONDS_MAX: &str = "60";

const STORED_EVENTS: &str = "\
SELECT DISTINCT workspace_id, toString(event_name) AS name, toUInt16(day) AS key_day, event_id
FROM events
WHERE (workspace_id, event_name, day, event_id) IN (
    SELECT key.1, key.2, toDate(key.3), key.4
    FROM (
        SELECT arrayJoin(arrayZip(
            {workspaces:Array(UUID)}, {names:Array(String)}, {days:Array(UInt16)}, {ids:Array(String)}
        )) AS key
    )
)";

const ERASED_EVENTS: &str = "\
SELECT DISTINCT key.1 AS workspace_id, key.2 AS name, key.3 AS key_day, key.4 AS event_id
FROM (
    SELECT arrayJoin(arrayZip(
        {workspaces:Array(UUID)}, {names:Array(String)}, {days:Array(UInt16)}, {ids:Array(String)}
    )) AS key
)
WHERE sipHash128(key.1, key.2, toDate(key.3), key.4) IN (
    SELECT key_hash
    FROM erased_events
    WHERE key_hash IN (
        SELECT sipHash128(key.1, key.2, toDate(key.3), key.4)
        FROM (
            SELECT arrayJoin(arrayZip(
                {workspaces:Array(UUID)}, {names:Array(String)}, {days:Array(UInt16)}, {ids:Array(String)}
            )) AS key
        )
    )
)";

const ANY_ERASED: &str = "SELECT count() > 0 FROM erased_events";

const STORED_ORDERS: &str = "\
SELECT DISTINCT workspace_id, order_key
FROM orders
WHERE (workspace_id, order_key) IN (
    SELECT key.1, key.2
    FROM (SELECT arrayJoin(arrayZip({workspaces:Array(UUID)}, {keys:Array(String)})) AS key)
)";

const EVENT_KEYS: &str = "\
SELECT workspace_id, toString(event_name) AS name, toUInt16(day) AS key_day, event_id
FROM events
WHERE toYYYYMM(day) = {month:UInt32}";
const ORDER_KEYS: &str = "SELECT workspace_id, order_key FROM orders";
const EVENTS_COUNT: &str = "SELECT count() FROM events WHERE toYYYYMM(day) = {month:UInt32}";
const ORDERS_COUNT: &str = "SELECT count() FROM orders";

/// What makes two events one: the key of `events`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct EventKey<'a> {
    pub workspace: Uuid,
    pub name: &'a str,
    pub day: u16,
    pub id: &'a str,
}

/// What makes two completed orders one: the key of `orders`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct WorkspaceOrder<'a> {
    pub workspace: Uuid,
    pub key: &'a str,
}

#[derive(Debug, Row, Deserialize)]
struct StoredEvent<'a> {
    #[serde(with = "clickhouse::serde::uuid")]
    workspace_id: Uuid,
    name: &'a str,
    key_day: u16,
    event_id: &'a str,
}

#[derive(Debug, Row, Deserialize)]
struct StoredOrder<'a> {
    #[serde(with = "clickhouse::serde::uuid")]
    workspace_id: Uuid,
    order_key: &'a str,
}

/// Rows of a month of `events`, or of `orders`.
pub(super) async fn count(client: &Client, partition: u32) -> Result<u64, Error> {
    let sql = if partition == ORDERS { ORDERS_COUNT } else { EVENTS_COUNT };
    client.query_raw(sql).param("month", partition).fetch_one().await
}

/// Calls `each` with the fingerprints of all keys of a month of `events`, or of `orders`.
pub(super) async fn for_each_fingerprint(
    client: &Client,
    partition: u32,
    fingerprints: Fingerprints,
    mut each: impl FnMut(u64) -> io::Result<()>,
) -> Result<(), FillError> {
    if partition == ORDERS {
        let mut rows = client.query_raw(ORDER_KEYS).fetch::<StoredOrder<'_>>()?;
        while let Some(row) = rows.next().await? {
            each(fingerprints.of(row.key()))?;
        }
    } else {
        let query = client.query_raw(EVENT_KEYS).param("month", partition);
        let mut rows = query.fetch::<StoredEvent<'_>>()?;
        while let Some(row) = rows.next().await? {
            each(fingerprints.of(row.key()))?;
        }
    }
    Ok(())
}

/// Why the keys of a table were not written to a file.
#[derive(Debug, thiserror::Error)]
pub(super) enum FillError {
    #[error("could not read the keys of the table")]
    Table(#[from] Error),
    #[error("could not write the keys")]
    File(#[from] io::Error),
}

/// Which of these events are stored, or were until the person was erased.
pub(super) async fn events<'a>(
    client: &Client,
    keys: &[EventKey<'a>],
) -> Result<HashSet<EventKey<'a>>, Error> {
    found(client, &format!("{STORED_EVENTS}\nUNION ALL\n{ERASED_EVENTS}"), keys).await
}

/// Which of these events were stored until the person was erased.
pub(super) async fn erased<'a>(
    client: &Client,
    keys: &[EventKey<'a>],
) -> Result<HashSet<EventKey<'a>>, Error> {
    found(client, ERASED_EVENTS, keys).await
}

/// Whether any events were erased.
pub(super) async fn any_erased(client: &Client) -> Result<bool, Error> {
    let mut answer = client.query_raw(ANY_ERASED).fetch_bytes("TabSeparated")?;
    Ok(answer.collect().await?.starts_with(b"1"))
}

async fn found<'a>(
    client: &Client,
    sql: &str,
    keys: &[EventKey<'a>],
) -> Result<HashSet<EventKey<'a>>, Error> {
    let mut stored = HashSet::new();
    for piece in pieces(keys, |key| key.name.len() + key.id.len()) {
        let texts = |of: fn(&EventKey<'a>) -> &'a str| piece.iter().map(of).collect::<Vec<_>>();
        let places: HashMap<EventKey<'_>, usize> = piece.iter().copied().zip(0..).collect();
        let mut rows = client
            .query_raw(sql)
            .with_setting("max_execution_time", SECONDS_MAX)
            .param("workspaces", workspaces(piece, |key| key.workspace))
            .param("names", texts(|key| key.name))
            .param("days", piece.iter().map(|key| key.day).collect::<Vec<_>>())
            .param("ids", texts(|key| key.id))
            .fetch::<StoredEvent<'_>>()?;
        while let Some(row) = rows.next().await? {
            stored.extend(place(&places, &row.key()).map(|place| piece[place]));
        }
    }
    Ok(stored)
}

/// Which of these orders are stored.
pub(super) async fn orders<'a>(
    client: &Client,
    keys: &[WorkspaceOrder<'a>],
) -> Result<HashSet<WorkspaceOrder<'a>>, Error> {
    let mut stored = HashSet::new();
    for piece in pieces(keys, |key| key.key.len()) {
        let places: HashMap<WorkspaceOrder<'_>, usize> = piece.iter().copied().zip(0..).collect();
        let mut rows = client
            .query_raw(STORED_ORDERS)
            .with_setting("max_execution_time", SECONDS_MAX)
            .param("workspaces", workspaces(piece, |key| key.workspace))
            .param("keys", piece.iter().map(|key| key.key).collect::<Vec<_>>())
            .fetch::<StoredOrder<'_>>()?;
        while let Some(row) = rows.next().await? {
            stored.extend(place(&places, &row.key()).map(|place| piece[place]));
        }
    }
    Ok(stored)
}

impl<'a> StoredEvent<'a> {
    fn key(&self) -> EventKey<'a> {
        EventKey {
            workspace: self.workspace_id,
            name: self.name,
            day: self.key_day,
            id: self.event_id,
        }
    }
}

impl<'a> StoredOrder<'a> {
    fn key(&self) -> WorkspaceOrder<'a> {
        WorkspaceOrder { workspace: self.workspace_id, key: self.order_key }
    }
}

/// The place of a key that need not live as long as those of the map.
fn place<K: Eq + Hash>(places: &HashMap<K, usize>, key: &K) -> Option<usize> {
    places.get(key).copied()
}

fn workspaces<T>(keys: &[T], of: impl Fn(&T) -> Uuid) -> Vec<String> {
    keys.iter().map(|key| of(key).to_string()).collect()
}

/// Cuts keys so that each piece is one question.
fn pieces<T>(keys: &[T], bytes: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
    let mut rest = keys;
    std::iter::from_fn(move || {
        let mut taken = 0;
        let fits = |key: &&T| {
            taken += bytes(key);
            taken <= BYTES_MAX
        };
        let count = rest.iter().take(KEYS_MAX).take_while(fits).count().max(1).min(rest.len());
        let (piece, after) = rest.split_at(count);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_bounded_by_keys_and_bytes() {
        let lengths =
            |keys: &[usize]| pieces(keys, |bytes| *bytes).map(<[usize]>::len).collect::<Vec<_>>();
        assert_eq!(lengths(&[]), Vec::<usize>::new());
        assert_eq!(lengths(&vec![1; KEYS_MAX + 1]), [KEYS_MAX, 1]);
        assert_eq!(lengths(&[BYTES_MAX, 1, BYTES_MAX + 1, 1]), [1, 1, 1, 1]);
        assert_eq!(lengths(&[BYTES_MAX - 1, 1, 1]), [2, 1]);
    }
}

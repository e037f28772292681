//! One `INSERT` over HTTP.

use std::{borrow::Cow, time::Duration};

use bytes::Bytes;
use clickhouse::{Client, error::Error};

use crate::columns::Table;

/// Longest wait for ClickHouse to take the next piece of a body.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest wait for the answer after the last piece: sorting, writing, materialized views.
const END_TIMEOUT: Duration = Duration::from_mins(3);
/// Bytes handed to the connection at once; compressed one by one when the client compresses.
const PIECE_BYTES: usize = 1 << 20;

/// Where a body goes, and which format it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Statement {
    /// A `Native` block of this table.
    Native(Table),
    /// JSON objects, one per line.
    JsonEachRow(Table),
}

impl Statement {
    fn sql(self) -> Cow<'static, str> {
        match self {
            Self::Native(table) => table.insert().into(),
            Self::JsonEachRow(table) => {
                let names: Vec<&str> = table.columns().iter().map(|(name, _)| *name).collect();
                let (table, names) = (table.name(), names.join(", "));
                format!("INSERT INTO {table} ({names}) FORMAT JSONEachRow").into()
            }
        }
    }
}

/// Inserts `body`, which comes in pieces. `token` names these rows: ClickHouse drops a repeat of it.
pub(super) async fn send(
    client: &Client,
    statement: Statement,
    token: Option<&str>,
    body: &[Bytes],
) -> Result<(), Error> {
    let mut insert = client
        .insert_formatted_with(statement.sql())
        // Answered means inserted, in one part.
        .with_setting("async_insert", "0")
        // Collapsing repeats is the reader's and the merges' work: doing it here as well, row by row,
        // took half of an insert's time (benches/README.md).
        .with_setting("optimize_on_insert", "0")
        // When the rows went into the table but not into a view behind it, the repeat is dropped by
        // the one and taken by the other.
        .with_setting("deduplicate_blocks_in_dependent_materialized_views", "1")
        .with_timeouts(Some(SEND_TIMEOUT), Some(END_TIMEOUT));
    if let Some(token) = token {
        insert = insert.with_setting("insert_deduplication_token", token);
    }
    for mut rest in body.iter().cloned() {
        while !rest.is_empty() {
            let piece = rest.split_to(rest.len().min(PIECE_BYTES));
            insert.send(piece).await?;
        }
    }
    insert.end().await
}

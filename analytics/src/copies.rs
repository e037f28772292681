//! The rows of whole tables as text, for backups: a line a row, as `TabSeparated` has it.
//!
//! Left out is what is made anew from other rows: copies of PostgreSQL's, and [`RECOUNTED`], which a view counts as
//! events are restored. All other views are detached meanwhile, since a backup has the rows that they wrote.

use std::time::Duration;

use bytes::Bytes;
use clickhouse::{Client, Row, insert_formatted::InsertFormatted, query::BytesCursor};
use serde::Deserialize;

use crate::{Analytics, client, error::AnalyticsError, migrate};

/// Tables that a backup holds, in the order in which they are read: a row of a later table may belong to one of
/// `events` that came after these were read, and is then written again, but not the other way round.
pub const COPIED: [&str; 7] = [
    "events",
    "message_events",
    "orders",
    "timeline",
    "message_outcomes",
    "uniqueness",
    "erased_events",
];
/// The table that is counted anew from `events`.
pub const RECOUNTED: &str = "event_days";
/// The view that counts it.
const RECOUNTING_VIEW: &str = "event_days_from_events";

/// Rows, and bytes in memory, of a block that is written at once.
const BLOCK_ROWS: &str = "131072";
const BLOCK_BYTES: &str = "134217728";
/// Longest wait for ClickHouse to take the next piece.
const SEND_TIMEOUT: Duration = Duration::from_mins(3);
/// Longest wait for the answer after the last piece.
const END_TIMEOUT: Duration = Duration::from_mins(10);

const COLUMNS: &str = "\
SELECT name FROM system.columns
WHERE database = currentDatabase() AND table = {table:String} AND default_kind IN ('', 'DEFAULT')
ORDER BY position";
const TABLES_COUNT: &str = "SELECT count() FROM system.tables WHERE database = {database:String}";
const ROWS_COUNT: &str = "\
SELECT sum(total_rows) FROM system.tables
WHERE database = currentDatabase() AND name IN {tables:Array(String)}";
const VIEWS: &str = "\
SELECT name FROM system.tables
WHERE database = currentDatabase() AND engine = 'MaterializedView' AND name != {recounting:String}
ORDER BY name";

/// Views that are detached.
#[derive(Debug)]
#[must_use]
pub struct DetachedViews(Vec<String>);

/// The rows of a table, piece by piece.
pub struct TableRows {
    pieces: BytesCursor,
    /// The last byte that came.
    last: u8,
}

impl std::fmt::Debug for TableRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableRows").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for TableInsert {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableInsert").finish_non_exhaustive()
    }
}

/// An insert of rows into a table.
pub struct TableInsert(InsertFormatted);

#[derive(Debug, Row, Deserialize)]
struct Name {
    name: String,
}

impl Analytics {
    /// Whether the database has no table, or does not exist.
    ///
    /// # Errors
    /// When ClickHouse is away.
    pub async fn is_empty(&self) -> Result<bool, AnalyticsError> {
        let outside = self.outside.query_raw(TABLES_COUNT);
        let count: u64 = outside.param("database", &self.address.database).fetch_one().await?;
        Ok(count == 0)
    }

    /// About how many rows all copied tables have.
    ///
    /// # Errors
    /// When ClickHouse is away.
    pub async fn copied_rows(&self) -> Result<u64, AnalyticsError> {
        let query = self.client.query_raw(ROWS_COUNT).param("tables", COPIED.to_vec());
        Ok(query.fetch_one::<Option<u64>>().await?.unwrap_or_default())
    }

    /// The stored columns of a table.
    ///
    /// # Errors
    /// When ClickHouse is away.
    pub async fn stored_columns(&self, table: &str) -> Result<Vec<String>, AnalyticsError> {
        let query = self.client.query_raw(COLUMNS).param("table", table);
        let columns: Vec<Name> = query.fetch_all().await?;
        Ok(columns.into_iter().map(|column| column.name).collect())
    }

    /// Begins to read all rows of a table, as they are now.
    ///
    /// # Errors
    /// When ClickHouse is away.
    pub fn read_rows(&self, table: &str, columns: &[String]) -> Result<TableRows, AnalyticsError> {
        let sql = format!("SELECT {} FROM {}", list(columns)?, quoted(table)?);
        let query = self.client.query_raw(&sql).with_setting("max_execution_time", "0");
        Ok(TableRows { pieces: query.fetch_bytes("TabSeparated")?, last: b'\n' })
    }

    /// Begins to write rows into a table.
    ///
    /// # Errors
    /// When a name cannot be one of a table or column.
    pub fn write_rows(
        &self,
        table: &str,
        columns: &[String],
    ) -> Result<TableInsert, AnalyticsError> {
        let (table, columns) = (quoted(table)?, list(columns)?);
        let sql = format!("INSERT INTO {table} ({columns}) FORMAT TabSeparated");
        let insert = self
            .client
            .insert_formatted_with(sql)
            .with_setting("async_insert", "0")
            // Two blocks may be alike, and both are wanted.
            .with_setting("insert_deduplicate", "0")
            .with_setting("optimize_on_insert", "0")
            // Rows of many months may lie side by side.
            .with_setting("max_partitions_per_insert_block", "0")
            // A block is sorted in memory, of which the embedded ClickHouse has little; so blocks are smaller than usual.
            .with_setting("input_format_parallel_parsing", "0")
            .with_setting("max_insert_block_size", BLOCK_ROWS)
            .with_setting("min_insert_block_size_rows", BLOCK_ROWS)
            .with_setting("min_insert_block_size_bytes", BLOCK_BYTES)
            .with_setting("max_execution_time", "0")
            .with_timeouts(Some(SEND_TIMEOUT), Some(END_TIMEOUT));
        Ok(TableInsert(insert))
    }

    /// Detaches the views whose rows are restored from the backup.
    ///
    /// # Errors
    /// When ClickHouse is away.
    pub async fn detach_views(&self) -> Result<DetachedViews, AnalyticsError> {
        let query = self.client.query_raw(VIEWS).param("recounting", RECOUNTING_VIEW);
        let views: Vec<Name> = query.fetch_all().await?;
        let views: Vec<String> = views.into_iter().map(|view| view.name).collect();
        for view in &views {
            self.change(&self.client, "DETACH", view).await?;
        }
        Ok(DetachedViews(views))
    }

    /// Attaches them again.
    ///
    /// # Errors
    /// When ClickHouse is away.
    pub async fn attach_views(&self, views: DetachedViews) -> Result<(), AnalyticsError> {
        for view in views.0 {
            self.change(&self.client, "ATTACH", &view).await?;
        }
        Ok(())
    }

    async fn change(&self, client: &Client, verb: &str, table: &str) -> Result<(), AnalyticsError> {
        let on_cluster = migrate::on_cluster(&self.address)?;
        let sql = format!("{verb} TABLE {} {on_cluster}", quoted(table)?);
        client.query_raw(&sql).execute().await?;
        Ok(())
    }
}

impl TableRows {
    /// The next piece; none at the end.
    ///
    /// # Errors
    /// When ClickHouse goes away, or ends in the middle of a row.
    pub async fn next(&mut self) -> Result<Option<Bytes>, AnalyticsError> {
        let piece = self.pieces.next().await?;
        match &piece {
            Some(piece) => self.last = piece.last().copied().unwrap_or(self.last),
            None if self.last != b'\n' => {
                return Err(AnalyticsError::Answer("the rows of a table broke off".to_owned()));
            }
            None => {}
        }
        Ok(piece)
    }
}

impl TableInsert {
    /// Sends a piece.
    ///
    /// # Errors
    /// When ClickHouse goes away, or refuses the rows.
    pub async fn send(&mut self, piece: Bytes) -> Result<(), AnalyticsError> {
        Ok(self.0.send(piece).await?)
    }

    /// Waits until all rows are stored.
    ///
    /// # Errors
    /// When ClickHouse goes away, or refuses the rows.
    pub async fn finish(self) -> Result<(), AnalyticsError> {
        Ok(self.0.end().await?)
    }
}

fn quoted(name: &str) -> Result<String, AnalyticsError> {
    Ok(format!("`{}`", client::checked_name("table", name)?))
}

fn list(columns: &[String]) -> Result<String, AnalyticsError> {
    let columns: Result<Vec<_>, _> = columns.iter().map(|column| quoted(column)).collect();
    Ok(columns?.join(", "))
}

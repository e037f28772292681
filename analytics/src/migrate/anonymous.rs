//! Migration 14: older events without a user are listed in the timeline by their anonymous ids.
//!
//! It goes day by day and records each, so it may be interrupted and begun again, also by several processes: a day whose
//! entries are written twice does no harm, since the timeline may hold repeats. Events that come in meanwhile are listed by
//! their writer or by the view of migration 13. Memory is bounded by the size of a block.

use std::time::Instant;

use clickhouse::{Client, Row};
use serde::Deserialize;

use crate::error::AnalyticsError;

/// Number of the migration.
pub(super) const VERSION: u32 = 14;

const DAYS: &str = include_str!("../sql/anonymous_days.sql");
const ENTRIES: &str = include_str!("../sql/anonymous_entries.sql");
const RECORD: &str = include_str!("../sql/anonymous_record.sql");

/// Rows of one block.
const BLOCK_ROWS: &str = "262144";

#[derive(Debug, Row, Deserialize)]
struct Day {
    key_day: String,
}

/// Writes the entries of all days that are not recorded yet.
pub(super) async fn run(client: &Client) -> Result<(), AnalyticsError> {
    let days: Vec<Day> = client.query_raw(DAYS).fetch_all().await?;
    for Day { key_day } in days {
        let begun = Instant::now();
        client
            .query_raw(ENTRIES)
            .with_setting("max_block_size", BLOCK_ROWS)
            .with_setting("min_insert_block_size_rows", BLOCK_ROWS)
            .with_setting("max_insert_threads", "1")
            .param("day", &key_day)
            .execute()
            .await?;
        client
            .query_raw(RECORD)
            .with_setting("async_insert", "0")
            .param("day", &key_day)
            .execute()
            .await?;
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(day = key_day, took_ms, "anonymous events of a day are listed");
    }
    Ok(())
}

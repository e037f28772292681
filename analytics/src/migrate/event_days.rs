//! Migration 17: events that are stored already are counted by day and name.
//!
//! It goes day by day. Each is inserted under a token of its own, by which ClickHouse knows it again: the migration may be
//! interrupted and begun again. Events that another process stores meanwhile may count twice.

use clickhouse::{Client, Row};
use serde::Deserialize;

use crate::error::AnalyticsError;

/// Number of the migration.
pub(super) const VERSION: u32 = 17;

const DAYS: &str = include_str!("../sql/event_days_stored.sql");
const COUNT: &str = include_str!("../sql/event_days_count.sql");

#[derive(Debug, Row, Deserialize)]
struct Day {
    key_day: String,
}

/// Counts the events of all days.
pub(super) async fn run(client: &Client) -> Result<(), AnalyticsError> {
    let days: Vec<Day> = client.query_raw(DAYS).fetch_all().await?;
    for Day { key_day } in days {
        client
            .query_raw(COUNT)
            .with_setting("async_insert", "0")
            .with_setting("insert_deduplication_token", format!("event_days {key_day}"))
            .param("day", &key_day)
            .execute()
            .await?;
    }
    Ok(())
}

//! The parts of ClickHouse's tables, and their merges.

use clickhouse::Row;
use serde::Deserialize;

use crate::{Analytics, error::AnalyticsError};

const PARTS: &str = include_str!("sql/parts.sql");
const MERGES: &str = include_str!("sql/merges.sql");

/// A table and the number of its active parts on the server that answers.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct TableParts {
    /// The name of the table.
    pub table: String,
    /// Its active parts. ClickHouse delays inserts where a partition has more than a thousand.
    pub parts: u64,
}

/// The active parts of each table that has some.
///
/// # Errors
/// When ClickHouse is away.
pub async fn of_tables(analytics: &Analytics) -> Result<Vec<TableParts>, AnalyticsError> {
    Ok(analytics.client().query_raw(PARTS).fetch_all().await?)
}

/// The number of merges and mutations of parts that run now.
///
/// # Errors
/// When ClickHouse is away.
pub async fn running_merges(analytics: &Analytics) -> Result<u64, AnalyticsError> {
    Ok(analytics.client().query_raw(MERGES).fetch_one().await?)
}

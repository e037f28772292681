//! Arrival numbers as ClickHouse knows them, and its clock, by which all processes count.

use crate::{Analytics, client, error::AnalyticsError};

const NEWEST_ARRIVAL: &str = include_str!("../sql/newest_arrival.sql");
const CLOCK: &str = include_str!("../sql/clock.sql");

/// The largest arrival number (`seq`) among stored events and message events; 0 when there are none, or
/// when there are no tables yet.
///
/// # Errors
/// When ClickHouse is away.
pub async fn newest_arrival(analytics: &Analytics) -> Result<u64, AnalyticsError> {
    match client::read(analytics, NEWEST_ARRIVAL).fetch_one::<u64>().await {
        Err(error) if error.is_missing_table() => Ok(0),
        newest => newest,
    }
}

/// The time of ClickHouse's clock, in milliseconds since 1970.
///
/// # Errors
/// When ClickHouse is away.
pub async fn clock_ms(analytics: &Analytics) -> Result<i64, AnalyticsError> {
    // Needs no database, which may not have been made yet.
    client::read_outside(analytics, CLOCK).fetch_one().await
}

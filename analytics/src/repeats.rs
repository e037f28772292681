//! Whether each event and each order is stored once, so that questions need no `FINAL`.
//!
//! The only writer of an embedded ClickHouse looks for earlier arrivals before it stores a row (`events.is_unique`).
//! Rows that were stored without that may repeat others: those of older programs, those of several writers, dead
//! letters that were inserted again. A month with such rows is collapsed once ([`Analytics::collapse`]), which is
//! recorded in the table `uniqueness`; until then all questions use `FINAL`.
//!
//! What is known about repeats has generations: [`Analytics::mark_repeats_possible`] begins one, and a collapse proves
//! the generation that it found when it began. So a mark made while a collapse runs stays.
//!
//! A process believes for [`VALID`] that all rows are unique. Who is about to store rows without a look for repeats
//! marks their months and waits until no question that believes otherwise can be under way.

use std::time::{Duration, Instant};

use clickhouse::Row;
use serde::Deserialize;

use crate::{Analytics, error::AnalyticsError};

const STATE: &str = include_str!("sql/uniqueness_state.sql");
const UNPROVEN: &str = include_str!("sql/uniqueness_unproven.sql");
const NEWEST: &str = include_str!("sql/uniqueness_newest.sql");
const RECORD: &str = include_str!("sql/uniqueness_record.sql");

/// How long an answer that all rows are unique is believed.
const VALID: Duration = Duration::from_secs(3);
/// Number of `orders` among the months.
const ORDERS: u32 = 0;

/// A month of `events` as `toYYYYMM(day)`, or 0 for `orders`, in which rows may repeat others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Row, Deserialize)]
pub struct NotUnique {
    /// The month, or 0.
    pub month: u32,
    /// The newest generation of what is known about it.
    #[serde(rename = "newest")]
    pub generation: u64,
}

impl Analytics {
    /// Finds months with rows that their writer did not compare with others, and records that they may hold repeats.
    /// For the only writer, at its start: an older program may have written meanwhile.
    ///
    /// # Errors
    /// When ClickHouse is away.
    pub async fn find_repeats_possible(&self) -> Result<(), AnalyticsError> {
        let found: Vec<NotUnique> = self.client().query_raw(UNPROVEN).fetch_all().await?;
        for NotUnique { month, generation } in found {
            self.record(month, generation + 1, false, 0).await?;
        }
        Ok(())
    }

    /// Asks in which months repeats are possible, ascending. Where there are none, questions of this process go
    /// without `FINAL` for some seconds: ask again before they are over.
    ///
    /// # Errors
    /// When ClickHouse is away.
    pub async fn refresh_uniqueness(&self) -> Result<Vec<NotUnique>, AnalyticsError> {
        let asked_at = Instant::now();
        let months: Vec<NotUnique> = self.client().query_raw(STATE).fetch_all().await?;
        self.uniqueness.set(months.is_empty().then(|| asked_at + VALID));
        Ok(months)
    }

    /// Collapses repeats of a month, or of `orders`, and records that there are none. Takes as long as writing the
    /// month anew, and as much room on the disk.
    ///
    /// # Errors
    /// When ClickHouse is away, has no room, or is merging the month for another reason: try again later.
    pub async fn collapse(&self, month: NotUnique) -> Result<(), AnalyticsError> {
        let newest = self.client().query_raw(NEWEST).param("month", month.month);
        let through_seq: u64 = newest.fetch_one().await?;
        let statement = match month.month {
            ORDERS => Some("OPTIMIZE TABLE orders FINAL".to_owned()),
            // ClickHouse refuses to optimise a partition without rows.
            month if self.has_rows(month).await? => {
                Some(format!("OPTIMIZE TABLE events PARTITION {month} FINAL"))
            }
            _ => None,
        };
        if let Some(statement) = statement {
            let optimize = self.client().query_raw(&statement);
            optimize.with_setting("optimize_throw_if_noop", "1").execute().await?;
        }
        self.record(month.month, month.generation, true, through_seq).await
    }

    async fn has_rows(&self, month: u32) -> Result<bool, AnalyticsError> {
        const ANY: &str = "SELECT count() FROM (SELECT 1 FROM events WHERE toYYYYMM(day) = {month:UInt32} LIMIT 1)";
        let found: u64 = self.client().query_raw(ANY).param("month", month).fetch_one().await?;
        Ok(found > 0)
    }

    /// Records that rows of these months (`toYYYYMM(day)`) may soon repeat others, in `events` and `orders`, and waits
    /// until every question uses `FINAL`.
    ///
    /// # Errors
    /// When ClickHouse is away.
    pub async fn mark_repeats_possible(&self, months: &[u32]) -> Result<(), AnalyticsError> {
        const NEWEST_GENERATION: &str = "SELECT max(generation) FROM uniqueness";
        let newest: u64 = self.client().query_raw(NEWEST_GENERATION).fetch_one().await?;
        for month in months.iter().chain([&ORDERS]) {
            self.record(*month, newest + 1, false, 0).await?;
        }
        let longest_question = Duration::from_secs(self.reads.limits().execution_seconds());
        tokio::time::sleep(VALID + longest_question).await;
        Ok(())
    }

    async fn record(
        &self,
        month: u32,
        generation: u64,
        is_unique: bool,
        through_seq: u64,
    ) -> Result<(), AnalyticsError> {
        self.client()
            .query_raw(RECORD)
            .with_setting("async_insert", "0")
            .param("month", month)
            .param("generation", generation)
            .param("is_unique", u8::from(is_unique))
            .param("through_seq", through_seq)
            .execute()
            .await?;
        Ok(())
    }
}

//! Memory of all statements together: beyond the limit, the largest is stopped, so that inserts and the questions of
//! others find room. ClickHouse itself refuses memory to the next statement that asks for it, of any caller.

use std::time::Duration;

use analytics::{Analytics, sql_access};
use clickhouse::Row;
use serde::Deserialize;
use supervisor::Heartbeat;
use tokio::time::sleep;

use crate::{limits::Slots, running};

const MEMORY: &str = include_str!("sql/memory.sql");
/// Interval of looks while statements run.
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug, Row, Deserialize)]
struct Used {
    mark: String,
    bytes: u64,
}

/// What is watched, and the limit.
#[derive(Debug)]
pub(crate) struct Guard<'a> {
    pub(crate) analytics: &'a Analytics,
    pub(crate) slots: &'a Slots,
    pub(crate) memory_max_bytes: u64,
}

impl Guard<'_> {
    /// Watches until it is dropped.
    pub(crate) async fn watch(&self, heartbeat: &Heartbeat) {
        let mut stopped = String::new();
        loop {
            heartbeat.waiting(sleep(LOOK_EVERY)).await;
            if self.slots.are_all_free() {
                continue;
            }
            if let Err(error) = heartbeat.waiting(self.look(&mut stopped)).await {
                tracing::debug!(%error, "memory of statements in SQL is not known");
            }
        }
    }

    /// Stops the largest statement where they hold too much. It is logged once, also where it takes long to end.
    async fn look(&self, stopped: &mut String) -> Result<(), clickhouse::error::Error> {
        let ask = self.analytics.client().query_raw(MEMORY).param("mark", sql_access::MARK);
        let used: Vec<Used> = ask.fetch_all().await?;
        let total: u64 = used.iter().map(|used| used.bytes).sum();
        let Some(largest) = used.first().filter(|_| total > self.memory_max_bytes) else {
            return Ok(());
        };
        let Used { mark, bytes } = largest;
        if stopped != mark {
            tracing::warn!(
                mark,
                bytes,
                total,
                "statements in SQL hold too much memory: the largest is stopped"
            );
            metrics_catalogue::SQL_STATEMENTS_STOPPED.increment(1);
            stopped.clone_from(mark);
        }
        running::kill_once(self.analytics, mark).await
    }
}

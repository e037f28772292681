//! The straight way: `INSERT … FORMAT JSONEachRow` into a copy of the event table.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use tokio::time;

use crate::{clickhouse::ClickHouse, target::ClickHouseTarget};

/// The copy of `events`, and the beginning of the names of what its views feed.
const TABLE: &str = "loadtest_direct";
/// Longest wait for background merges before a side is timed.
const SETTLE_PATIENCE: Duration = Duration::from_secs(30);

/// A copy of the event table, with copies of its views and what they feed where wanted; nothing else reads it.
#[derive(Debug)]
pub(super) struct DirectTable {
    clickhouse: ClickHouse,
    target: ClickHouseTarget,
    made: Vec<String>,
}

impl DirectTable {
    /// Makes the copy anew.
    pub(super) async fn make(target: &ClickHouseTarget, with_views: bool) -> Result<Self> {
        let clickhouse = ClickHouse::new(target)?;
        let mut table = Self { clickhouse, target: target.clone(), made: Vec::new() };
        table.copy(TABLE, "events").await?;
        if with_views {
            table.copy_views().await.context("cannot copy the views of the event table")?;
        }
        Ok(table)
    }

    async fn copy(&mut self, copy: &str, original: &str) -> Result<()> {
        self.clickhouse.execute(&format!("drop table if exists {copy} sync"), &[]).await?;
        self.clickhouse.execute(&format!("create table {copy} as {original}"), &[]).await?;
        self.made.push(copy.to_owned());
        Ok(())
    }

    /// Copies each materialized view that reads `events`, and the table it writes to.
    async fn copy_views(&mut self) -> Result<()> {
        let query = include_str!("../../sql/views_of_events.sql");
        let views: Vec<(String, String, String)> = self.clickhouse.rows(query, &[]).await?;
        let database = self.target.database.clone();
        for (view, definition, select) in views {
            let target = view_target(&definition, &database)
                .with_context(|| format!("{view} does not say where it writes"))?;
            let (copy, copied_view) = (format!("{TABLE}_{target}"), format!("{TABLE}_{view}"));
            self.clickhouse
                .execute(&format!("drop table if exists {copied_view} sync"), &[])
                .await?;
            self.copy(&copy, &target).await?;
            let select = select.replace(&format!("{database}.events"), TABLE);
            ensure!(select.contains(TABLE), "{view} does not read the event table by its name");
            let statement = format!("create materialized view {copied_view} to {copy} as {select}");
            self.clickhouse.execute(&statement, &[]).await?;
            self.made.push(copied_view);
        }
        Ok(())
    }

    /// Inserts all bodies over several connections; the answer is how long that took.
    pub(super) async fn insert(
        &mut self,
        bodies: &[Bytes],
        connections: usize,
    ) -> Result<Duration> {
        let statement = format!(
            "insert into {TABLE} settings async_insert = 0, insert_deduplicate = 0 format JSONEachRow"
        );
        let queue = Arc::new(Mutex::new(bodies.iter().cloned().collect::<VecDeque<_>>()));
        let started = Instant::now();
        let mut tasks = Vec::with_capacity(connections);
        for _ in 0..connections {
            let (queue, statement) = (Arc::clone(&queue), statement.clone());
            let mut clickhouse = ClickHouse::new(&self.target)?;
            tasks.push(tokio::spawn(async move {
                loop {
                    let body = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(body) = body else { return anyhow::Ok(()) };
                    clickhouse.insert(&statement, body).await?;
                }
            }));
        }
        for task in tasks {
            task.await??;
        }
        Ok(started.elapsed())
    }

    /// Rows in the copy, to see that the straight way stored what it was given.
    pub(super) async fn rows(&mut self) -> Result<u64> {
        self.clickhouse
            .number(&format!("select count() from {TABLE} format JSONCompactEachRow"), &[])
            .await
    }

    pub(super) async fn remove(&mut self) -> Result<()> {
        for name in self.made.drain(..).rev() {
            self.clickhouse.execute(&format!("drop table if exists {name} sync"), &[]).await?;
        }
        Ok(())
    }
}

/// The table a materialized view writes to, out of its definition `CREATE MATERIALIZED VIEW … TO db.table …`.
fn view_target(definition: &str, database: &str) -> Option<String> {
    let rest = definition.split(" TO ").nth(1)?;
    let name = rest.split([' ', '(', '\n']).next()?;
    let name = name.strip_prefix(database).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name);
    Some(name.trim_matches('`').to_owned())
}

/// Waits until ClickHouse merges nothing, so that one side's aftermath is not the other's burden.
pub(super) async fn settle(clickhouse: &mut ClickHouse) -> Result<()> {
    let deadline = Instant::now() + SETTLE_PATIENCE;
    let query = include_str!("../../sql/merges_running.sql");
    while clickhouse.number(query, &[]).await? > 0 && Instant::now() < deadline {
        time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_a_view_feeds_is_read_out_of_its_definition() {
        let plain =
            "CREATE MATERIALIZED VIEW m.v TO m.timeline (`a` UUID) AS SELECT a FROM m.events";
        assert_eq!(view_target(plain, "m").as_deref(), Some("timeline"));
        assert_eq!(
            view_target("CREATE MATERIALIZED VIEW v TO `orders` AS SELECT 1", "m").as_deref(),
            Some("orders")
        );
        assert_eq!(view_target("CREATE MATERIALIZED VIEW v ENGINE = Null AS SELECT 1", "m"), None);
    }
}

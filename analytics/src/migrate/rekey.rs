//! Migration 10: the events move into a table whose key ends in their id, and the timeline with them.
//!
//! ```text
//! events ──copied by day──▶ events_0010        then: events   ─▶ events_before_0010
//!        ──────────────────▶ timeline_0010           events_0010 ─▶ events
//! ```
//!
//! It may be interrupted anywhere and begun again, also by several processes at once:
//!
//! - What was copied is noted by day. A day that is copied twice does no harm: rows of one event are one
//!   event in `events`, and the timeline may hold repeats.
//! - Tables change places by renames to names that stay taken afterwards (`…_before_0010`, left behind
//!   empty), so each rename happens once, in whichever process.
//! - Rows that other processes insert meanwhile lie in parts with later blocks than those noted. They are
//!   copied after the renames, with what the views make of them.
//! - A view does not follow a table through a rename before the server starts again, so the views are made
//!   anew after the renames. For rows that came in between, what they would have made is made afterwards.
//!   What a view selects stands once, in the migrations' files; the statements here take it from there.
//! - Orders are selected as migration 11 has it, from the start: it changes the view to leave out what an app
//!   may not call an order, and what had become an order before would stay one.
//!
//! While a table has no name, for some milliseconds, inserts and questions of other processes fail;
//! inserts are tried again. Questions are answered all the time besides, and the process that migrates
//! keeps what it acknowledges in its spool until it is done. The disk must hold events and timeline twice.

use std::time::{Duration, Instant};

use clickhouse::{Client, Row, query::Query};
use serde::Deserialize;

use super::statements;
use crate::error::AnalyticsError;

/// Says anew what orders are selected of; runs after this migration.
const ORDERS_OF_APPS: &str = include_str!("../../../migrations/clickhouse/0011_orders_of_apps.sql");
/// The views of this migration.
const TIMELINE_VIEW: &str = "timeline_entries_from_events";
const ORDERS_VIEW: &str = "order_entries_from_events";
/// Where a statement takes what a view selects.
const VIEW_SELECTS: &str = "$view$";

/// Number of the migration that changes the key.
pub(super) const VERSION: u32 = 10;

const TABLES: &str = include_str!("../sql/rekey_tables.sql");
const CHUNKS_TABLE: &str = include_str!("../sql/rekey_chunks_table.sql");
const BLOCKS: &str = include_str!("../sql/rekey_blocks.sql");
const DAYS: &str = include_str!("../sql/rekey_days.sql");
const RECORD: &str = include_str!("../sql/rekey_record.sql");
const COPY_EVENTS: &str = include_str!("../sql/rekey_copy_events.sql");
const COPY_TIMELINE: &str = include_str!("../sql/rekey_copy_timeline.sql");
const LATE_PARTS: &str = include_str!("../sql/rekey_late_parts.sql");
const PART_ROWS: &str = include_str!("../sql/rekey_part_rows.sql");
const COPY_PART: &str = include_str!("../sql/rekey_copy_part.sql");
const LAST_BLOCK: &str = include_str!("../sql/rekey_last_block.sql");
const MARKS: &str = include_str!("../sql/rekey_marks.sql");
const UNSEEN_PARTS: &str = include_str!("../sql/rekey_unseen_parts.sql");
const UNSEEN_TIMELINE: &str = include_str!("../sql/rekey_unseen_timeline.sql");
const UNSEEN_ORDERS: &str = include_str!("../sql/rekey_unseen_orders.sql");
const INSERTS: &str = include_str!("../sql/rekey_inserts.sql");
const EVENTS: &str = include_str!("../sql/rekey_events.sql");

/// Rows of one block while a day is copied; bounds the memory it takes.
const BLOCK_ROWS: &str = "262144";
/// Bytes of one block, likewise.
const BLOCK_BYTES: &str = "134217728";
/// The day under which the last block of the copies is noted: no event is so old.
const NO_DAY: &str = "1970-01-01";
/// How long inserts into the old table may take that began before it was renamed.
const INSERTS_MAX: Duration = Duration::from_mins(1);
/// Pause between two looks at them.
const LOOK_PAUSE: Duration = Duration::from_millis(50);
/// How often the migration begins anew because another process took a table away.
const TRIES_MAX: u32 = 50;

#[derive(Debug, Row, Deserialize)]
struct Table {
    name: String,
    sorting_key: String,
}

#[derive(Debug, Row, Deserialize)]
struct PartitionBlocks {
    partition_id: String,
    blocks: i64,
}

#[derive(Debug, Row, Deserialize)]
struct Uncopied {
    #[serde(rename = "key_day")]
    day: String,
    partition_id: String,
    rows: u64,
}

#[derive(Debug, Row, Deserialize)]
struct Part {
    name: String,
    rows: u64,
}

#[derive(Debug, Row, Deserialize)]
struct Events {
    before: u64,
    after: u64,
}

/// A table that is to take the place of another.
struct Successor {
    name: &'static str,
    fresh: &'static str,
    before: &'static str,
}

const EVENTS_TABLE: Successor =
    Successor { name: "events", fresh: "events_0010", before: "events_before_0010" };
const TIMELINE_TABLE: Successor =
    Successor { name: "timeline", fresh: "timeline_0010", before: "timeline_before_0010" };

/// Does what the migration's file cannot say by itself.
pub(super) struct Rekey<'a> {
    client: &'a Client,
    cluster: Option<&'a str>,
    /// Of the migration's file.
    text: &'a str,
}

impl<'a> Rekey<'a> {
    pub(super) fn new(client: &'a Client, cluster: Option<&'a str>, text: &'a str) -> Self {
        Self { client, cluster, text }
    }

    /// Moves the events, from wherever an earlier try left off.
    pub(super) async fn run(&self) -> Result<(), AnalyticsError> {
        let mut tries = 0;
        loop {
            match self.attempt().await {
                // Another process that migrates is between two renames, or is done.
                Err(error) if error.is_missing_table() && tries < TRIES_MAX => {
                    tries += 1;
                    tokio::time::sleep(LOOK_PAUSE).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn attempt(&self) -> Result<(), AnalyticsError> {
        self.ddl(CHUNKS_TABLE).await?;
        let has = |tables: &[Table], name: &str| tables.iter().any(|table| table.name == name);
        let tables = self.tables().await?;
        if !has(&tables, EVENTS_TABLE.before) {
            if !has(&tables, TIMELINE_TABLE.before) {
                self.make_tables().await?;
                self.copy_days().await?;
            }
            for view in ["timeline_from_events", "orders_from_events"] {
                self.ddl(&format!("DROP VIEW IF EXISTS {view} {{on_cluster}}")).await?;
            }
            self.succeed(&TIMELINE_TABLE).await?;
            let copied = self.last_block(EVENTS_TABLE.fresh).await?;
            self.record(NO_DAY, EVENTS_TABLE.fresh, copied).await?;
        }
        self.succeed(&EVENTS_TABLE).await?;
        self.make_views().await?;
        self.show_unseen_to_views().await?;
        self.copy_late_parts().await?;
        self.check().await?;
        for Successor { before, fresh, .. } in [&EVENTS_TABLE, &TIMELINE_TABLE] {
            self.ddl(&format!("TRUNCATE TABLE IF EXISTS {before} {{on_cluster}}")).await?;
            self.ddl(&format!("DROP TABLE IF EXISTS {fresh} {{on_cluster}}")).await?;
        }
        Ok(())
    }

    async fn tables(&self) -> Result<Vec<Table>, AnalyticsError> {
        Ok(self.client.query_raw(TABLES).fetch_all().await?)
    }

    /// Makes the tables of the migration's file.
    async fn make_tables(&self) -> Result<(), AnalyticsError> {
        for statement in self.statements("CREATE TABLE")? {
            self.client.query_raw(&statement).execute().await?;
        }
        Ok(())
    }

    /// Makes the views of the migration's file; that of orders as migration 11 leaves it.
    async fn make_views(&self) -> Result<(), AnalyticsError> {
        for statement in self.statements("CREATE MATERIALIZED VIEW")? {
            let statement = match cut(&statement)? {
                (view, _) if view.contains(ORDERS_VIEW) => {
                    format!("{view}{}", self.selected(ORDERS_VIEW)?)
                }
                _ => statement,
            };
            self.client.query_raw(&statement).execute().await?;
        }
        Ok(())
    }

    /// What a view selects in the end.
    fn selected(&self, view: &str) -> Result<String, AnalyticsError> {
        let text = if view == ORDERS_VIEW { ORDERS_OF_APPS } else { self.text };
        for statement in statements::split(&statements::render(text, self.cluster)?) {
            if let Ok((head, selected)) = cut(&statement)
                && head.contains(view)
            {
                return Ok(selected.to_owned());
            }
        }
        Err(AnalyticsError::Schema(format!("no migration says what {view} selects")))
    }

    /// A statement that makes what a view would have made.
    fn as_view(&self, statement: &str, view: &str) -> Result<String, AnalyticsError> {
        Ok(statement.replace(VIEW_SELECTS, &self.selected(view)?))
    }

    /// Those statements of the migration's file that begin so.
    fn statements(&self, what: &str) -> Result<Vec<String>, AnalyticsError> {
        let mut statements = statements::split(&statements::render(self.text, self.cluster)?);
        statements.retain(|statement| {
            let code = statement.lines().find(|line| !line.trim_start().starts_with("--"));
            code.is_some_and(|line| line.starts_with(what))
        });
        Ok(statements)
    }

    async fn ddl(&self, text: &str) -> Result<(), AnalyticsError> {
        let statement = statements::render(text, self.cluster)?;
        // A table is given up here on purpose, however large it is.
        let query = self.client.query_raw(&statement).with_setting("max_table_size_to_drop", "0");
        Ok(query.execute().await?)
    }

    /// Copies what was not copied yet, day by day.
    async fn copy_days(&self) -> Result<(), AnalyticsError> {
        // In this order: what comes after the blocks were noted counts as late, whatever its day.
        let blocks: Vec<PartitionBlocks> = self.client.query_raw(BLOCKS).fetch_all().await?;
        let days: Vec<Uncopied> =
            self.client.query_raw(DAYS).param("version", VERSION).fetch_all().await?;
        if days.is_empty() {
            return Ok(());
        }
        if self.cluster.is_some() {
            // Blocks are counted otherwise there, and it was never tried.
            return Err(AnalyticsError::Schema(
                "events that are already in a cluster cannot be moved to their new key".to_owned(),
            ));
        }
        let all: u64 = days.iter().map(|day| day.rows).sum();
        tracing::info!(
            days = days.len(),
            rows = all,
            "copying events into a table with another key"
        );
        let copy_timeline = self.as_view(COPY_TIMELINE, TIMELINE_VIEW)?;
        let mut copied = 0;
        for (number, day) in (1..).zip(&days) {
            let start = Instant::now();
            let noted = blocks.iter().find(|known| known.partition_id == day.partition_id);
            for copy in [COPY_EVENTS, &copy_timeline] {
                copying(self.client.query_raw(copy)).param("day", &day.day).execute().await?;
            }
            // A partition that was not there yet: all of it is late.
            let blocks = noted.map_or(-1, |known| known.blocks);
            self.record(&day.day, &day.partition_id, blocks).await?;
            copied += day.rows;
            tracing::info!(
                day = day.day,
                day_rows = day.rows,
                seconds = start.elapsed().as_secs_f64(),
                days_left = days.len() - number,
                rows_left = all - copied,
                "copied events of a day"
            );
        }
        Ok(())
    }

    async fn record(&self, day: &str, partition: &str, blocks: i64) -> Result<(), AnalyticsError> {
        let record = self.client.query_raw(RECORD).with_setting("async_insert", "0");
        record
            .param("version", VERSION)
            .param("day", day)
            .param("partition", partition)
            .param("blocks", blocks)
            .execute()
            .await?;
        Ok(())
    }

    /// Lets a table take the place of the old one.
    async fn succeed(&self, of: &Successor) -> Result<(), AnalyticsError> {
        let Successor { name, fresh, before } = *of;
        let mut tries = 0;
        loop {
            let tables = self.tables().await?;
            let has = |name: &str| tables.iter().any(|table| table.name == name);
            let (from, to) = match (has(before), has(name), has(fresh)) {
                (false, true, true) => (name, before),
                (true, false, true) => (fresh, name),
                (true, true, _) => return Ok(()),
                // The list of tables may miss one that another process is renaming.
                _ if tries < TRIES_MAX => {
                    tries += 1;
                    tokio::time::sleep(LOOK_PAUSE).await;
                    continue;
                }
                _ => {
                    return Err(AnalyticsError::Schema(format!(
                        "neither {name} nor {fresh} can be found"
                    )));
                }
            };
            // Another process may have done the same by now: the next check shows.
            let rename = format!("RENAME TABLE {from} TO {to} {{on_cluster}}");
            if let Err(error) = self.ddl(&rename).await
                && (tries == TRIES_MAX || !error.is_lost_race())
            {
                return Err(error);
            }
            tries += 1;
        }
    }

    async fn last_block(&self, table: &str) -> Result<i64, AnalyticsError> {
        Ok(self.client.query_raw(LAST_BLOCK).param("table", table).fetch_one().await?)
    }

    /// Makes what the views would have made of rows that came between the renames and the views.
    async fn show_unseen_to_views(&self) -> Result<(), AnalyticsError> {
        self.await_inserts().await?;
        let until = self.last_block(EVENTS_TABLE.name).await?;
        let marks: Vec<i64> =
            self.client.query_raw(MARKS).param("version", VERSION).fetch_all().await?;
        let after = marks.first().copied().unwrap_or(-1);
        let unseen = [
            self.as_view(UNSEEN_TIMELINE, TIMELINE_VIEW)?,
            self.as_view(UNSEEN_ORDERS, ORDERS_VIEW)?,
        ];
        let mut done: Vec<String> = Vec::new();
        loop {
            let parts: Vec<Part> = self
                .client
                .query_raw(UNSEEN_PARTS)
                .param("after", after)
                .param("until", until)
                .fetch_all()
                .await?;
            // A part that a merge took meanwhile lies in one that is new here.
            let Some(part) = parts.into_iter().find(|part| !done.contains(&part.name)) else {
                return Ok(());
            };
            for make in &unseen {
                copying(self.client.query_raw(make)).param("part", &part.name).execute().await?;
            }
            done.push(part.name);
        }
    }

    /// Copies what came into the old table while it was copied.
    async fn copy_late_parts(&self) -> Result<(), AnalyticsError> {
        // A merge would take parts away between two statements. Nothing is inserted there any more.
        self.client.query_raw("SYSTEM STOP MERGES events_before_0010").execute().await?;
        let mut done: Vec<String> = Vec::new();
        loop {
            let parts: Vec<Part> =
                self.client.query_raw(LATE_PARTS).param("version", VERSION).fetch_all().await?;
            let Some(part) = parts.into_iter().find(|part| !done.contains(&part.name)) else {
                return Ok(());
            };
            tracing::info!(
                part = part.name,
                rows = part.rows,
                "copying events that came meanwhile"
            );
            copying(self.client.query_raw(COPY_PART)).param("part", &part.name).execute().await?;
            let still: u64 =
                self.client.query_raw(PART_ROWS).param("part", &part.name).fetch_one().await?;
            // A merge that had begun before took it: it lies in another one now.
            if still == part.rows {
                done.push(part.name);
            }
        }
    }

    /// Waits for the inserts that began when the old table still had its name.
    async fn await_inserts(&self) -> Result<(), AnalyticsError> {
        let start = Instant::now();
        loop {
            let seconds = start.elapsed().as_secs_f64();
            let inserts: u64 =
                self.client.query_raw(INSERTS).param("seconds", seconds).fetch_one().await?;
            if inserts == 0 {
                return Ok(());
            }
            if start.elapsed() > INSERTS_MAX {
                return Err(AnalyticsError::Schema(format!(
                    "{inserts} inserts have been running for more than {INSERTS_MAX:?}"
                )));
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }

    /// Makes sure that nothing is given up that is not in the new table.
    async fn check(&self) -> Result<(), AnalyticsError> {
        let tables = self.tables().await?;
        let key = tables.iter().find(|table| table.name == EVENTS_TABLE.name);
        if !key.is_some_and(|table| table.sorting_key.contains("event_id")) {
            return Err(AnalyticsError::Schema("events has not the key it should have".to_owned()));
        }
        let Events { before, after } = self.client.query_raw(EVENTS).fetch_one().await?;
        if after < before {
            return Err(AnalyticsError::Schema(format!(
                "events holds {after} events where events_before_0010 held {before}: nothing was removed"
            )));
        }
        if before > 0 {
            tracing::info!(before, after, "events have their new key");
        }
        Ok(())
    }
}

/// A view's statement before and from its `SELECT` on.
fn cut(statement: &str) -> Result<(&str, &str), AnalyticsError> {
    let at = statement.find("\nSELECT\n").map(|at| at + 1);
    at.and_then(|at| statement.split_at_checked(at))
        .ok_or_else(|| AnalyticsError::Schema("a view of a migration selects nothing".to_owned()))
}

/// A statement that copies many rows, in blocks of a bounded size.
fn copying(query: Query) -> Query {
    query
        .with_setting("async_insert", "0")
        .with_setting("optimize_on_insert", "0")
        .with_setting("max_execution_time", "0")
        .with_setting("max_threads", "2")
        .with_setting("max_insert_threads", "1")
        .with_setting("min_insert_block_size_rows", BLOCK_ROWS)
        .with_setting("min_insert_block_size_bytes", BLOCK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_views_select_is_taken_from_the_migrations() {
        let text = include_str!("../../../migrations/clickhouse/0010_event_id_key.sql");
        let client = Client::default();
        let rekey = Rekey::new(&client, None, text);
        for (statement, view) in [
            (COPY_TIMELINE, TIMELINE_VIEW),
            (UNSEEN_TIMELINE, TIMELINE_VIEW),
            (UNSEEN_ORDERS, ORDERS_VIEW),
        ] {
            let selected = rekey.selected(view).unwrap();
            assert!(selected.starts_with("SELECT\n    workspace_id,\n"), "{selected}");
            let made = rekey.as_view(statement, view).unwrap();
            assert!(made.contains(&selected) && !made.contains('$'), "{made}");
            assert_eq!(made.matches("WHERE").count(), 1, "{made}");
        }
        // Beside the condition, migration 11 selects what migration 10 does.
        let orders = rekey.selected(ORDERS_VIEW).unwrap();
        let views = rekey.statements("CREATE MATERIALIZED VIEW").unwrap();
        let before = views.iter().find(|view| view.contains(ORDERS_VIEW)).unwrap();
        let condition = orders.strip_prefix(cut(before).unwrap().1).unwrap();
        assert!(condition.trim_start().starts_with("AND NOT (startsWith(event_id, 'sdk:')"));
    }
}

//! Deletes rows that a workspace keeps no longer.
//!
//! A month of events that is past for every workspace is dropped whole. Other rows are deleted by a mutation, which
//! writes the parts anew that hold some; one runs only where there are such rows, so once a day at most.

use clickhouse::Row;
use serde::Deserialize;
use uuid::Uuid;

use crate::{Analytics, error::AnalyticsError, migrate};

/// Workspaces that keep rows from the same moment on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired {
    /// Rows of before this moment are deleted: the start of a UTC day, in milliseconds since 1970.
    pub before_ms: i64,
    /// Workspaces whose rows are deleted.
    pub workspaces: Vec<Uuid>,
}

/// What is deleted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aged {
    /// Events, and what is derived from them.
    Events,
    /// What happened to messages.
    MessageEvents,
}

impl Aged {
    /// Tables and which of their rows are old, those that are counted last.
    const fn tables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Events => &[
                ("timeline", "day < {day} AND timestamp < {moment}"),
                ("orders", "timestamp < {moment}"),
                ("event_days", "day < {day}"),
                ("events", "day < {day} AND timestamp < {moment}"),
            ],
            Self::MessageEvents => &[
                ("message_outcomes", "last_at < {ms}"),
                ("message_events", "timestamp < {moment}"),
            ],
        }
    }
}

/// Months of events by partition; the tables that have such.
const MONTHLY: [&str; 2] = ["timeline", "events"];
const MONTHS: &str = "\
SELECT partition_id AS month, toUInt64(sumIf(rows, table = 'events')) AS events
FROM system.parts
WHERE database = currentDatabase() AND table IN ('events', 'timeline') AND active
    AND toUInt32OrZero(partition_id) BETWEEN 1 AND {before:UInt32} - 1
GROUP BY month
ORDER BY month";

#[derive(Debug, Row, Deserialize)]
struct Month {
    month: String,
    events: u64,
}

impl Analytics {
    /// Drops all months of events before a month (as `202603`); returns how many events they held. For months that are
    /// past for every workspace.
    ///
    /// # Errors
    /// When ClickHouse is away.
    pub async fn drop_months_before(&self, month: u32) -> Result<u64, AnalyticsError> {
        let months: Vec<Month> =
            self.client.query_raw(MONTHS).param("before", month).fetch_all().await?;
        let on_cluster = migrate::on_cluster(&self.address)?;
        let mut dropped = 0;
        for Month { month, events } in months {
            // Only digits: the statement takes no parameter there.
            if !month.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            for table in MONTHLY {
                let sql = format!("ALTER TABLE {table} {on_cluster} DROP PARTITION ID '{month}'");
                self.client.query_raw(&sql).execute().await?;
            }
            dropped += events;
        }
        Ok(dropped)
    }

    /// Deletes old rows of these workspaces; returns how many events, or message events.
    ///
    /// # Errors
    /// When ClickHouse is away.
    pub async fn delete_aged(
        &self,
        what: Aged,
        expired: &[Expired],
    ) -> Result<u64, AnalyticsError> {
        let on_cluster = migrate::on_cluster(&self.address)?;
        let mut deleted = 0;
        for (table, old) in what.tables() {
            let conditions: Vec<String> = expired
                .iter()
                .filter(|it| !it.workspaces.is_empty())
                .map(|it| condition(it, old))
                .collect();
            if conditions.is_empty() {
                return Ok(0);
            }
            let rows = conditions.join(" OR ");
            let count = format!("SELECT count() FROM {table} WHERE {rows}");
            deleted = self.client.query_raw(&count).fetch_one().await?;
            if deleted == 0 {
                continue;
            }
            let sql = format!("ALTER TABLE {table} {on_cluster} DELETE WHERE {rows}");
            self.client
                .query_raw(&sql)
                .with_setting("mutations_sync", "2")
                .with_setting("max_execution_time", "0")
                .execute()
                .await?;
        }
        Ok(deleted)
    }
}

/// Ids and numbers only, so that nothing of a caller becomes text of a statement.
fn condition(expired: &Expired, old: &str) -> String {
    let ids: Vec<String> = expired.workspaces.iter().map(|id| format!("toUUID('{id}')")).collect();
    let moment = format!("fromUnixTimestamp64Milli(toInt64({}), 'UTC')", expired.before_ms);
    let old = old
        .replace("{day}", &format!("toDate({moment})"))
        .replace("{moment}", &moment)
        .replace("{ms}", &expired.before_ms.to_string());
    format!("(workspace_id IN ({}) AND {old})", ids.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_names_its_workspaces_and_its_moment() {
        let expired = Expired { before_ms: 86_400_000, workspaces: vec![Uuid::from_u128(7)] };
        assert_eq!(
            condition(&expired, "last_at < {ms}"),
            "(workspace_id IN (toUUID('00000000-0000-0000-0000-000000000007')) AND last_at < 86400000)"
        );
        let events = condition(&expired, "day < {day} AND timestamp < {moment}");
        assert!(!events.contains('{'), "{events}");
    }
}

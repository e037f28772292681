//! How long parts stay on disk that others took the place of.

use std::collections::BTreeSet;

use clickhouse::Row;
use serde::Deserialize;

use crate::{Analytics, error::AnalyticsError};

const OLD_PARTS: &str = include_str!("../sql/erase_old_parts.sql");

const DETACHED_PARTS: &str = include_str!("../sql/erase_detached_parts.sql");

/// Why ClickHouse detaches parts whose rows other parts have.
const COPIES: [&str; 6] = [
    "clone",
    "deleting",
    "ignored",
    "merge-not-byte-identical",
    "mutate-not-byte-identical",
    "tmp-fetch",
];

/// Tables with rows of people.
const TABLES: [&str; 8] = [
    "events",
    "timeline",
    "orders",
    "message_events",
    "message_outcomes",
    "people",
    "identities",
    "insight_members",
];

/// Replaced parts usually stay for some minutes, since nothing syncs the merged ones. Meanwhile, merged and mutated parts are
/// synced, so the old ones may go within a second.
const SOON: &str = "old_parts_lifetime = 1, min_rows_to_fsync_after_merge = 1, \
     merge_tree_clear_old_parts_interval_seconds = 1, finished_mutations_to_keep = 0";
const NAMES: &str = "old_parts_lifetime, min_rows_to_fsync_after_merge, \
     merge_tree_clear_old_parts_interval_seconds, finished_mutations_to_keep";

/// Has replaced parts removed within seconds, until [`keep_old_parts`].
///
/// # Errors
/// When ClickHouse is away.
pub async fn remove_old_parts_soon(analytics: &Analytics) -> Result<(), AnalyticsError> {
    alter(analytics, &format!("MODIFY SETTING {SOON}")).await
}

/// Has replaced parts stay for as long as usual.
///
/// # Errors
/// When ClickHouse is away.
pub async fn keep_old_parts(analytics: &Analytics) -> Result<(), AnalyticsError> {
    alter(analytics, &format!("RESET SETTING {NAMES}")).await
}

async fn alter(analytics: &Analytics, change: &str) -> Result<(), AnalyticsError> {
    let on_cluster = match &analytics.address().cluster {
        Some(cluster) => format!(" ON CLUSTER `{cluster}`"),
        None => String::new(),
    };
    for table in TABLES {
        let statement = format!("ALTER TABLE {table}{on_cluster} {change}");
        analytics.client().query_raw(&statement).execute().await?;
    }
    Ok(())
}

/// Has ClickHouse look at once for replaced parts that may go, and returns those that are still on the disk of this server.
///
/// # Errors
/// When ClickHouse is away.
pub async fn old_parts(analytics: &Analytics) -> Result<BTreeSet<String>, AnalyticsError> {
    // An idle table is looked at every ten minutes. Dropping a partition ends with a look, also one that is not there.
    alter(analytics, "DROP PARTITION ID 'none'").await?;
    let tables = TABLES.map(str::to_owned).to_vec();
    let parts = analytics.client().query_raw(OLD_PARTS).param("tables", tables);
    let parts: Vec<String> = parts.fetch_all().await?;
    Ok(parts.into_iter().collect())
}

/// A part that is in the folder of its table and not in the table.
#[derive(Debug, Clone, PartialEq, Eq, Row, Deserialize)]
pub struct DetachedPart {
    /// The table that it was a part of.
    pub table: String,
    /// The name of its folder.
    pub name: String,
    /// Why ClickHouse detached it; empty where a person did.
    reason: String,
}

impl DetachedPart {
    /// Whether other parts have its rows.
    fn is_copy(&self) -> bool {
        COPIES.contains(&self.reason.as_str())
    }
}

/// Drops detached parts that are copies, and returns the others: they may be the only ones with their rows, and rows of
/// erased people may be among these.
///
/// # Errors
/// When ClickHouse is away.
pub async fn drop_detached_copies(
    analytics: &Analytics,
) -> Result<Vec<DetachedPart>, AnalyticsError> {
    let tables = TABLES.map(str::to_owned).to_vec();
    let found = analytics.client().query_raw(DETACHED_PARTS).param("tables", tables);
    let found: Vec<DetachedPart> = found.fetch_all().await?;
    let (copies, others) = found.into_iter().partition(DetachedPart::is_copy);
    for DetachedPart { table, name, .. } in copies {
        let statement = format!("ALTER TABLE {table} DROP DETACHED PART {{name:String}}");
        analytics
            .client()
            .query_raw(&statement)
            .param("name", name)
            .with_setting("allow_drop_detached", "1")
            .execute()
            .await?;
    }
    Ok(others)
}

//! ClickHouse: version, schema, disks, and the settings of tables that durability depends on.

use analytics::Analytics;
use clickhouse::Row;
use config::Settings;
use serde::Deserialize;

use super::{disk::size, finding::Finding};

const CLICKHOUSE: &str = "ClickHouse";
const SCHEMA: &str = "ClickHouse schema";
const DURABILITY: &str = "ClickHouse durability";
const DISKS: &str = "ClickHouse disks";
const CLUSTER: &str = "ClickHouse cluster";
/// The oldest version that tests run on: year and month.
const VERSION_MIN: Version = Version { year: 26, month: 7 };
/// Percent of a disk that must be free: merges write a part anew before the old ones go.
const FREE_PERCENT_MIN: u64 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    year: u32,
    month: u32,
}

#[derive(Debug, Row, Deserialize)]
struct Table {
    name: String,
    engine_full: String,
}

#[derive(Debug, Row, Deserialize)]
struct Volume {
    name: String,
    free: u64,
    total: u64,
}

/// Tables that are filled by inserts of this program and by their views.
const TABLES: &str = "SELECT name, engine_full FROM system.tables
    WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name IN
        ('events', 'orders', 'timeline', 'message_events', 'message_outcomes', 'identities', 'people', 'campaigns', 'event_days')
    ORDER BY name";
const VOLUMES: &str = "SELECT name, free_space AS free, total_space AS total FROM system.disks WHERE total_space > 0 ORDER BY name";

/// Whether the server answers; nothing else can be asked of one that does not.
pub(super) async fn answers(analytics: &Analytics) -> Result<(), Finding> {
    analytics.ping().await.map_err(|error| {
        Finding::wrong(
            CLICKHOUSE,
            format!("does not answer: {error}"),
            "start it, or correct CLICKHOUSE_URL",
        )
    })
}

/// All checks of a server that answers.
pub(super) async fn check(settings: &Settings, analytics: &Analytics) -> Vec<Finding> {
    let client = analytics.client();
    let version = client.query_raw("SELECT version()").fetch_one::<String>().await;
    let tables = client.query_raw(TABLES).fetch_all::<Table>().await;
    let volumes = client.query_raw(VOLUMES).fetch_all::<Volume>().await;
    let mut findings = vec![
        read(CLICKHOUSE, version.map(|text| of_version(&text))),
        match analytics.schema_is_current().await {
            Ok(true) => Finding::ok(SCHEMA, "the newest"),
            Ok(false) | Err(_) => Finding::warning(
                SCHEMA,
                "not the one of this program",
                "start the server, or run millrace migrate",
            ),
        },
        read(DURABILITY, tables.map(|tables| of_tables(&tables))),
        read(DISKS, volumes.map(|volumes| of_volumes(&volumes))),
    ];
    if settings.clickhouse.cluster.is_some() {
        findings.push(match analytics.check_cluster().await {
            Ok(()) => Finding::ok(CLUSTER, "replicas of one shard"),
            Err(error) => {
                let action = "correct clickhouse.cluster, or the cluster in system.clusters";
                Finding::wrong(CLUSTER, error.to_string(), action)
            }
        });
    }
    findings
}

fn read(check: &'static str, found: Result<Finding, clickhouse::error::Error>) -> Finding {
    found.unwrap_or_else(|error| {
        Finding::warning(
            check,
            format!("not checked: {error}"),
            "give the user of CLICKHOUSE_URL the right to read system tables",
        )
    })
}

fn of_version(text: &str) -> Finding {
    let mut numbers = text.split('.').map_while(|part| part.parse().ok());
    let (Some(year), Some(month)) = (numbers.next(), numbers.next()) else {
        let action = "use 26.7 or newer";
        return Finding::warning(CLICKHOUSE, format!("unknown version {text}"), action);
    };
    if (Version { year, month }) < VERSION_MIN {
        return Finding::wrong(
            CLICKHOUSE,
            format!("version {text}"),
            "upgrade it to 26.7 or newer",
        );
    }
    Finding::ok(CLICKHOUSE, format!("version {text}"))
}

/// The spool frees what ClickHouse has answered, so its answer must mean that the rows are on disk.
fn of_tables(tables: &[Table]) -> Finding {
    if tables.is_empty() {
        return Finding::ok(DURABILITY, "no tables yet; a start creates them");
    }
    let lacks = |table: &&Table| {
        let has = |setting: &str| table.engine_full.contains(setting);
        let is_synced = has("fsync_after_insert = 1") && has("fsync_part_directory = 1");
        !is_synced && !table.engine_full.starts_with("Replicated")
    };
    let names: Vec<&str> = tables.iter().filter(lacks).map(|table| table.name.as_str()).collect();
    if names.is_empty() {
        return Finding::ok(DURABILITY, "rows are synced before an insert is answered");
    }
    Finding::wrong(
        DURABILITY,
        format!(
            "{} without fsync_after_insert: a power failure loses stored events",
            names.join(", ")
        ),
        "ALTER TABLE … MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1",
    )
}

fn of_volumes(volumes: &[Volume]) -> Finding {
    let full = |it: &&Volume| it.free < it.total / 100 * FREE_PERCENT_MIN;
    let shown =
        |it: &Volume| format!("{} has {} of {} free", it.name, size(it.free), size(it.total));
    let few: Vec<String> = volumes.iter().filter(full).map(shown).collect();
    if few.is_empty() {
        let all: Vec<String> = volumes.iter().map(shown).collect();
        return Finding::ok(DISKS, all.join(", "));
    }
    Finding::warning(
        DISKS,
        few.join(", "),
        "add disk space: merges and inserts stop when it is full",
    )
}

#[cfg(test)]
mod tests {
    use super::{super::finding::Status, *};

    #[test]
    fn versions_are_compared_by_year_and_month() {
        for (text, status) in [
            ("26.7.1.1", Status::Ok),
            ("26.10.2", Status::Ok),
            ("27.1", Status::Ok),
            ("26.6.9.1", Status::Wrong),
            ("9.9", Status::Wrong),
            ("head", Status::Warning),
        ] {
            assert_eq!(of_version(text).status, status, "{text}");
        }
    }

    #[test]
    fn a_table_that_is_not_synced_is_wrong() {
        let table = |name: &str, settings: &str| Table {
            name: name.to_owned(),
            engine_full: format!("ReplacingMergeTree(a) ORDER BY b SETTINGS {settings}"),
        };
        let synced = || table("events", "fsync_after_insert = 1, fsync_part_directory = 1");
        assert_eq!(of_tables(&[]).status, Status::Ok);
        assert_eq!(of_tables(&[synced()]).status, Status::Ok);
        let found = of_tables(&[synced(), table("orders", "fsync_after_insert = 1")]);
        assert_eq!(found.status, Status::Wrong);
        assert!(found.what.starts_with("orders without"), "{found:?}");
        let engine_full = "ReplicatedMergeTree('/a', 'b')".to_owned();
        let replicated = Table { name: "people".to_owned(), engine_full };
        assert_eq!(of_tables(&[replicated]).status, Status::Ok, "other replicas have the rows");
    }

    #[test]
    fn a_disk_that_fills_is_reported() {
        let volume = |free| Volume { name: "default".to_owned(), free, total: 1000 };
        assert_eq!(of_volumes(&[volume(100)]).status, Status::Ok);
        assert_eq!(of_volumes(&[volume(99)]).status, Status::Warning);
    }
}

//! Brings ClickHouse to the schema this program was built for.
//!
//! The files of `migrations/clickhouse` are part of the program. Each is applied once, in order,
//! and recorded in `schema_migrations` with the checksum of its text; a file that changed after it
//! was applied is an error, and so is a database that knows more than the program.
//!
//! ClickHouse has neither transactions around DDL nor locks to hold meanwhile. What makes two
//! processes that start at once safe, and a crash half-way, is that every statement can be run
//! again: a test holds that each is a `CREATE … IF NOT EXISTS`, an `ALTER … IF [NOT] EXISTS`, or an
//! `ALTER … MODIFY SETTING`, which says what the setting is. Migration 10 also moves rows: [`rekey`]; migration 14 writes
//! entries of older events: [`anonymous`]; migration 17 counts them: [`event_days`].

mod anonymous;
mod event_days;
mod rekey;
mod statements;

use clickhouse::{Client, Row};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::{
    client::{self, ClickHouseAddress},
    error::AnalyticsError,
};

/// One file of `migrations/clickhouse`.
#[derive(Debug, Clone, Copy)]
struct Migration {
    version: u32,
    name: &'static str,
    text: &'static str,
}

/// All of them, oldest first.
const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        name: "events",
        text: include_str!("../../../migrations/clickhouse/0001_events.sql"),
    },
    Migration {
        version: 2,
        name: "orders",
        text: include_str!("../../../migrations/clickhouse/0002_orders.sql"),
    },
    Migration {
        version: 3,
        name: "timeline",
        text: include_str!("../../../migrations/clickhouse/0003_timeline.sql"),
    },
    Migration {
        version: 4,
        name: "merges",
        text: include_str!("../../../migrations/clickhouse/0004_merges.sql"),
    },
    Migration {
        version: 5,
        name: "message_events",
        text: include_str!("../../../migrations/clickhouse/0005_message_events.sql"),
    },
    Migration {
        version: 6,
        name: "message_event_details",
        text: include_str!("../../../migrations/clickhouse/0006_message_event_details.sql"),
    },
    Migration {
        version: 7,
        name: "message_outcomes",
        text: include_str!("../../../migrations/clickhouse/0007_message_outcomes.sql"),
    },
    Migration {
        version: 8,
        name: "outcomes_merge",
        text: include_str!("../../../migrations/clickhouse/0008_outcomes_merge.sql"),
    },
    Migration {
        version: 9,
        name: "outcomes_touched",
        text: include_str!("../../../migrations/clickhouse/0009_outcomes_touched.sql"),
    },
    Migration {
        version: rekey::VERSION,
        name: "event_id_key",
        text: include_str!("../../../migrations/clickhouse/0010_event_id_key.sql"),
    },
    Migration {
        version: 11,
        name: "orders_of_apps",
        text: include_str!("../../../migrations/clickhouse/0011_orders_of_apps.sql"),
    },
    Migration {
        version: 12,
        name: "unique_events",
        text: include_str!("../../../migrations/clickhouse/0012_unique_events.sql"),
    },
    Migration {
        version: 13,
        name: "identities",
        text: include_str!("../../../migrations/clickhouse/0013_identities.sql"),
    },
    Migration {
        version: anonymous::VERSION,
        name: "anonymous_timeline",
        text: include_str!("../../../migrations/clickhouse/0014_anonymous_timeline.sql"),
    },
    Migration {
        version: 15,
        name: "people",
        text: include_str!("../../../migrations/clickhouse/0015_people.sql"),
    },
    Migration {
        version: 16,
        name: "insight_members",
        text: include_str!("../../../migrations/clickhouse/0016_insight_members.sql"),
    },
    Migration {
        version: event_days::VERSION,
        name: "event_days",
        text: include_str!("../../../migrations/clickhouse/0017_event_days.sql"),
    },
    Migration {
        version: 18,
        name: "erased_events",
        text: include_str!("../../../migrations/clickhouse/0018_erased_events.sql"),
    },
    Migration {
        version: 19,
        name: "public_links",
        text: include_str!("../../../migrations/clickhouse/0019_public_links.sql"),
    },
];

const RECORD_TABLE: &str = include_str!("../sql/migrations_table.sql");
const RECORD_READ: &str = include_str!("../sql/migrations_applied.sql");
const RECORD_WRITE: &str = include_str!("../sql/migrations_record.sql");
const CLUSTER_SHARDS: &str = include_str!("../sql/cluster_shards.sql");

#[derive(Debug, Row, Deserialize)]
struct Applied {
    version: u32,
    name: String,
    checksum: String,
}

#[derive(Debug, Row, Deserialize)]
struct Shards {
    shards: u64,
}

impl Migration {
    fn checksum(&self) -> String {
        checksum(self.text)
    }
}

fn checksum(text: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(text).iter().fold(String::with_capacity(64), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string cannot fail");
        hex
    })
}

/// Makes the database when missing and applies what has not been applied.
pub(crate) async fn apply(
    client: &Client,
    address: &ClickHouseAddress,
) -> Result<(), AnalyticsError> {
    let cluster = address.cluster.as_deref();
    create_database(address).await?;
    execute(client, RECORD_TABLE, cluster).await?;
    for migration in MIGRATIONS {
        // Asked each time: another process may have gone on meanwhile, and what it did is not done again.
        if is_applied(&applied(client).await?, migration)? {
            continue;
        }
        tracing::info!(
            version = migration.version,
            name = migration.name,
            "applying clickhouse migration"
        );
        if migration.version == rekey::VERSION {
            rekey::Rekey::new(client, cluster, migration.text).run().await?;
        } else {
            execute(client, migration.text, cluster).await?;
        }
        match migration.version {
            anonymous::VERSION => anonymous::run(client).await?,
            event_days::VERSION => event_days::run(client).await?,
            _ => {}
        }
        client
            .query_raw(RECORD_WRITE)
            .with_setting("async_insert", "0")
            .param("version", migration.version)
            .param("name", migration.name)
            .param("checksum", migration.checksum())
            .execute()
            .await?;
    }
    Ok(())
}

/// True when every migration of this program is in the database, and none besides.
pub(crate) async fn is_current(client: &Client) -> Result<bool, AnalyticsError> {
    let applied = match applied(client).await {
        Err(error) if error.is_missing_table() => return Ok(false),
        applied => applied?,
    };
    for migration in MIGRATIONS {
        if !is_applied(&applied, migration)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The number of the last migration of this program, and a checksum of all of them.
pub(crate) fn version() -> String {
    let last = MIGRATIONS.last().map_or(0, |migration| migration.version);
    let all: String = MIGRATIONS.iter().map(Migration::checksum).collect();
    format!("{last}-{:.16}", checksum(&all))
}

/// Refuses a cluster that ClickHouse does not know, or that has more than one shard.
pub(crate) async fn check_cluster(address: &ClickHouseAddress) -> Result<(), AnalyticsError> {
    let Some(cluster) = &address.cluster else { return Ok(()) };
    let cluster = client::checked_name("cluster", cluster)?;
    let outside = client::client(address, false);
    let Shards { shards } =
        outside.query_raw(CLUSTER_SHARDS).param("cluster", cluster).fetch_one().await?;
    match shards {
        1 => Ok(()),
        0 => Err(AnalyticsError::Schema(format!(
            "clickhouse knows no cluster {cluster:?} (clickhouse.cluster)"
        ))),
        _ => Err(AnalyticsError::Schema(format!(
            "cluster {cluster:?} (clickhouse.cluster) has {shards} shards, and only replicas of one are supported"
        ))),
    }
}

async fn create_database(address: &ClickHouseAddress) -> Result<(), AnalyticsError> {
    let database = client::checked_name("database", &address.database)?;
    check_cluster(address).await?;
    let outside = client::client(address, false);
    let on_cluster = on_cluster(address)?;
    // The one statement built here: ClickHouse takes no parameter for a database's name.
    let sql = format!("CREATE DATABASE IF NOT EXISTS `{database}` {on_cluster}");
    outside.query_raw(&sql).execute().await?;
    Ok(())
}

/// What makes a statement one of the whole cluster, where there is one.
pub(crate) fn on_cluster(address: &ClickHouseAddress) -> Result<String, AnalyticsError> {
    Ok(match &address.cluster {
        Some(cluster) => format!("ON CLUSTER `{}`", client::checked_name("cluster", cluster)?),
        None => String::new(),
    })
}

async fn execute(client: &Client, text: &str, cluster: Option<&str>) -> Result<(), AnalyticsError> {
    for statement in statements::split(&statements::render(text, cluster)?) {
        client.query_raw(&statement).execute().await?;
    }
    Ok(())
}

async fn applied(client: &Client) -> Result<Vec<Applied>, AnalyticsError> {
    let applied: Vec<Applied> = client.query_raw(RECORD_READ).fetch_all().await?;
    let known = MIGRATIONS.last().map_or(0, |migration| migration.version);
    match applied.iter().find(|row| row.version > known) {
        Some(newer) => Err(AnalyticsError::Schema(format!(
            "migration {} {:?} was applied by a newer program than this one",
            newer.version, newer.name
        ))),
        None => Ok(applied),
    }
}

fn is_applied(applied: &[Applied], migration: &Migration) -> Result<bool, AnalyticsError> {
    let rows: Vec<_> = applied.iter().filter(|row| row.version == migration.version).collect();
    let checksum = migration.checksum();
    match rows.iter().find(|row| row.checksum != checksum) {
        Some(row) => Err(AnalyticsError::Schema(format!(
            "migration {} {:?} differs from the one that was applied",
            row.version, row.name
        ))),
        None => Ok(!rows.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_from_one_without_gaps() {
        for (migration, version) in MIGRATIONS.iter().zip(1..) {
            assert_eq!(migration.version, version, "{}", migration.name);
        }
    }

    #[test]
    fn every_statement_can_be_run_again() {
        // Two processes that migrate at once, and one that died half-way, rely on it.
        for migration in MIGRATIONS {
            for cluster in [None, Some("main")] {
                let text = statements::render(migration.text, cluster).expect("known placeholders");
                let statements = statements::split(&text);
                assert!(!statements.is_empty(), "{}", migration.name);
                for statement in statements {
                    let code: String = statement
                        .lines()
                        .filter(|line| !line.trim_start().starts_with("--"))
                        .collect::<Vec<_>>()
                        .join(" ")
                        .to_uppercase();
                    let repeatable = (code.starts_with("CREATE TABLE IF NOT EXISTS")
                        || code.starts_with("CREATE MATERIALIZED VIEW IF NOT EXISTS"))
                        || (code.starts_with("ALTER TABLE")
                            && ["IF NOT EXISTS", "IF EXISTS", " MODIFY SETTING ", " MODIFY QUERY"]
                                .iter()
                                .any(|again| code.contains(again)));
                    assert!(repeatable, "{}: {statement}", migration.name);
                }
            }
        }
    }

    #[test]
    fn in_a_cluster_every_table_is_replicated() {
        for migration in MIGRATIONS {
            let text =
                statements::render(migration.text, Some("main")).expect("known placeholders");
            for statement in statements::split(&text) {
                let upper = statement.to_uppercase();
                assert!(upper.contains("ON CLUSTER `MAIN`"), "{statement}");
                if upper.contains("ENGINE") {
                    assert!(upper.contains("REPLICATED"), "{statement}");
                }
            }
        }
    }

    #[test]
    fn each_table_is_in_backups_or_made_anew() {
        // Copies of PostgreSQL's rows, notes of migrations, what questions leave behind, former names.
        const LEFT_OUT: [&str; 8] = [
            "people",
            "campaigns",
            "identities",
            "insight_members",
            "timeline_anonymous_days",
            "events_0010",
            "timeline_0010",
            crate::copies::RECOUNTED,
        ];
        for migration in MIGRATIONS {
            for line in migration.text.lines() {
                let Some(rest) = line.strip_prefix("CREATE TABLE IF NOT EXISTS ") else { continue };
                let table = rest.split(' ').next().unwrap_or_default();
                let is_known = crate::copies::COPIED.contains(&table) || LEFT_OUT.contains(&table);
                assert!(is_known, "{table} is not in backups");
            }
        }
    }

    #[test]
    fn a_changed_migration_is_an_error() {
        let migration = &MIGRATIONS[0];
        let row = |checksum: String| Applied { version: 1, name: "events".to_owned(), checksum };
        assert!(matches!(is_applied(&[], migration), Ok(false)));
        assert!(matches!(is_applied(&[row(migration.checksum())], migration), Ok(true)));
        assert!(is_applied(&[row("other".to_owned())], migration).is_err());
    }
}

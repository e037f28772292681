//! PostgreSQL: version, schema, and the settings that durability depends on.

use config::Settings;
use sqlx::{ConnectOptions as _, PgPool};
use tokio::time::timeout;
use web::db::{
    self,
    server_settings::{self, ServerSettings},
};

use super::{CONNECT_MAX, finding::Finding};

const POSTGRES: &str = "PostgreSQL";
const SCHEMA: &str = "PostgreSQL schema";
const DURABILITY: &str = "PostgreSQL durability";
const CONNECTIONS: &str = "PostgreSQL connections";
/// The oldest supported version, and the one that tests run on.
const MAJOR_MIN: i32 = 15;
const MAJOR_TESTED: i32 = 18;
/// Connections for an operator and for commands.
const CONNECTIONS_SPARE: i64 = 5;

/// Whether the server answers; nothing else can be asked of one that does not.
pub(super) async fn answers(pool: &PgPool) -> Result<(), Finding> {
    // A pool would try again until its timeout, and not say why.
    let reason = match timeout(CONNECT_MAX, pool.connect_options().connect()).await {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no connection within {} s", CONNECT_MAX.as_secs()),
    };
    let what = format!("does not answer: {reason}");
    Err(Finding::wrong(POSTGRES, what, "start it, or correct DATABASE_URL"))
}

/// All checks of a server that answers.
pub(super) async fn check(settings: &Settings, pool: &PgPool) -> Vec<Finding> {
    let mut findings = match server_settings::read(pool).await {
        Ok(found) => vec![
            version(&found),
            durability(&found),
            connections(&found, settings.engines.postgres_connections),
        ],
        Err(error) => vec![Finding::warning(
            POSTGRES,
            format!("its settings cannot be read: {error}"),
            "give the role of DATABASE_URL the right to read them",
        )],
    };
    findings.push(match db::schema_is_current(pool).await {
        Ok(true) => Finding::ok(SCHEMA, "the newest"),
        Ok(false) | Err(_) => Finding::warning(
            SCHEMA,
            "not the one of this program",
            "start the server, or run millrace migrate",
        ),
    });
    findings
}

fn version(found: &ServerSettings) -> Finding {
    let (major, minor) = (found.version / 10_000, found.version % 10_000);
    let what = format!("version {major}.{minor}");
    if major < MAJOR_MIN {
        let action =
            format!("upgrade it to {MAJOR_TESTED}; {MAJOR_MIN} is the oldest that is supported");
        return Finding::wrong(POSTGRES, what, action);
    }
    if found.is_read_only {
        return Finding::wrong(
            POSTGRES,
            format!("{what}, takes no writes: a standby, or default_transaction_read_only"),
            "lead DATABASE_URL to the primary",
        );
    }
    if major > MAJOR_TESTED {
        let action = format!("use {MAJOR_TESTED}, unless you have tried the newer one");
        return Finding::warning(
            POSTGRES,
            format!("{what} is newer than the tested {MAJOR_TESTED}"),
            action,
        );
    }
    Finding::ok(POSTGRES, what)
}

/// Without these a crash loses or tears what was committed: consent, keys, claims of messages.
fn durability(found: &ServerSettings) -> Finding {
    let off = |name: &'static str, value: &str| (value == "off").then_some(name);
    let needed = [
        off("fsync", &found.fsync),
        off("full_page_writes", &found.full_page_writes),
        off("synchronous_commit", &found.synchronous_commit),
    ];
    let off: Vec<&str> = needed.into_iter().flatten().collect();
    if off.is_empty() {
        let what = format!("synchronous_commit = {}", found.synchronous_commit);
        return Finding::ok(DURABILITY, format!("fsync, full_page_writes; {what}"));
    }
    Finding::wrong(
        DURABILITY,
        format!("{} is off: a crash loses opt-outs, or sends messages twice", off.join(", ")),
        format!(
            "set {} to on in postgresql.conf, for this role and for the database",
            off.join(", ")
        ),
    )
}

fn connections(found: &ServerSettings, wanted: u32) -> Finding {
    let room = i64::from(found.connections_max - found.connections_reserved) - CONNECTIONS_SPARE;
    let what = format!(
        "{} at most; one process takes {wanted} (engines.postgres_connections)",
        found.connections_max
    );
    if i64::from(wanted) > room {
        let action = "raise max_connections of PostgreSQL, or lower engines.postgres_connections";
        return Finding::warning(CONNECTIONS, what, action);
    }
    Finding::ok(CONNECTIONS, what)
}

#[cfg(test)]
mod tests {
    use super::{super::finding::Status, *};

    fn good() -> ServerSettings {
        ServerSettings {
            version: 180_004,
            fsync: "on".to_owned(),
            full_page_writes: "on".to_owned(),
            synchronous_commit: "on".to_owned(),
            connections_max: 100,
            connections_reserved: 3,
            is_read_only: false,
        }
    }

    #[test]
    fn versions_and_standbys() {
        for (number, status) in [
            (140_012, Status::Wrong),
            (150_007, Status::Ok),
            (180_004, Status::Ok),
            (190_000, Status::Warning),
        ] {
            let found = version(&ServerSettings { version: number, ..good() });
            assert_eq!(found.status, status, "{found:?}");
        }
        assert!(version(&good()).what.contains("18.4"));
        let standby = ServerSettings { is_read_only: true, ..good() };
        assert_eq!(version(&standby).status, Status::Wrong);
    }

    #[test]
    fn each_setting_that_loses_commits_is_wrong() {
        assert_eq!(durability(&good()).status, Status::Ok);
        let off = || "off".to_owned();
        for (name, broken) in [
            ("fsync", ServerSettings { fsync: off(), ..good() }),
            ("full_page_writes", ServerSettings { full_page_writes: off(), ..good() }),
            ("synchronous_commit", ServerSettings { synchronous_commit: off(), ..good() }),
        ] {
            let found = durability(&broken);
            assert_eq!(found.status, Status::Wrong, "{name}");
            assert!(found.what.contains(name) && found.action.unwrap().contains(name), "{name}");
        }
        let replicated = ServerSettings { synchronous_commit: "remote_apply".to_owned(), ..good() };
        assert_eq!(durability(&replicated).status, Status::Ok);
    }

    #[test]
    fn the_pool_must_fit_beside_others() {
        assert_eq!(connections(&good(), 92).status, Status::Ok);
        assert_eq!(connections(&good(), 93).status, Status::Warning);
    }
}

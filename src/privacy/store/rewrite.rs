//! Has PostgreSQL write the tables anew that had rows of people, and remove the files with the old rows.
//!
//! A deleted row stays in its page until another takes its room, and in the write-ahead log. So the tables are written anew
//! (`VACUUM FULL`), the statistics of their columns are cleared, and the log goes on in another file; files of before are
//! removed at the next checkpoint.

use std::time::Duration;

use kernel::Result;
use sqlx::{Connection as _, PgConnection, PgPool};
use tokio::time::{Instant, sleep};

/// Tables with rows of people. Each is locked while it is written.
pub(crate) const TABLES: &[&str] = &[
    "audit_log",
    "campaign_entry",
    "campaign_exposure",
    "campaign_received",
    "campaign_run",
    "channel_consent",
    "confirmation_count",
    "device",
    "feedback_heard",
    "idempotency_key",
    "identity",
    "in_app_recipient",
    "in_app_test",
    "list_membership",
    "message",
    "pending_channel",
    "pending_membership",
    "people_change",
    "people_rebuild",
    "privacy_export",
    "privacy_identifier",
    "privacy_request",
    "rejected_event",
    "retention_task",
    "send_tally",
    "send_tally_lock",
    "short_link",
    "subscription_history",
    "suppression",
    "suppression_removal",
    "user_name",
    "users",
];

/// Longest wait for the lock of a table, so that others do not wait behind this wait.
const LOCK_MAX: &str =
    "set statement_timeout = 0; set lock_timeout = '2s'; set client_min_messages = error";
/// Rest before another attempt to lock a table.
const LOCK_PAUSE: Duration = Duration::from_millis(500);
/// Attempts for one table.
const LOCK_TRIES_MAX: u32 = 60;
/// Longest wait for transactions that began before.
const SNAPSHOTS_MAX: Duration = Duration::from_mins(5);
const POLL_PAUSE: Duration = Duration::from_millis(100);
/// Segments of the log that are gone through at most: those that a checkpoint of before keeps for use again.
const SEGMENTS_MAX: usize = 4_096;
/// PostgreSQL's codes for a lock that was not granted in time, and for a deadlock.
const NOT_LOCKED: [&str; 2] = ["55P03", "40P01"];
/// PostgreSQL's code for a lack of privileges.
const NOT_ALLOWED: &str = "42501";

/// Writes all tables anew and removes the old files. Others may work meanwhile, but not on the table that is being written.
pub(crate) async fn rewrite(db: &PgPool) -> Result<()> {
    let mut connection = db.acquire().await?.detach();
    let outcome = rewrite_on(&mut connection).await;
    // The result is known; an error of closing does not matter.
    drop(connection.close().await);
    outcome
}

async fn rewrite_on(connection: &mut PgConnection) -> Result<()> {
    sqlx::raw_sql(LOCK_MAX).execute(&mut *connection).await?;
    wait_for_snapshots(connection).await?;
    clear_statistics(connection).await?;
    for table in TABLES {
        write_anew(connection, &format!("vacuum (full, analyze) {table}")).await?;
    }
    let done = write_anew(connection, "vacuum full pg_catalog.pg_statistic").await;
    allowed(done, "write pg_statistic anew")?;
    let done = renew_log(connection).await;
    allowed(done, "remove the write-ahead log")
}

/// On a server of others that is not ours to do: its operators answer for its files.
fn allowed(done: Result<(), sqlx::Error>, doing: &'static str) -> Result<()> {
    match done {
        Err(error) if code_is(&error, &[NOT_ALLOWED]) => {
            tracing::warn!(
                doing,
                "the account of the database may not do this: its operator has to"
            );
            Ok(())
        }
        other => Ok(other?),
    }
}

fn code_is(error: &sqlx::Error, codes: &[&str]) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| codes.contains(&code.as_ref()))
}

/// Waits until no transaction can see what was deleted: rows that one may see are kept.
async fn wait_for_snapshots(connection: &mut PgConnection) -> Result<()> {
    let now: String = sqlx::query_scalar("select pg_current_xact_id()::xid::text")
        .fetch_one(&mut *connection)
        .await?;
    let deadline = Instant::now() + SNAPSHOTS_MAX;
    loop {
        let is_waiting: bool = sqlx::query_scalar(
            "select exists (
                 select from pg_stat_activity
                 where pid <> pg_backend_pid() and datname = current_database()
                     and backend_xmin is not null and age(backend_xmin) >= age($1::xid))",
        )
        .bind(&now)
        .fetch_one(&mut *connection)
        .await?;
        if !is_waiting {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(anyhow::anyhow!("a transaction of PostgreSQL is too old").into());
        }
        sleep(POLL_PAUSE).await;
    }
}

/// Clears what the planner knows about columns: it holds values of rows. Analysing writes it again, except for empty tables.
async fn clear_statistics(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let version: i32 =
        sqlx::query_scalar("select current_setting('server_version_num')::integer / 10000")
            .fetch_one(&mut *connection)
            .await?;
    if version < 18 {
        return Ok(());
    }
    sqlx::query(
        "select pg_clear_attribute_stats(schemaname, tablename, attname, inherited)
         from pg_stats where schemaname = current_schema() and tablename = any($1)",
    )
    .bind(TABLES)
    .execute(connection)
    .await?;
    Ok(())
}

async fn write_anew(connection: &mut PgConnection, sql: &str) -> Result<(), sqlx::Error> {
    let mut tries = 1;
    loop {
        match sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut *connection).await {
            Err(error) if code_is(&error, &NOT_LOCKED) && tries < LOCK_TRIES_MAX => {
                tries += 1;
                sleep(LOCK_PAUSE).await;
            }
            done => return done.map(drop),
        }
    }
}

/// Begins another file of the log, and has those of before removed and not used again.
async fn renew_log(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    for sql in ["alter system set wal_recycle = off", "select pg_reload_conf()"] {
        sqlx::raw_sql(sql).execute(&mut *connection).await?;
    }
    // The checkpointer reads settings between two checkpoints.
    sqlx::raw_sql("checkpoint").execute(&mut *connection).await?;
    let renewed = use_up_log(connection).await;
    for sql in ["alter system reset wal_recycle", "select pg_reload_conf()"] {
        sqlx::raw_sql(sql).execute(&mut *connection).await?;
    }
    renewed
}

async fn use_up_log(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let before = log_files(connection).await?;
    let newest = before.last().cloned().unwrap_or_default();
    for _ in 0..SEGMENTS_MAX {
        // A switch without anything written since the last one does nothing.
        sqlx::raw_sql(
            "select pg_logical_emit_message(false, 'millrace', ''); select pg_switch_wal()",
        )
        .execute(&mut *connection)
        .await?;
        sqlx::raw_sql("select pg_logical_emit_message(false, 'millrace', '')")
            .execute(&mut *connection)
            .await?;
        let current: String =
            sqlx::query_scalar("select pg_walfile_name(pg_current_wal_insert_lsn())")
                .fetch_one(&mut *connection)
                .await?;
        if current > newest {
            break;
        }
    }
    // The first makes the log of before unnecessary, and removes what was unnecessary before.
    for _ in 0..2 {
        sqlx::raw_sql("checkpoint").execute(&mut *connection).await?;
    }
    let deadline = Instant::now() + SNAPSHOTS_MAX;
    while log_files(connection).await?.first().is_some_and(|oldest| *oldest <= newest) {
        if Instant::now() >= deadline {
            let problem = "old files of the write-ahead log are kept: by wal_keep_size, an archive or a replication slot";
            return Err(sqlx::Error::Protocol(problem.to_owned()));
        }
        sqlx::raw_sql("checkpoint").execute(&mut *connection).await?;
        sleep(POLL_PAUSE).await;
    }
    Ok(())
}

/// The files of the log, ascending.
async fn log_files(connection: &mut PgConnection) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(
        "select name from pg_ls_waldir() where name ~ '^[0-9A-F]{24}$' order by name",
    )
    .fetch_all(connection)
    .await
}

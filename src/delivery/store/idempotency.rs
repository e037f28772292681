//! Answers kept under their callers' keys.

use std::time::Duration;

use kernel::{Result, Timestamp, WorkspaceId};
use serde_json::Value;
use sqlx::{PgConnection, PgPool};

/// Rows that are forgotten when one is added.
const FORGOTTEN_AT_ONCE: i64 = 20;
/// PostgreSQL's code for a lock that was not had in time.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// An answer, and what was asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kept {
    /// Of what was asked for.
    pub(crate) fingerprint: Vec<u8>,
    pub(crate) answer: Value,
}

/// What became of taking a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is the caller's, until its transaction ends.
    Now,
    /// Somebody else has it, and has answered.
    Before,
    /// Somebody else has it, and did not answer in time.
    Busy,
}

/// What was answered under a key, not before that moment.
pub(crate) async fn find(
    db: &PgPool,
    workspace: WorkspaceId,
    key: &str,
    since: Timestamp,
) -> Result<Option<Kept>> {
    let row = sqlx::query!(
        "select fingerprint, answer from idempotency_key
         where workspace_id = $1 and key = $2 and created_at >= $3",
        workspace.uuid(),
        key,
        since.utc(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Kept { fingerprint: row.fingerprint, answer: row.answer }))
}

/// Takes a key with the answer it will have: waits for whoever is about to. What is older than `since` is
/// as if it were not there.
pub(crate) async fn take(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    (key, kept): (&str, &Kept),
    (now, since): (Timestamp, Timestamp),
    wait: Duration,
) -> Result<Taken> {
    let wait = format!("{}ms", wait.as_millis());
    sqlx::query!("select set_config('lock_timeout', $1, true)", wait)
        .fetch_one(&mut *connection)
        .await?;
    let done = sqlx::query!(
        "insert into idempotency_key (workspace_id, key, fingerprint, answer, created_at)
         values ($1, $2, $3, $4, $5)
         on conflict (workspace_id, key) do update
         set fingerprint = excluded.fingerprint, answer = excluded.answer,
             created_at = excluded.created_at
         where idempotency_key.created_at < $6",
        workspace.uuid(),
        key,
        kept.fingerprint,
        kept.answer,
        now.utc(),
        since.utc(),
    )
    .execute(&mut *connection)
    .await;
    let done = match done {
        Err(sqlx::Error::Database(fault))
            if fault.code().as_deref() == Some(LOCK_NOT_AVAILABLE) =>
        {
            return Ok(Taken::Busy);
        }
        done => done?,
    };
    if done.rows_affected() == 0 {
        return Ok(Taken::Before);
    }
    sqlx::query!(
        "delete from idempotency_key where ctid in (
             select ctid from idempotency_key where created_at < $1
             order by created_at limit $2 for update skip locked)",
        since.utc(),
        FORGOTTEN_AT_ONCE,
    )
    .execute(connection)
    .await?;
    Ok(Taken::Now)
}

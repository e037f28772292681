//! Answers stored under the idempotency keys of callers.

use std::time::Duration;

use kernel::{Result, Timestamp, WorkspaceId};
use serde_json::Value;
use sqlx::{PgConnection, PgPool};

/// Expired rows deleted whenever one is added.
const DELETED_AT_ONCE: i64 = 20;
/// PostgreSQL's code for a lock timeout.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// An answer and the fingerprint of its request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Kept {
    pub(crate) fingerprint: Vec<u8>,
    pub(crate) answer: Value,
}

/// The result of taking a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The caller has it.
    Now,
    /// Another request has it, and its answer is stored.
    Before,
    /// Another request has it, and did not finish in time.
    Busy,
}

/// The answer stored under a key at or after `since`.
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

/// A key to be taken, with the answer to be stored under it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewKey<'a> {
    pub(crate) key: &'a str,
    pub(crate) kept: &'a Kept,
    pub(crate) now: Timestamp,
    /// A key stored before this has expired.
    pub(crate) since: Timestamp,
}

/// Takes a key and stores its answer; waits at most `wait` for another request that is taking it.
pub(crate) async fn take(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    NewKey { key, kept, now, since }: NewKey<'_>,
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
        DELETED_AT_ONCE,
    )
    .execute(connection)
    .await?;
    Ok(Taken::Now)
}

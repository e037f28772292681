//! The SQL of the copies: what waits, the present state of it, and versions.

pub(super) mod campaigns;
pub(super) mod changes;
pub(super) mod identities;
pub(super) mod people;
pub(super) mod rebuild;
pub(super) mod versions;

use chrono::{DateTime, Utc};
use kernel::Result;
use sqlx::{PgConnection, PgPool, Postgres, Transaction};

/// Begins a transaction whose statements use indexes, one profile at a time, and each of which sees what was committed
/// before it. Planned anew for their arguments: a plan that was made for a small table would read a grown one as a whole.
pub(super) async fn begin(db: &PgPool) -> Result<Transaction<'static, Postgres>> {
    let by_index = "begin isolation level read committed;
        set local plan_cache_mode = force_custom_plan;
        set local enable_hashjoin = off;
        set local enable_mergejoin = off;
        set local enable_seqscan = off;
        set local jit = off";
    Ok(db.begin_with(by_index).await?)
}

/// Makes this transaction the one that copies, of all processes, until it ends. Returns whether it is.
pub(super) async fn lock(tx: &mut PgConnection) -> Result<bool> {
    let is_locked = sqlx::query_scalar!(
        r#"select pg_try_advisory_xact_lock(hashtextextended('millrace.people_mirror', 0)) as "is_locked!""#
    )
    .fetch_one(tx)
    .await?;
    Ok(is_locked)
}

/// A time as ClickHouse stores it; 0 without one.
fn millis(time: Option<DateTime<Utc>>) -> i64 {
    time.map_or(0, |time| time.timestamp_millis())
}

/// The bytes of an internal id.
fn user_id(bytes: &[u8]) -> Result<[u8; 12]> {
    Ok(bytes.try_into().map_err(anyhow::Error::from)?)
}

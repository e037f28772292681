//! The clock and the turn of retention in PostgreSQL.

use std::time::Duration;

use chrono::{DateTime, Utc};
use kernel::{Result, Timestamp};
use sqlx::PgPool;

use crate::clock::Seen;

/// The row of `retention_task` for data that workspaces keep for days of their own.
const TASK: &str = "data";

/// Takes the turn if the last one began `every` ago or earlier; false if another process has, or it is not time.
pub(crate) async fn take_turn(db: &PgPool, now: Timestamp, every: Duration) -> Result<bool> {
    let taken = sqlx::query(
        // A turn of the future is of a clock that was wrong.
        "update retention_task set ended_at = $2
         where name = $1 and (ended_at is null or ended_at <= $3 or ended_at > $2)",
    )
    .bind(TASK)
    .bind(now.utc())
    .bind(now.before(every).utc())
    .execute(db)
    .await?;
    Ok(taken.rows_affected() == 1)
}

/// Gives up a turn that failed, so that the next comes soon.
pub(crate) async fn give_up_turn(db: &PgPool) -> Result<()> {
    sqlx::query("update retention_task set ended_at = null where name = $1")
        .bind(TASK)
        .execute(db)
        .await?;
    Ok(())
}

/// Records a look at the clock, and returns what is recorded then.
pub(crate) async fn look(db: &PgPool, now: Timestamp, every: Duration) -> Result<Seen> {
    let mut tx = db.begin().await?;
    let row: Option<(DateTime<Utc>, Option<DateTime<Utc>>)> =
        sqlx::query_as("select seen_at, held_until from retention_clock for update")
            .fetch_optional(&mut *tx)
            .await?;
    let before =
        row.map(|(at, held)| Seen { at: at.into(), held_until: held.map(Timestamp::from) });
    let next = Seen::next(before, now, every);
    sqlx::query(
        "insert into retention_clock (seen_at, held_until) values ($1, $2)
         on conflict (id) do update set seen_at = $1, held_until = $2",
    )
    .bind(next.at.utc())
    .bind(next.held_until.map(Timestamp::utc))
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(next)
}

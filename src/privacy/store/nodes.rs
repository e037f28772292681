//! The processes, and how far each has emptied its spool.

use std::time::Duration;

use kernel::{Result, Timestamp};
use sqlx::PgPool;

/// Notes that the process with a spool is there. Returns the drain that it has to do, if there is one.
pub(crate) async fn seen(db: &PgPool, spool: &[u8; 16], now: Timestamp) -> Result<Option<i64>> {
    let wanted = sqlx::query_scalar!(
        r#"select case when coalesce(n.drained, 0) < d.wanted then d.wanted end as wanted
           from privacy_drain d
           left join privacy_node n on n.spool_id = $1"#,
        &spool[..],
    )
    .fetch_one(db)
    .await?;
    // Seldom, so that an idle process writes next to nothing.
    sqlx::query!(
        "insert into privacy_node (spool_id, seen_at) values ($1, $2)
         on conflict (spool_id) do update set seen_at = excluded.seen_at
         where privacy_node.seen_at < excluded.seen_at - interval '20 seconds'",
        &spool[..],
        now.utc(),
    )
    .execute(db)
    .await?;
    Ok(wanted)
}

/// Notes that a process has done a drain.
pub(crate) async fn drained(db: &PgPool, spool: &[u8; 16], drain: i64) -> Result<()> {
    sqlx::query!("update privacy_node set drained = $2 where spool_id = $1", &spool[..], drain)
        .execute(db)
        .await?;
    Ok(())
}

/// Has every process empty its spool of what is in it now. Returns the number of this drain.
pub(crate) async fn begin_drain(db: &PgPool) -> Result<i64> {
    let wanted =
        sqlx::query_scalar!("update privacy_drain set wanted = wanted + 1 returning wanted");
    Ok(wanted.fetch_one(db).await?)
}

/// How many processes that were seen lately have not done a drain.
pub(crate) async fn not_drained(
    db: &PgPool,
    drain: i64,
    now: Timestamp,
    seen_within: Duration,
) -> Result<i64> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from privacy_node where drained < $1 and seen_at > $2"#,
        drain,
        now.before(seen_within).utc(),
    );
    Ok(count.fetch_one(db).await?)
}

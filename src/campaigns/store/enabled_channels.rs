//! Channels for which some process has a provider.

use std::collections::HashMap;

use kernel::{Result, Timestamp};
use sqlx::PgExecutor;

/// Records that a process has a provider for these channels now.
pub(crate) async fn record_enabled_channels(
    db: impl PgExecutor<'_>,
    channels: &[&str],
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "insert into carried_channel as c (channel, carried_at)
         select channel, $2 from unnest($1::text[]) as t (channel)
         order by channel
         on conflict (channel) do update
             set carried_at = greatest(c.carried_at, excluded.carried_at)",
        channels as _,
        now.utc(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Renews all recorded channels, if no process recorded any since that time.
pub(crate) async fn renew_enabled_channels(
    db: impl PgExecutor<'_>,
    since: Timestamp,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "update carried_channel set carried_at = $2
         where (select max(carried_at) from carried_channel) <= $1",
        since.utc(),
        now.utc(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// When each channel was last recorded as enabled; one that never was is absent.
pub(crate) async fn enabled_channels(
    db: impl PgExecutor<'_>,
) -> Result<HashMap<String, Timestamp>> {
    let rows =
        sqlx::query!("select channel, carried_at from carried_channel").fetch_all(db).await?;
    Ok(rows.into_iter().map(|row| (row.channel, row.carried_at.into())).collect())
}

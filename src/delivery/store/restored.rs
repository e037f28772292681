//! Messages of a database that was restored from a backup.

use kernel::{Result, Timestamp};
use sqlx::PgConnection;

/// Treats queued messages that belong to no run of a campaign as if their sender had died; returns how many.
pub(crate) async fn give_up_single(connection: &mut PgConnection, now: Timestamp) -> Result<u64> {
    let done = sqlx::query!(
        "update message set status = 'sending', due_at = $1
         where purpose <> 'campaign' and status = 'queued'",
        now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Marks confirmations that were not sent as sent; returns how many.
pub(crate) async fn give_up_confirmations(connection: &mut PgConnection) -> Result<u64> {
    let of_lists = sqlx::query!(
        "update pending_membership set asked_at = requested_at
         where asked_at is null or asked_at < requested_at"
    )
    .execute(&mut *connection)
    .await?;
    let of_channels = sqlx::query!(
        "update pending_channel set asked_at = requested_at
         where asked_at is null or asked_at < requested_at"
    )
    .execute(connection)
    .await?;
    Ok(of_lists.rows_affected() + of_channels.rows_affected())
}

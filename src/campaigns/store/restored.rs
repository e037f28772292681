//! Campaigns of a database that was restored from a backup.

use kernel::{Result, Timestamp};
use sqlx::PgConnection;

/// Pauses all campaigns that would send by themselves; returns how many.
pub(crate) async fn pause_all(connection: &mut PgConnection, now: Timestamp) -> Result<u64> {
    let done = sqlx::query!(
        "with live as (
             select workspace_id, id, status from campaign
             where status in ('scheduled', 'active') and channel <> 'in_app'
             for update),
         paused as (
             update campaign c
             set status = 'paused', paused_from = live.status, next_send_at = null,
                 revision = revision + 1, updated_at = $1
             from live
             where c.workspace_id = live.workspace_id and c.id = live.id
             returning c.workspace_id, c.id, live.status)
         insert into campaign_history (workspace_id, campaign_id, id, action, actor, changes, created_at)
         select workspace_id, id, gen_random_uuid(), 'paused', 'system',
             jsonb_build_array(jsonb_build_object('path', '/status', 'before', status, 'after', 'paused')), $1
         from paused",
        now.utc(),
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

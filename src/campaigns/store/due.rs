//! Due campaigns of every workspace.

use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use sqlx::{PgConnection, PgExecutor};

/// Locks due campaigns until the transaction ends, the longest overdue first. Those locked by another sender
/// are skipped.
pub(crate) async fn due(
    connection: &mut PgConnection,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<(WorkspaceId, CampaignId)>> {
    let held = sqlx::query!(
        "select workspace_id, id
         from campaign
         where next_send_at <= $1 and status in ('scheduled', 'active')
         order by next_send_at
         limit $2
         for update skip locked",
        now.utc(),
        limit,
    )
    .fetch_all(connection)
    .await?;
    let ids =
        held.into_iter().map(|it| (WorkspaceId::new(it.workspace_id), CampaignId::new(it.id)));
    Ok(ids.collect())
}

pub(crate) async fn postpone(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    id: CampaignId,
    until: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "update campaign set revision = revision + 1, next_send_at = $3
         where workspace_id = $1 and id = $2",
        workspace.uuid(),
        id.uuid(),
        until.utc(),
    )
    .execute(db)
    .await?;
    Ok(())
}

//! In-app campaigns for apps.

use kernel::{CampaignId, Result, WorkspaceId};
use sqlx::PgExecutor;

/// The live in-app campaigns with their revisions, by priority, then the newest first.
pub(crate) async fn live_in_app(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    limit: i64,
) -> Result<Vec<(CampaignId, i64)>> {
    let rows = sqlx::query!(
        "select id, revision
         from campaign
         where workspace_id = $1 and channel = 'in_app' and status = 'active'
         order by (definition->'channelConfig'->>'priority')::integer desc nulls last,
             started_at desc nulls last, id
         limit $2",
        workspace.uuid(),
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (CampaignId::new(row.id), row.revision)).collect())
}

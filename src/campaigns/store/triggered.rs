//! Triggered campaigns of every workspace.

use chrono::{DateTime, Utc};
use kernel::{CampaignId, Result, WorkspaceId};
use sqlx::{PgPool, types::Json};
use uuid::Uuid;

use crate::model::{CampaignKey, Definition, TriggeredCampaign};

/// Every active triggered campaign with its revision.
pub(crate) async fn active_triggered(db: &PgPool) -> Result<Vec<(CampaignKey, i64)>> {
    let rows = sqlx::query!(
        "select workspace_id, id, revision
         from campaign
         where status = 'active' and definition->>'sendType' = 'triggered'"
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let workspace = WorkspaceId::new(row.workspace_id);
            (CampaignKey { workspace, id: CampaignId::new(row.id) }, row.revision)
        })
        .collect())
}

/// Those of these that are active and triggered. A campaign is active since the latest such entry of its
/// history.
pub(crate) async fn triggered_campaigns(
    db: &PgPool,
    campaigns: &[CampaignKey],
) -> Result<Vec<TriggeredCampaign>> {
    let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) =
        campaigns.iter().map(|key| (key.workspace.uuid(), key.id.uuid())).unzip();
    let rows = sqlx::query!(
        r#"select c.workspace_id, c.id, c.revision, c.definition as "definition: Json<Definition>",
             coalesce((
                 select max(h.created_at)
                 from campaign_history h
                 where h.workspace_id = c.workspace_id and h.campaign_id = c.id
                     and h.changes @> '[{"path": "/status", "after": "active"}]'
             ), c.started_at, c.created_at) as "since!: DateTime<Utc>"
         from unnest($1::uuid[], $2::uuid[]) as wanted (workspace_id, id)
         join campaign c on c.workspace_id = wanted.workspace_id and c.id = wanted.id
         where c.status = 'active' and c.definition->>'sendType' = 'triggered'"#,
        &workspaces,
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| TriggeredCampaign {
            workspace: WorkspaceId::new(row.workspace_id),
            id: CampaignId::new(row.id),
            revision: row.revision,
            definition: row.definition.0,
            since: row.since.into(),
        })
        .collect())
}

//! Campaigns that wait for events, of every workspace.

use chrono::{DateTime, Utc};
use kernel::{CampaignId, Result, WorkspaceId};
use sqlx::{PgPool, types::Json};
use uuid::Uuid;

use crate::model::{Definition, Standby};

/// Every active triggered campaign, and which revision of it stands.
pub(crate) async fn standing_by(db: &PgPool) -> Result<Vec<(WorkspaceId, CampaignId, i64)>> {
    let rows = sqlx::query!(
        "select workspace_id, id, revision
         from campaign
         where status = 'active' and definition->>'sendType' = 'triggered'"
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (WorkspaceId::new(row.workspace_id), CampaignId::new(row.id), row.revision))
        .collect())
}

/// Those of these that are active and triggered. Each became active when its history last says so.
pub(crate) async fn standbys(
    db: &PgPool,
    campaigns: &[(WorkspaceId, CampaignId)],
) -> Result<Vec<Standby>> {
    let (workspaces, ids): (Vec<Uuid>, Vec<Uuid>) =
        campaigns.iter().map(|(workspace, id)| (workspace.uuid(), id.uuid())).unzip();
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
        .map(|row| Standby {
            workspace: WorkspaceId::new(row.workspace_id),
            id: CampaignId::new(row.id),
            revision: row.revision,
            definition: row.definition.0,
            since: row.since.into(),
        })
        .collect())
}

//! The runs of campaigns, and the currency of their workspace.

use chrono::{DateTime, Utc};
use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use sqlx::PgPool;

/// An occurrence of a campaign.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub occurrence: u32,
    pub due_at: Timestamp,
    pub started_at: Timestamp,
    /// When every message was completed.
    pub completed_at: Option<Timestamp>,
}

struct Row {
    occurrence: i32,
    due_at: DateTime<Utc>,
    started_at: DateTime<Utc>,
    completed_at: Option<DateTime<Utc>>,
}

/// The newest occurrences of a campaign, newest first.
pub(crate) async fn of_campaign(
    db: &PgPool,
    workspace: WorkspaceId,
    campaign: CampaignId,
    runs_max: i64,
) -> Result<Vec<Run>> {
    let rows = sqlx::query_as!(
        Row,
        "select occurrence, due_at, started_at, completed_at
         from campaign_run
         where workspace_id = $1 and campaign_id = $2
         order by occurrence desc
         limit $3",
        workspace.uuid(),
        campaign.uuid(),
        runs_max,
    )
    .fetch_all(db)
    .await?;
    let run = |row: Row| Run {
        occurrence: u32::try_from(row.occurrence).unwrap_or(0),
        due_at: row.due_at.into(),
        started_at: row.started_at.into(),
        completed_at: row.completed_at.map(Timestamp::from),
    };
    Ok(rows.into_iter().map(run).collect())
}

/// The workspace's currency, if one is set.
pub(crate) async fn currency(db: &PgPool, workspace: WorkspaceId) -> Result<Option<String>> {
    let row = sqlx::query_scalar!("select currency from workspace where id = $1", workspace.uuid())
        .fetch_optional(db)
        .await?;
    Ok(row.flatten())
}

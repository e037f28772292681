//! The runs of a campaign. They begin here, in the transaction that starts the campaign; delivery ends them.

use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use sqlx::PgExecutor;

use crate::model::Campaign;

/// Stores the start of a run, and when the campaign is due reopen_run. A run that has begun already continues.
pub(crate) async fn begin(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    campaign: &Campaign,
    due: Timestamp,
    now: Timestamp,
) -> Result<()> {
    sqlx::query!(
        "with begun as (
             insert into campaign_run (workspace_id, campaign_id, occurrence, due_at, started_at)
             values ($1, $2, $3, $5, $6)
             on conflict do nothing)
         update campaign
         set revision = revision + 1, occurrence = $3, next_send_at = $4
         where workspace_id = $1 and id = $2",
        workspace.uuid(),
        campaign.id.uuid(),
        campaign.state.occurrence,
        campaign.state.next_send_at.map(Timestamp::utc),
        due.utc(),
        now.utc(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Skips an occurrence that is too late, and sets the next one.
pub(crate) async fn skip_occurrence(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    campaign: &Campaign,
) -> Result<()> {
    sqlx::query!(
        "update campaign set revision = revision + 1, occurrence = $3, next_send_at = $4
         where workspace_id = $1 and id = $2",
        workspace.uuid(),
        campaign.id.uuid(),
        campaign.state.occurrence,
        campaign.state.next_send_at.map(Timestamp::utc),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Reopens the last run of a failed campaign, so that its failed messages are sent reopen_run once the campaign
/// continues. Nothing changes for a campaign that has not failed.
pub(crate) async fn reopen_run(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    id: CampaignId,
) -> Result<()> {
    sqlx::query!(
        "update campaign_run r set is_retried = true, completed_at = null
         from campaign c
         where r.workspace_id = $1 and r.campaign_id = $2
             and c.workspace_id = r.workspace_id and c.id = r.campaign_id
             and c.status = 'failed' and c.occurrence = r.occurrence",
        workspace.uuid(),
        id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Whether a campaign has a run under way other than `besides`.
pub(crate) async fn is_under_way(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    id: CampaignId,
    besides: i32,
) -> Result<bool> {
    let found = sqlx::query_scalar!(
        r#"select exists (
               select from campaign_run
               where workspace_id = $1 and campaign_id = $2 and occurrence <> $3
                   and completed_at is null) as "found!""#,
        workspace.uuid(),
        id.uuid(),
        besides,
    )
    .fetch_one(db)
    .await?;
    Ok(found)
}

/// The revision of a campaign that may send: an active one, or one that was completed while a run was under
/// way.
pub(crate) async fn sending(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    id: CampaignId,
) -> Result<Option<i64>> {
    let revision = sqlx::query_scalar!(
        "select revision from campaign
         where workspace_id = $1 and id = $2 and status in ('active', 'completed')",
        workspace.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(revision)
}

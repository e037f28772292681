//! The times a campaign goes out. They begin here, in the transaction that takes the campaign up; delivery
//! brings them to an end.

use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use sqlx::PgExecutor;

use crate::model::State;

/// Writes down that a campaign goes out, and when it is due again. A time that has begun already goes on.
pub(crate) async fn begin(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    (id, state): (CampaignId, &State),
    (due, now): (Timestamp, Timestamp),
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
        id.uuid(),
        state.occurrence,
        state.next_send_at.map(Timestamp::utc),
        due.utc(),
        now.utc(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Leaves out a time that is too late, and sets the next one.
pub(crate) async fn leave_out(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    (id, state): (CampaignId, &State),
) -> Result<()> {
    sqlx::query!(
        "update campaign set revision = revision + 1, occurrence = $3, next_send_at = $4
         where workspace_id = $1 and id = $2",
        workspace.uuid(),
        id.uuid(),
        state.occurrence,
        state.next_send_at.map(Timestamp::utc),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Has the time that a failed campaign last went out gone over again, once it goes on: what failed of it is
/// tried anew. Of one that has not failed nothing changes.
pub(crate) async fn again(
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

/// Whether a campaign is still going out, this time aside.
pub(crate) async fn is_under_way(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    (id, besides): (CampaignId, i32),
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

/// The revision of a campaign that sends: an active one, or one that was completed while a time it goes
/// out was under way.
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

//! Campaigns whose time has come, of every workspace.

use sqlx::PgConnection;

use super::campaigns::find;
use crate::{
    campaigns::model::Campaign,
    kernel::{CampaignId, Result, Timestamp, WorkspaceId},
};

/// Takes hold of campaigns that are due, the longest overdue first, until the transaction ends. Those
/// that another sender holds are left to it.
pub(in crate::campaigns) async fn due(
    connection: &mut PgConnection,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<(WorkspaceId, Campaign)>> {
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
    .fetch_all(&mut *connection)
    .await?;
    let mut campaigns = Vec::with_capacity(held.len());
    for row in held {
        let workspace = WorkspaceId::new(row.workspace_id);
        if let Some(campaign) = find(&mut *connection, workspace, CampaignId::new(row.id)).await? {
            campaigns.push((workspace, campaign));
        }
    }
    Ok(campaigns)
}

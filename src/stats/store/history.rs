//! Campaigns that wrote to people before another did.

use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use sqlx::PgPool;
use uuid::Uuid;

/// The campaigns that ran in a period, on one channel.
pub(crate) struct Period {
    pub channel: &'static str,
    pub earliest: Timestamp,
    pub latest: Timestamp,
}

/// The other campaigns of a workspace that ran in a period, the one that began last first.
pub(crate) async fn campaigns_beside(
    db: &PgPool,
    workspace: WorkspaceId,
    campaign: CampaignId,
    period: &Period,
    campaigns_max: i64,
) -> Result<Vec<Uuid>> {
    let found = sqlx::query_scalar!(
        r#"select id
           from campaign
           where workspace_id = $1 and id <> $2 and channel = $3 and ran
               and (started_at is null or started_at <= $5)
               and coalesce(completed_at, cancelled_at, 'infinity') >= $4
           order by started_at desc nulls last, id
           limit $6"#,
        workspace.uuid(),
        campaign.uuid(),
        period.channel,
        period.earliest.utc(),
        period.latest.utc(),
        campaigns_max,
    )
    .fetch_all(db)
    .await?;
    Ok(found)
}

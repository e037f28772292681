//! The state of learning and of A/B tests.

use std::collections::{BTreeMap, HashMap};

use kernel::{CampaignId, Result, Timestamp, WorkspaceId};
use serde_json::Value;
use sqlx::PgPool;

use super::campaigns::find;
use crate::model::{Campaign, learning::Objective};

/// Earlier campaigns whose delays are read.
const EARLIER_MAX: i64 = 50;

/// Messages with a known outcome for each of these variants, in all learning campaigns.
pub(crate) async fn observations(
    db: &PgPool,
    workspace: WorkspaceId,
    variants: &[String],
) -> Result<HashMap<String, u64>> {
    let rows = sqlx::query!(
        r#"select arm->>'variantId' as "variant_id!",
             sum(floor(coalesce(arm->>'mature', arm->>'sends')::float8))::bigint as "sends!"
         from campaign c
         cross join lateral jsonb_array_elements(c.rl->'arms') as arm
         where c.workspace_id = $1 and c.rl is not null and arm->>'variantId' = any($2)
         group by 1"#,
        workspace.uuid(),
        variants,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.variant_id, row.sends.unsigned_abs())).collect())
}

/// Rewards by interval of their delay ([`Learning::delays`](crate::model::learning::Learning::delays)) of the newest other
/// campaigns with this objective and the same channel.
pub(crate) async fn delays(
    db: &PgPool,
    workspace: WorkspaceId,
    campaign: &Campaign,
    objective: Objective,
) -> Result<Vec<BTreeMap<u8, u64>>> {
    let rows = sqlx::query_scalar!(
        r#"select rl->'delays' as "delays!"
         from campaign
         where workspace_id = $1 and id <> $2 and rl->>'objective' = $3 and rl ? 'delays' and channel = $4
         order by created_at desc
         limit $5"#,
        workspace.uuid(),
        campaign.id.uuid(),
        objective.as_str(),
        campaign.definition.channel.as_str(),
        EARLIER_MAX,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().filter_map(|delays| serde_json::from_value(delays).ok()).collect())
}

/// Campaigns of every workspace with an A/B test that are active, or were completed since then before their test ended.
pub(crate) async fn with_trial(
    db: &PgPool,
    completed_since: Timestamp,
) -> Result<Vec<(WorkspaceId, Campaign)>> {
    let ids = sqlx::query!(
        "select workspace_id, id
         from campaign
         where status = 'active' and definition ? 'abTestConfig'
            or status = 'completed' and completed_at >= $1 and ab->>'phase' = 'testing'",
        completed_since.utc(),
    )
    .fetch_all(db)
    .await?;
    read(db, ids.into_iter().map(|it| (it.workspace_id, it.id))).await
}

/// Active learning campaigns of every workspace.
pub(crate) async fn active_learners(db: &PgPool) -> Result<Vec<(WorkspaceId, Campaign)>> {
    let ids = sqlx::query!(
        "select workspace_id, id from campaign where status = 'active' and rl is not null",
    )
    .fetch_all(db)
    .await?;
    read(db, ids.into_iter().map(|it| (it.workspace_id, it.id))).await
}

async fn read(
    db: &PgPool,
    ids: impl Iterator<Item = (uuid::Uuid, uuid::Uuid)>,
) -> Result<Vec<(WorkspaceId, Campaign)>> {
    let mut found = Vec::new();
    for (workspace, id) in ids {
        let workspace = WorkspaceId::new(workspace);
        if let Some(campaign) = find(db, workspace, CampaignId::new(id)).await? {
            found.push((workspace, campaign));
        }
    }
    Ok(found)
}

/// Stores the state of a test, unless the campaign changed since it was read.
pub(crate) async fn store_trial(
    db: &PgPool,
    workspace: WorkspaceId,
    campaign: &Campaign,
    trial: &Value,
) -> Result<()> {
    sqlx::query!(
        "update campaign set ab = $4, revision = revision + 1
         where workspace_id = $1 and id = $2 and revision = $3",
        workspace.uuid(),
        campaign.id.uuid(),
        campaign.revision,
        trial,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Stores what a campaign learnt; false if the campaign changed since it was read.
pub(crate) async fn store_learning(
    db: &PgPool,
    workspace: WorkspaceId,
    campaign: &Campaign,
    learning: &Value,
) -> Result<bool> {
    let done = sqlx::query!(
        "update campaign set rl = $4, revision = revision + 1
         where workspace_id = $1 and id = $2 and revision = $3 and rl is not null",
        workspace.uuid(),
        campaign.id.uuid(),
        campaign.revision,
        learning,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

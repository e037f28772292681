//! The present state of campaigns.

use std::collections::BTreeSet;

use analytics::people::CampaignRow;
use kernel::Result;
use sqlx::PgConnection;
use uuid::Uuid;

use super::millis;
use crate::model::CampaignKey;

/// The copies of these campaigns as they are now.
pub(crate) async fn copies(
    tx: &mut PgConnection,
    version: u64,
    campaigns: &BTreeSet<CampaignKey>,
) -> Result<Vec<CampaignRow>> {
    let workspaces: Vec<Uuid> = campaigns.iter().map(|key| key.workspace).collect();
    let ids: Vec<Uuid> = campaigns.iter().map(|key| key.campaign).collect();
    let rows = sqlx::query!(
        r#"select wish.workspace_id as "workspace_id!", wish.id as "id!", c.definition->>'name' as name,
             c.channel as "channel?", c.definition->>'sendType' as send_type, c.status as "status?",
             c.created_at as "created_at?"
           from unnest($1::uuid[], $2::uuid[]) as wish (workspace_id, id)
           left join campaign c on c.workspace_id = wish.workspace_id and c.id = wish.id"#,
        &workspaces,
        &ids,
    )
    .fetch_all(tx)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| CampaignRow {
            workspace_id: row.workspace_id,
            campaign_id: row.id,
            version,
            is_deleted: u8::from(row.created_at.is_none()),
            name: row.name.unwrap_or_default(),
            channel: row.channel.unwrap_or_default(),
            send_type: row.send_type.unwrap_or_default(),
            status: row.status.unwrap_or_default(),
            created_at: millis(row.created_at),
        })
        .collect())
}

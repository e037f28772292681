//! Names of campaigns.

use std::collections::HashMap;

use kernel::{Result, WorkspaceId};
use sqlx::PgPool;
use uuid::Uuid;

/// The names of those of these campaigns that exist.
pub(crate) async fn names(
    db: &PgPool,
    workspace: WorkspaceId,
    campaigns: &[Uuid],
) -> Result<HashMap<Uuid, String>> {
    if campaigns.is_empty() {
        return Ok(HashMap::new());
    }
    let found = sqlx::query!(
        r#"select id, definition ->> 'name' as "name!" from campaign where workspace_id = $1 and id = any($2)"#,
        workspace.uuid(),
        campaigns,
    )
    .fetch_all(db)
    .await?;
    Ok(found.into_iter().map(|campaign| (campaign.id, campaign.name)).collect())
}

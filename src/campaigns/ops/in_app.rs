//! In-app campaigns for apps.

use kernel::{CampaignId, Result, WorkspaceId};
use sqlx::PgPool;

use crate::{model::Campaign, store};

/// The live in-app campaigns with their revisions, in display order: by priority, then the newest first; at
/// most `limit`.
///
/// # Errors
/// If the store fails.
pub async fn live_in_app(
    db: &PgPool,
    workspace: WorkspaceId,
    limit: u32,
) -> Result<Vec<(CampaignId, i64)>> {
    store::live_in_app(db, workspace, i64::from(limit)).await
}

/// These campaigns in no particular order; missing ones are left out.
///
/// # Errors
/// If the store fails.
pub async fn find_all(
    db: &PgPool,
    workspace: WorkspaceId,
    ids: &[CampaignId],
) -> Result<Vec<Campaign>> {
    let ids: Vec<_> = ids.iter().map(|id| id.uuid()).collect();
    store::find_newest(db, workspace, &ids).await
}

//! Campaigns that apps ask for.

use kernel::{CampaignId, Result, WorkspaceId};
use sqlx::PgPool;

use crate::{model::Campaign, store};

/// The live in-app campaigns with their revisions, in the order in which messages go first: by priority,
/// among equals the newest; at most so many.
///
/// # Errors
/// When the store fails.
pub async fn live_in_app(
    db: &PgPool,
    workspace: WorkspaceId,
    limit: u32,
) -> Result<Vec<(CampaignId, i64)>> {
    store::live_in_app(db, workspace, i64::from(limit)).await
}

/// These campaigns, in no order; those that are not there any more are left out.
///
/// # Errors
/// When the store fails.
pub async fn find_all(
    db: &PgPool,
    workspace: WorkspaceId,
    ids: &[CampaignId],
) -> Result<Vec<Campaign>> {
    let ids: Vec<_> = ids.iter().map(|id| id.uuid()).collect();
    store::find_newest(db, workspace, &ids).await
}

//! Reading campaigns.

use kernel::{CampaignId, Result, WorkspaceId};
use web::Services;

use super::NOT_FOUND;
use crate::{
    model::{Campaign, Filter},
    store,
};

/// # Errors
/// Not found.
pub async fn find(app: &Services, workspace: WorkspaceId, id: CampaignId) -> Result<Campaign> {
    store::find(app.db(), workspace, id).await?.ok_or(NOT_FOUND)
}

/// A page of campaigns, newest first, and the total.
///
/// # Errors
/// If the store fails.
pub async fn list(
    app: &Services,
    workspace: WorkspaceId,
    filter: &Filter,
) -> Result<(Vec<Campaign>, i64)> {
    store::list(app.db(), workspace, filter).await
}

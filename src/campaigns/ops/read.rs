//! Reading campaigns.

use crate::{
    app::App,
    campaigns::{
        model::{Campaign, Filter},
        store,
    },
    kernel::{CampaignId, Result, WorkspaceId},
};

use super::NOT_FOUND;

/// A campaign.
///
/// # Errors
/// Not found.
pub async fn find(app: &App, workspace: WorkspaceId, id: CampaignId) -> Result<Campaign> {
    store::find(app.db(), workspace, id).await?.ok_or(NOT_FOUND)
}

/// A page of campaigns, newest first, and how many match in all.
///
/// # Errors
/// When the store fails.
pub async fn list(
    app: &App,
    workspace: WorkspaceId,
    filter: &Filter,
) -> Result<(Vec<Campaign>, i64)> {
    store::list(app.db(), workspace, filter).await
}

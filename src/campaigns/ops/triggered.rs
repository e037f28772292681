//! Campaigns that wait for events.

use kernel::{CampaignId, Result, WorkspaceId};

use crate::{CampaignState, model::Standby, store};

/// Every active triggered campaign of every workspace, and which revision of it stands: cheap enough to be
/// asked ten times a second.
///
/// # Errors
/// When the store is away.
pub async fn standing_by(app: &CampaignState) -> Result<Vec<(WorkspaceId, CampaignId, i64)>> {
    store::standing_by(app.db()).await
}

/// What these say, and since when they are active; those that are not any more are left out.
///
/// # Errors
/// When the store is away.
pub async fn standbys(
    app: &CampaignState,
    campaigns: &[(WorkspaceId, CampaignId)],
) -> Result<Vec<Standby>> {
    store::standbys(app.db(), campaigns).await
}

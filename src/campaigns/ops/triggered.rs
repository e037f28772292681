//! Triggered campaigns.

use kernel::Result;

use crate::{
    CampaignState,
    model::{CampaignKey, TriggeredCampaign},
    store,
};

/// Every active triggered campaign of every workspace with its revision: cheap enough for ten calls a second.
///
/// # Errors
/// If the store is unavailable.
pub async fn active_triggered(app: &CampaignState) -> Result<Vec<(CampaignKey, i64)>> {
    store::active_triggered(app.db()).await
}

/// The definitions of these campaigns, and since when they are active; those that are no longer active are
/// left out.
///
/// # Errors
/// If the store is unavailable.
pub async fn triggered_campaigns(
    app: &CampaignState,
    campaigns: &[CampaignKey],
) -> Result<Vec<TriggeredCampaign>> {
    store::triggered_campaigns(app.db(), campaigns).await
}

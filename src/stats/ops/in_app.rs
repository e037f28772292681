//! What people saw in apps and did with it.

use std::collections::HashMap;

use analytics::messages::{
    InAppCampaign, InAppCount, InAppPlace, Showing, ShowingFilter, in_app_counts, in_app_places,
    showings,
};
use campaigns::model::Campaign;
use kernel::{CampaignId, Result, UserId, WorkspaceId};
use web::Services;

use crate::store;

/// What became of an in-app campaign.
#[derive(Debug)]
pub struct InAppReport {
    /// It, as it is now.
    pub campaign: Campaign,
    /// By how often people saw it.
    pub counts: Vec<InAppCount>,
    /// By platform and button.
    pub places: Vec<InAppPlace>,
}

/// Counts what people saw and did.
///
/// # Errors
/// Not found; or when a store fails.
pub async fn in_app_report(
    app: &Services,
    workspace: WorkspaceId,
    id: CampaignId,
) -> Result<InAppReport> {
    let campaign = campaigns::ops::find(app, workspace, id).await?;
    let asked = InAppCampaign { workspace: workspace.uuid(), campaign: id.uuid() };
    let (counts, places) = tokio::try_join!(
        in_app_counts(app.analytics(), &asked),
        in_app_places(app.analytics(), &asked),
    )?;
    Ok(InAppReport { campaign, counts, places })
}

/// A page of the times a campaign's message was shown, newest first, each with the person's external id;
/// and how many there are.
///
/// # Errors
/// Not found; or when a store fails.
pub async fn impressions(
    app: &Services,
    workspace: WorkspaceId,
    id: CampaignId,
    filter: &ShowingFilter,
) -> Result<(Vec<(Showing, Option<String>)>, u64)> {
    campaigns::ops::find(app, workspace, id).await?;
    let asked = InAppCampaign { workspace: workspace.uuid(), campaign: id.uuid() };
    let (page, total) = showings(app.analytics(), &asked, filter).await?;
    let ids: Vec<UserId> = page.iter().filter_map(|showing| showing.user.parse().ok()).collect();
    let called = store::people::called(app.db(), workspace, &ids).await?;
    let called: HashMap<String, Option<String>> =
        called.into_iter().map(|(id, called)| (id.to_string(), called.external_id)).collect();
    let named = page.into_iter().map(|showing| {
        let external_id = called.get(&showing.user).cloned().flatten();
        (showing, external_id)
    });
    Ok((named.collect(), total))
}

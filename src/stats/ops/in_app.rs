//! Displays of in-app messages and interactions with them.

use std::collections::HashMap;

use analytics::messages::{
    InAppCampaign, InAppCount, InAppPlace, Showing, ShowingFilter, in_app_counts, in_app_places,
    showings,
};
use campaigns::model::Campaign;
use kernel::{CampaignId, Result, UserId, WorkspaceId};
use web::Services;

use crate::store;

/// The report of an in-app campaign.
#[derive(Debug)]
pub struct InAppReport {
    /// The campaign in its current state.
    pub campaign: Campaign,
    /// By number of displays.
    pub counts: Vec<InAppCount>,
    /// By platform and button.
    pub places: Vec<InAppPlace>,
}

/// Counts displays and interactions.
///
/// # Errors
/// Not found; or if a store fails.
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

/// A display with the person's external id.
#[derive(Debug)]
pub struct NamedShowing {
    pub showing: Showing,
    pub external_id: Option<String>,
}

/// A page of displays of a campaign's message, newest first, and the total.
///
/// # Errors
/// Not found; or if a store fails.
pub async fn impressions(
    app: &Services,
    workspace: WorkspaceId,
    id: CampaignId,
    filter: &ShowingFilter,
) -> Result<(Vec<NamedShowing>, u64)> {
    campaigns::ops::find(app, workspace, id).await?;
    let asked = InAppCampaign { workspace: workspace.uuid(), campaign: id.uuid() };
    let (page, total) = showings(app.analytics(), &asked, filter).await?;
    let ids: Vec<UserId> = page.iter().filter_map(|showing| showing.user.parse().ok()).collect();
    let contacts = store::people::contact_info(app.db(), workspace, &ids).await?;
    let contacts: HashMap<String, Option<String>> =
        contacts.into_iter().map(|(id, info)| (id.to_string(), info.external_id)).collect();
    let named = page.into_iter().map(|showing| {
        let external_id = contacts.get(&showing.user).cloned().flatten();
        NamedShowing { showing, external_id }
    });
    Ok((named.collect(), total))
}

//! Campaigns that learn which of their variants earn rewards: launching, pausing, and what is known.

use std::collections::HashMap;

use kernel::{CampaignId, Error, Result, Timestamp, WorkspaceId};
use web::Services;

use super::{Step, Who, change, find, lifecycle::refuse_unfit};
use crate::{
    CampaignState,
    model::{
        Action, Call, Campaign, Change,
        learning::{ARMS_MIN, Learning, Plan},
    },
    store,
};

/// Launches a campaign that learns.
///
/// # Errors
/// Not found; a bad request where there is nothing to choose from or what it says cannot be sent; a conflict
/// where it cannot be sent from where it stands.
pub async fn launch_rl(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    plan: Plan,
) -> Result<Campaign> {
    change(app, who, id, |campaign, now| launched(campaign, plan, now).map(Some)).await
}

fn launched(campaign: &Campaign, plan: Plan, now: Timestamp) -> Result<Step> {
    let mut step = Step::moved(campaign, Call::Send, Action::RlLaunched, now)?;
    let variants = &campaign.definition.variants;
    let learning = Learning::begin(plan, variants, now).ok_or_else(|| {
        let found = variants.iter().filter(|variant| !variant.is_control()).count();
        Error::invalid(
            "variants",
            format!(
                "must be at least {ARMS_MIN} besides the control group to learn from, found {found}"
            ),
        )
    })?;
    if !learning.keeps_enough() {
        let problem =
            format!("must be at most 100 for all {} variants together", learning.arms.len());
        return Err(Error::invalid("minExplorationPercent", problem));
    }
    refuse_unfit(&campaign.definition, now)?;
    step.changes.push(Change::of("/rl/objective", None::<String>, learning.objective.as_str()));
    step.campaign.state.rl = Some(serde_json::to_value(&learning).map_err(anyhow::Error::from)?);
    Ok(step)
}

/// Halts a campaign that learns; what was learnt is kept.
///
/// # Errors
/// Not found; a bad request where it does not learn; a conflict where it is neither active nor scheduled.
pub async fn pause_rl(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    moved(app, who, id, (Call::Pause, Action::Paused)).await
}

/// Goes on with a campaign that learns.
///
/// # Errors
/// Not found; a bad request where it does not learn; a conflict where it is not paused.
pub async fn resume_rl(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    moved(app, who, id, (Call::Resume, Action::Resumed)).await
}

async fn moved(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    by: (Call, Action),
) -> Result<Campaign> {
    change(app, who, id, |campaign, now| {
        learning_of(campaign)?;
        Step::moved(campaign, by.0, by.1, now).map(Some)
    })
    .await
}

fn learning_of(campaign: &Campaign) -> Result<Learning> {
    Learning::of(campaign)
        .ok_or_else(|| Error::bad_request("The campaign does not learn: launch it with launch-rl"))
}

/// A campaign that learns, and where its learning stands.
///
/// # Errors
/// Not found; a bad request where it does not learn.
pub async fn learning(
    app: &Services,
    workspace: WorkspaceId,
    id: CampaignId,
) -> Result<(Campaign, Learning)> {
    let campaign = find(app, workspace, id).await?;
    let learning = learning_of(&campaign)?;
    Ok((campaign, learning))
}

/// How many messages with a known outcome there are of each of these variants, in all campaigns of the
/// workspace that learn. Ids that none of them has are absent.
///
/// # Errors
/// When the store fails.
pub async fn observations(
    app: &Services,
    workspace: WorkspaceId,
    variants: &[String],
) -> Result<HashMap<String, u64>> {
    store::observations(app.db(), workspace, variants).await
}

/// Active campaigns that learn, of every workspace.
///
/// # Errors
/// When the store fails.
pub async fn learners(app: &Services) -> Result<Vec<(WorkspaceId, Campaign)>> {
    store::active_learners(app.db()).await
}

/// Keeps what a campaign has learnt; answers whether it still was what it was learnt of.
///
/// # Errors
/// When the store fails.
pub async fn note_learning(
    app: &Services,
    workspace: WorkspaceId,
    campaign: &Campaign,
    learning: &Learning,
) -> Result<bool> {
    let learning = serde_json::to_value(learning).map_err(anyhow::Error::from)?;
    store::note_learning(app.db(), workspace, campaign, &learning).await
}

//! Campaigns that learn which variants earn rewards: launch, pause, and observations.

use std::{collections::HashMap, time::Duration};

use kernel::{CampaignId, Error, Result, Timestamp, WorkspaceId, time::HOUR};
use statistics::delay::DelayDistribution;
use web::Services;

use super::{Step, Who, change, find, lifecycle::refuse_unsendable};
use crate::{
    CampaignState,
    model::{
        Action, Call, Campaign, Change, Precondition,
        learning::{self, ARMS_MIN, Learning, Objective, Plan, WAVE_GAP_MIN},
    },
    store,
};

/// Launches a learning campaign, where it is still what the caller expects.
///
/// # Errors
/// Not found; a bad request if there are too few variants or the content cannot be sent; a conflict in a
/// status that cannot be launched, and where the campaign was changed.
pub async fn launch_rl(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    plan: Plan,
    precondition: &Precondition,
) -> Result<Campaign> {
    change(app, who, id, |campaign, now| {
        precondition.check(campaign)?;
        launched(campaign, plan, now).map(Some)
    })
    .await
}

fn launched(campaign: &Campaign, plan: Plan, now: Timestamp) -> Result<Step> {
    let mut step = Step::transition(campaign, Call::Send, Action::RlLaunched, now)?;
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
    refuse_unsendable(&campaign.definition, now)?;
    step.changes.push(Change::of("/rl/objective", None::<String>, learning.objective.as_str()));
    step.campaign.state.rl = Some(serde_json::to_value(&learning).map_err(anyhow::Error::from)?);
    Ok(step)
}

/// Pauses a learning campaign; what it learnt is kept.
///
/// # Errors
/// Not found; a bad request if it does not learn; a conflict if it is neither active nor scheduled.
pub async fn pause_rl(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    transition(app, who, id, Call::Pause, Action::Paused).await
}

/// Resumes a learning campaign.
///
/// # Errors
/// Not found; a bad request if it does not learn; a conflict if it is not paused.
pub async fn resume_rl(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Campaign> {
    transition(app, who, id, Call::Resume, Action::Resumed).await
}

async fn transition(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    call: Call,
    action: Action,
) -> Result<Campaign> {
    change(app, who, id, |campaign, now| {
        learning_of(campaign)?;
        Step::transition(campaign, call, action, now).map(Some)
    })
    .await
}

fn learning_of(campaign: &Campaign) -> Result<Learning> {
    Learning::of(campaign)
        .ok_or_else(|| Error::bad_request("The campaign does not learn: launch it with launch-rl"))
}

/// A learning campaign and its learning state.
///
/// # Errors
/// Not found; a bad request if it does not learn.
pub async fn learning(
    app: &Services,
    workspace: WorkspaceId,
    id: CampaignId,
) -> Result<(Campaign, Learning)> {
    let campaign = find(app, workspace, id).await?;
    let learning = learning_of(&campaign)?;
    Ok((campaign, learning))
}

/// Messages with a known outcome for each of these variants, in all learning campaigns of the workspace.
/// Unknown ids are absent.
///
/// # Errors
/// If the store fails.
pub async fn observations(
    app: &Services,
    workspace: WorkspaceId,
    variants: &[String],
) -> Result<HashMap<String, u64>> {
    store::observations(app.db(), workspace, variants).await
}

/// Active learning campaigns of every workspace.
///
/// # Errors
/// If the store fails.
pub async fn learners(app: &Services) -> Result<Vec<(WorkspaceId, Campaign)>> {
    store::active_learners(app.db()).await
}

/// How long rewards took in the workspace's other campaigns with this objective and the same channel. None if they had
/// too few.
///
/// # Errors
/// If the store fails.
pub async fn usual_delays(
    app: &Services,
    workspace: WorkspaceId,
    campaign: &Campaign,
    objective: Objective,
) -> Result<Option<DelayDistribution>> {
    let learnt = store::delays(app.db(), workspace, campaign, objective).await?;
    Ok(learning::usual_delays(&learnt))
}

/// Time between two waves of a learning campaign that is sent once.
///
/// # Errors
/// If the store fails.
pub async fn wave_gap(
    app: &Services,
    workspace: WorkspaceId,
    campaign: &Campaign,
) -> Result<Duration> {
    let Some(learning) = Learning::of(campaign) else { return Ok(WAVE_GAP_MIN) };
    let usual = usual_delays(app, workspace, campaign, learning.objective).await?;
    Ok(learning::wave_gap(usual.as_ref(), HOUR.saturating_mul(learning.reward_window_hours)))
}

/// Stores what a campaign learnt; false if it changed meanwhile.
///
/// # Errors
/// If the store fails.
pub async fn store_learning(
    app: &Services,
    workspace: WorkspaceId,
    campaign: &Campaign,
    learning: &Learning,
) -> Result<bool> {
    let learning = serde_json::to_value(learning).map_err(anyhow::Error::from)?;
    store::store_learning(app.db(), workspace, campaign, &learning).await
}

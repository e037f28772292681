//! A/B tests of a campaign's variants: start, conclusion, and repetition.

use kernel::{CampaignId, Error, Result, Timestamp, WorkspaceId};

use super::{Step, Who, change, recurring::refuse_others};
use crate::{
    CampaignState,
    model::{
        Action, Campaign, Change, Status,
        trial::{Phase, Trial},
    },
    store,
};

/// How a test concluded automatically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// This variant won significantly.
    Won(String),
    /// None won; this one did best and is sent to all.
    SendBest(String),
    /// None won, and no further messages are sent.
    Stop,
}

/// Starts a new A/B test; the previous winner stays for information.
///
/// # Errors
/// Not found; a bad request if the campaign is not recurring or has no A/B test; a conflict if it has ended.
pub async fn retest_ab(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Trial> {
    let campaign = change(app, who, id, |campaign, _| retested(campaign).map(Some)).await?;
    Trial::of(&campaign).ok_or_else(no_test)
}

fn retested(campaign: &Campaign) -> Result<Step> {
    refuse_others(campaign)?;
    let before = Trial::of(campaign).ok_or_else(no_test)?;
    let status = campaign.state.status;
    if matches!(status, Status::Completed | Status::Cancelled | Status::Archived | Status::Failed) {
        return Err(Error::Conflict(format!(
            "The campaign is {}: only one that goes on can try its variants again",
            status.as_str()
        )));
    }
    let after = before.next(campaign.state.occurrence);
    let changes = vec![
        Change::of("/ab/round", before.round, after.round),
        Change::of("/ab/winnerVariantId", before.winner_variant_id.clone(), None::<String>),
    ];
    let mut campaign = campaign.clone();
    campaign.state.ab = Some(serde_json::to_value(&after).map_err(anyhow::Error::from)?);
    Ok(Step { campaign, action: Action::AbRetested, changes, call: None, version: None })
}

/// Selects the winner manually; it is sent to all who wait for it.
///
/// # Errors
/// Not found; a bad request if the campaign has no A/B test or this variant cannot win; a conflict if it has
/// a winner or has ended.
pub async fn select_winner(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    variant: &str,
) -> Result<Campaign> {
    change(app, who, id, |campaign, _| selected(campaign, variant).map(Some)).await
}

fn selected(campaign: &Campaign, variant: &str) -> Result<Step> {
    let trial = Trial::of(campaign).ok_or_else(no_test)?;
    let variants = &campaign.definition.variants;
    if !variants.iter().any(|it| it.id == variant && !it.is_control()) {
        return Err(Error::invalid(
            "variantId",
            "must be the id of a variant other than the control group",
        ));
    }
    let status = campaign.state.status;
    if !matches!(status, Status::Active | Status::Paused) {
        return Err(Error::Conflict(format!(
            "The campaign is {}: a winner can be selected while variants are tried",
            status.as_str()
        )));
    }
    if let Some(winner) = &trial.winner_variant_id {
        return Err(Error::Conflict(format!("The trial has a winner: {winner}")));
    }
    concluded(campaign, trial, &Ending::Won(variant.to_owned()))
}

/// Concludes a test that is still running.
///
/// # Errors
/// If the store fails.
pub async fn conclude(
    app: &CampaignState,
    workspace: WorkspaceId,
    id: CampaignId,
    round: u32,
    ending: &Ending,
) -> Result<Campaign> {
    change(app, &Who::system(workspace), id, |campaign, _| {
        let running = Trial::of(campaign)
            .filter(|trial| trial.round == round && trial.phase == Phase::Testing);
        running.map(|trial| concluded(campaign, trial, ending)).transpose()
    })
    .await
}

fn concluded(campaign: &Campaign, mut trial: Trial, ending: &Ending) -> Result<Step> {
    let before = trial.phase;
    (trial.phase, trial.winner_variant_id) = match ending {
        Ending::Won(variant) => (Phase::WinnerSent, Some(variant.clone())),
        Ending::SendBest(variant) => (Phase::Inconclusive, Some(variant.clone())),
        Ending::Stop => (Phase::Inconclusive, None),
    };
    let changes = vec![
        Change::of("/ab/phase", before.as_str(), trial.phase.as_str()),
        Change::of("/ab/winnerVariantId", None::<String>, trial.winner_variant_id.clone()),
    ];
    let mut campaign = campaign.clone();
    campaign.state.ab = Some(serde_json::to_value(&trial).map_err(anyhow::Error::from)?);
    Ok(Step { campaign, action: Action::AbConcluded, changes, call: None, version: None })
}

/// Active campaigns with an A/B test, of every workspace.
///
/// # Errors
/// If the store fails.
pub async fn trials(app: &CampaignState) -> Result<Vec<(WorkspaceId, Campaign)>> {
    store::active_with_trial(app.db()).await
}

/// Stores when the first messages of a test were sent. If the campaign changed meanwhile, the next run stores
/// it.
///
/// # Errors
/// If the store fails.
pub async fn store_beginning(
    app: &CampaignState,
    workspace: WorkspaceId,
    campaign: &Campaign,
    began_at: Timestamp,
) -> Result<()> {
    let Some(mut trial) = Trial::of(campaign) else { return Ok(()) };
    trial.began_at = Some(began_at);
    let trial = serde_json::to_value(&trial).map_err(anyhow::Error::from)?;
    store::store_trial(app.db(), workspace, campaign, &trial).await
}

fn no_test() -> Error {
    Error::bad_request("The campaign tries no variants: abTestConfig is absent or not enabled")
}

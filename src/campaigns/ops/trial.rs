//! The trial of a campaign's variants: when it begins, how it ends, and the next one.

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

/// How a trial ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// This variant is surely the best.
    Won(String),
    /// None is; this one did best and goes to all.
    SendBest(String),
    /// None is, and nobody else gets anything.
    Stop,
}

/// Begins the trial of variants anew; what won before is only told.
///
/// # Errors
/// Not found; a bad request where the campaign is not recurring or tries no variants; a conflict where it is
/// over.
pub async fn retest_ab(app: &CampaignState, who: &Who, id: CampaignId) -> Result<Trial> {
    let campaign = change(app, who, id, |campaign, _| retested(campaign).map(Some)).await?;
    Trial::of(&campaign).ok_or_else(untried)
}

fn retested(campaign: &Campaign) -> Result<Step> {
    refuse_others(campaign)?;
    let before = Trial::of(campaign).ok_or_else(untried)?;
    let status = campaign.state.status;
    if matches!(status, Status::Completed | Status::Cancelled | Status::Archived | Status::Failed) {
        return Err(Error::Conflict(format!(
            "The campaign is {}: only one that goes on can try its variants again",
            status.as_str()
        )));
    }
    let after = before.again(campaign.state.occurrence);
    let changes = vec![
        Change::of("/ab/round", before.round, after.round),
        Change::of("/ab/winnerVariantId", before.winner_variant_id.clone(), None::<String>),
    ];
    let mut campaign = campaign.clone();
    campaign.state.ab = Some(serde_json::to_value(&after).map_err(anyhow::Error::from)?);
    Ok(Step { campaign, action: Action::AbRetested, changes, call: None, version: None })
}

/// Names the winner by hand; it goes to all who wait for it.
///
/// # Errors
/// Not found; a bad request where the campaign tries no variants or this is none that could win; a conflict
/// where it has a winner or is over.
pub async fn select_winner(
    app: &CampaignState,
    who: &Who,
    id: CampaignId,
    variant: &str,
) -> Result<Campaign> {
    change(app, who, id, |campaign, _| selected(campaign, variant).map(Some)).await
}

fn selected(campaign: &Campaign, variant: &str) -> Result<Step> {
    let trial = Trial::of(campaign).ok_or_else(untried)?;
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

/// Ends a trial that is still going on, as it turned out.
///
/// # Errors
/// When the store fails.
pub async fn conclude(
    app: &CampaignState,
    workspace: WorkspaceId,
    id: CampaignId,
    (round, ending): (u32, &Ending),
) -> Result<Campaign> {
    change(app, &Who::system(workspace), id, |campaign, _| {
        let going_on = Trial::of(campaign)
            .filter(|trial| trial.round == round && trial.phase == Phase::Testing);
        going_on.map(|trial| concluded(campaign, trial, ending)).transpose()
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

/// Active campaigns whose variants are being tried, or were, of every workspace.
///
/// # Errors
/// When the store fails.
pub async fn trials(app: &CampaignState) -> Result<Vec<(WorkspaceId, Campaign)>> {
    store::active_with_trial(app.db()).await
}

/// Notes when the first messages of a trial left. Nothing where the campaign changed meanwhile: it is noted
/// at the next look.
///
/// # Errors
/// When the store fails.
pub async fn note_beginning(
    app: &CampaignState,
    workspace: WorkspaceId,
    campaign: &Campaign,
    began_at: Timestamp,
) -> Result<()> {
    let Some(mut trial) = Trial::of(campaign) else { return Ok(()) };
    trial.began_at = Some(began_at);
    let trial = serde_json::to_value(&trial).map_err(anyhow::Error::from)?;
    store::note_trial(app.db(), workspace, campaign, &trial).await
}

fn untried() -> Error {
    Error::bad_request("The campaign tries no variants: abTestConfig is absent or not enabled")
}

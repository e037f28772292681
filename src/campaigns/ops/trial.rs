//! A/B tests of a campaign's variants: start, conclusion, and repetition.

use std::collections::BTreeMap;

use kernel::{
    CampaignId, Error, Result, Timestamp, WorkspaceId,
    time::{DAY, HOUR},
};

use super::{Step, Who, change, recurring::refuse_others};
use crate::{
    CampaignState,
    model::{
        Action, Campaign, Change, Status,
        settings::ab_test::TEST_DURATION_HOURS_MAX,
        trial::{Decision, Phase, Trial, TrialLook, TrialVerdict},
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
    change(app, who, id, |campaign, now| selected(campaign, variant, now).map(Some)).await
}

fn selected(campaign: &Campaign, variant: &str, now: Timestamp) -> Result<Step> {
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
    let verdict = TrialVerdict { at: now, decision: Decision::Selected, p_values: BTreeMap::new() };
    concluded(campaign, trial, &Ending::Won(variant.to_owned()), verdict)
}

/// The end of a test whose time is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusion {
    /// The number of the test.
    pub round: u32,
    pub ending: Ending,
    /// The look at its end, if variants can be compared.
    pub look: Option<TrialLook>,
    /// The p-value of the best variant against each other one, by the id of the other, adjusted for their number.
    pub p_values: BTreeMap<String, f64>,
}

/// Concludes a test that is still running.
///
/// # Errors
/// If the store fails.
pub async fn conclude(
    app: &CampaignState,
    workspace: WorkspaceId,
    id: CampaignId,
    conclusion: &Conclusion,
) -> Result<Campaign> {
    change(app, &Who::system(workspace), id, |campaign, now| {
        let running = Trial::of(campaign)
            .filter(|trial| trial.round == conclusion.round && trial.phase == Phase::Testing);
        let decision = match conclusion.ending {
            Ending::Won(_) => Decision::Won,
            Ending::SendBest(_) => Decision::BestSent,
            Ending::Stop => Decision::Stopped,
        };
        let verdict = TrialVerdict { at: now, decision, p_values: conclusion.p_values.clone() };
        let concluded = |mut trial: Trial| {
            trial.looks.extend(conclusion.look.clone());
            concluded(campaign, trial, &conclusion.ending, verdict)
        };
        running.map(concluded).transpose()
    })
    .await
}

fn concluded(
    campaign: &Campaign,
    mut trial: Trial,
    ending: &Ending,
    verdict: TrialVerdict,
) -> Result<Step> {
    let before = trial.phase;
    trial.verdict = Some(verdict);
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

/// Campaigns of every workspace with an A/B test that are active, or were completed before their test ended.
///
/// # Errors
/// If the store fails.
pub async fn trials(app: &CampaignState) -> Result<Vec<(WorkspaceId, Campaign)>> {
    let time_max = HOUR * TEST_DURATION_HOURS_MAX + DAY;
    store::with_trial(app.db(), app.clock().now().before(time_max)).await
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
    store_progress(app, workspace, campaign, |trial| trial.began_at = Some(began_at)).await
}

/// Stores a look at a test. If the campaign changed meanwhile, the next run takes another.
///
/// # Errors
/// If the store fails.
pub async fn store_look(
    app: &CampaignState,
    workspace: WorkspaceId,
    campaign: &Campaign,
    look: TrialLook,
) -> Result<()> {
    store_progress(app, workspace, campaign, |trial| trial.looks.push(look)).await
}

async fn store_progress(
    app: &CampaignState,
    workspace: WorkspaceId,
    campaign: &Campaign,
    change: impl FnOnce(&mut Trial),
) -> Result<()> {
    let Some(mut trial) = Trial::of(campaign) else { return Ok(()) };
    change(&mut trial);
    let trial = serde_json::to_value(&trial).map_err(anyhow::Error::from)?;
    store::store_trial(app.db(), workspace, campaign, &trial).await
}

fn no_test() -> Error {
    Error::bad_request("The campaign tries no variants: abTestConfig is absent or not enabled")
}

//! Ends trials of variants whose time is over, and takes in what campaigns learn.

use campaigns::{
    model::{
        Campaign, SendType,
        learning::{Learning, Observed},
        settings::ab_test::{AbTestConfig, IfInconclusive, WinnerSelection},
        trial::{Phase, Trial},
    },
    ops::Ending,
};
use kernel::{Result, Timestamp, WorkspaceId};
use stats::ops::{Verdict, rewards, verdict};

use crate::{
    DeliveryState,
    model::plan::is_behind,
    store::{messages, scope::DuePage},
};

/// Milliseconds of an hour.
const HOUR_MS: i64 = 3_600_000;
/// Messages let go in one statement.
const PAGE: i64 = 5_000;

/// Looks at every trial: ends those whose time is over, and lets go of who waited for those that ended. One
/// that cannot be judged does not keep the others waiting.
///
/// # Errors
/// When the store of campaigns is away.
pub(crate) async fn end_trials(app: &DeliveryState) -> Result<()> {
    for (workspace, campaign) in campaigns::ops::trials(app).await? {
        let looked = match Trial::of(&campaign).map(|trial| trial.phase) {
            Some(Phase::Testing) => end_trial(app, workspace, &campaign).await,
            Some(Phase::WinnerSent | Phase::Inconclusive) => {
                release(app, workspace, &campaign).await
            }
            Some(Phase::None) | None => Ok(()),
        };
        if let Err(error) = looked {
            tracing::warn!(campaign = %campaign.id, %error, "a trial cannot be judged yet");
        }
    }
    Ok(())
}

async fn end_trial(app: &DeliveryState, workspace: WorkspaceId, campaign: &Campaign) -> Result<()> {
    let (Some(trial), Some(config)) = (Trial::of(campaign), &campaign.definition.ab_test_config)
    else {
        return Ok(());
    };
    let now = app.clock().now();
    let is_over = |began: Timestamp| {
        let ends = began.millis().saturating_add(i64::from(config.test_duration_hours()) * HOUR_MS);
        ends <= now.millis()
    };
    if trial.began_at.is_some_and(|began| !is_over(began)) {
        return Ok(());
    }
    if trial.began_at.is_some() && config.winner_selection() == WinnerSelection::Manual {
        return Ok(());
    }
    let verdict = verdict(app, workspace, campaign).await?;
    let Some(began) = trial.began_at.or(verdict.began_at) else { return Ok(()) };
    if trial.began_at.is_none() {
        return campaigns::ops::store_beginning(app, workspace, campaign, began).await;
    }
    let ending = ending(config, &verdict);
    campaigns::ops::conclude(app, workspace, campaign.id, trial.round, &ending).await?;
    app.due_signal().notify();
    Ok(())
}

/// Lets go of those who wait for the end of a trial that a person ended before its time; who has an hour of
/// their own waits for that.
async fn release(app: &DeliveryState, workspace: WorkspaceId, campaign: &Campaign) -> Result<()> {
    if campaign.definition.send_type == SendType::Intelligent || Learning::of(campaign).is_some() {
        return Ok(());
    }
    let now = app.clock().now();
    let page = DuePage { now, limit: PAGE };
    while messages::bring_forward(app.db(), workspace, campaign.id, page).await? > 0 {
        app.due_signal().notify();
    }
    Ok(())
}

/// How a trial ends whose time is over.
fn ending(config: &AbTestConfig, verdict: &Verdict) -> Ending {
    if let Some(winner) = &verdict.winner {
        return Ending::Won(winner.clone());
    }
    let first = || verdict.variants.first().map(|tried| tried.variant_id.clone());
    match (config.if_inconclusive(), verdict.best.clone().or_else(first)) {
        (IfInconclusive::SendBest, Some(best)) => Ending::SendBest(best),
        _ => Ending::Stop,
    }
}

/// Has every campaign that learns take in what its messages earned, once an epoch.
///
/// # Errors
/// When the store of campaigns is away.
pub(crate) async fn learn(app: &DeliveryState) -> Result<()> {
    for (workspace, campaign) in campaigns::ops::learners(app).await? {
        if let Err(error) = learn_of(app, workspace, &campaign).await {
            tracing::warn!(campaign = %campaign.id, %error, "a campaign could not learn this time");
        }
    }
    Ok(())
}

async fn learn_of(app: &DeliveryState, workspace: WorkspaceId, campaign: &Campaign) -> Result<()> {
    let Some(mut learning) = Learning::of(campaign) else { return Ok(()) };
    let now = app.clock().now();
    if !is_behind(&learning, now) {
        return Ok(());
    }
    let earned = rewards(app, workspace, campaign, &learning).await?;
    let observed: Vec<Observed> =
        earned.iter().map(|arm| Observed { sends: arm.sends, rewards: arm.rewards }).collect();
    learning.learn(&observed, campaign.id, now);
    // Where the campaign changed meanwhile, the next look takes it in.
    campaigns::ops::store_learning(app, workspace, campaign, &learning).await.map(drop)
}

#[cfg(test)]
mod tests {
    use stats::ops::TrialVariant;

    use super::*;

    #[test]
    fn a_trial_ends_by_what_is_sure_and_else_as_was_wished() {
        let tried =
            |id: &str| TrialVariant { variant_id: id.to_owned(), recipients: 100, value: 0.1 };
        let of = |winner: Option<&str>, best: Option<&str>| Verdict {
            variants: vec![tried("a"), tried("b")],
            best: best.map(str::to_owned),
            winner: winner.map(str::to_owned),
            is_enough: true,
            began_at: None,
        };
        let stop =
            AbTestConfig { if_inconclusive: Some(IfInconclusive::Stop), ..AbTestConfig::default() };
        let best = AbTestConfig::default();
        for (config, verdict, expected) in [
            (&best, of(Some("b"), Some("b")), Ending::Won("b".into())),
            (&stop, of(Some("b"), Some("b")), Ending::Won("b".into())),
            (&best, of(None, Some("b")), Ending::SendBest("b".into())),
            (&best, of(None, None), Ending::SendBest("a".into())),
            (&stop, of(None, Some("b")), Ending::Stop),
        ] {
            assert_eq!(ending(config, &verdict), expected);
        }
    }
}

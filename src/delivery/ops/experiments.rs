//! Looks at A/B tests, ends those whose time is over, and updates learning campaigns.

use campaigns::{
    model::{
        Campaign, SendType,
        learning::Learning,
        settings::ab_test::{AbTestConfig, IfInconclusive, WinnerSelection},
        trial::{Phase, Trial},
    },
    ops::{Conclusion, Ending},
};
use kernel::{Result, WorkspaceId};
use stats::ops::{Verdict, rewards, verdict};

use crate::{
    DeliveryState,
    model::plan::is_behind,
    store::{messages, scope::DuePage},
};

/// Messages brought forward in one statement.
const PAGE: i64 = 5_000;

/// Looks at A/B tests, ends those whose time is over, and brings forward the messages that waited for ended ones. An error of one
/// test does not delay the others.
///
/// # Errors
/// When the store of campaigns is unavailable.
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
            tracing::warn!(campaign = %campaign.id, %error, "an A/B test cannot be evaluated yet");
        }
    }
    Ok(())
}

async fn end_trial(app: &DeliveryState, workspace: WorkspaceId, campaign: &Campaign) -> Result<()> {
    let (Some(trial), Some(config)) = (Trial::of(campaign), &campaign.definition.ab_test_config)
    else {
        return Ok(());
    };
    let share_of_time = trial.share_of_time(config, app.clock().now());
    let ends = share_of_time.is_some_and(|share| share >= 1.0)
        && config.winner_selection() == WinnerSelection::Automatic;
    if !ends && share_of_time.is_some_and(|share| !trial.is_look_due(share)) {
        return Ok(());
    }
    let verdict = verdict(app, workspace, campaign).await?;
    if !ends {
        // A completed campaign that sent nothing has its test begin when it was completed.
        let began_at = verdict.began_at.or(campaign.state.completed_at);
        return match (share_of_time, began_at, verdict.look) {
            (None, Some(began), _) => {
                campaigns::ops::store_beginning(app, workspace, campaign, began).await
            }
            (Some(_), _, Some(look)) => {
                campaigns::ops::store_look(app, workspace, campaign, look).await
            }
            _ => Ok(()),
        };
    }
    let conclusion = Conclusion {
        round: trial.round,
        ending: ending(config, &verdict),
        look: verdict.look,
        p_values: verdict.p_values,
    };
    campaigns::ops::conclude(app, workspace, campaign.id, &conclusion).await?;
    app.due_signal().notify();
    Ok(())
}

/// Brings forward the messages that wait for the end of a test that was ended early. Messages with an individual send
/// time keep it.
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

/// The end of a test whose time is over.
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

/// Updates every learning campaign with the rewards of its messages, once an epoch.
///
/// # Errors
/// When the store of campaigns is unavailable.
pub(crate) async fn learn(app: &DeliveryState) -> Result<()> {
    for (workspace, campaign) in campaigns::ops::learners(app).await? {
        if let Err(error) = learn_of(app, workspace, &campaign).await {
            tracing::warn!(campaign = %campaign.id, %error, "a learning campaign could not be updated");
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
    let observed = rewards(app, workspace, campaign, &learning).await?;
    let usual = campaigns::ops::usual_delays(app, workspace, campaign, learning.objective).await?;
    learning.learn(&observed, usual.as_ref(), campaign.id, now);
    // If the campaign changed meanwhile, the next pass updates it.
    campaigns::ops::store_learning(app, workspace, campaign, &learning).await.map(drop)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stats::ops::TrialVariant;

    use super::*;

    #[test]
    fn a_test_ends_by_its_winner_or_else_by_its_setting() {
        let tried =
            |id: &str| TrialVariant { variant_id: id.to_owned(), recipients: 100, value: 0.1 };
        let of = |winner: Option<&str>, best: Option<&str>| Verdict {
            variants: vec![tried("a"), tried("b")],
            best: best.map(str::to_owned),
            winner: winner.map(str::to_owned),
            is_enough: true,
            p_values: BTreeMap::new(),
            began_at: None,
            look: None,
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

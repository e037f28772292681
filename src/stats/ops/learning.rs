//! What trials of variants and campaigns that learn go by.

use analytics::messages::{self, Count, RewardFilter};
use campaigns::model::{
    Campaign,
    learning::{Learning, Objective},
    settings::ab_test::{AbTestConfig, WinnerMetric},
    trial::Trial,
};
use kernel::{Result, Timestamp, WorkspaceId};
use web::{Services, http::DateRange};

use super::{
    Asked,
    conversion_scan::{Questions, credits, reporting_currency},
    variants::measure,
};
use crate::model::{
    comparison::{best, winner},
    outcome::{Achieved, Credit, Goal, MessageGroup, sum},
};

/// Milliseconds of an hour.
const HOUR_MS: i64 = 3_600_000;

/// How a variant did in a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    pub variant_id: String,
    /// Messages of it that left.
    pub recipients: u64,
    /// How it did by the metric: a rate, or money a recipient.
    pub value: f64,
}

/// How a trial of variants stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Its variants, the control group left out.
    pub variants: Vec<Tried>,
    /// The one that did best so far.
    pub best: Option<String>,
    /// The one that surely did best: it beats each other with the confidence that was asked for, adjusted for
    /// how many they are, on samples as large as was asked for.
    pub winner: Option<String>,
    /// Whether as many of each left as was asked for.
    pub is_enough: bool,
    /// When the first message of the trial left, once one has.
    pub began_at: Option<Timestamp>,
}

/// Judges the variants of a campaign by the metric of its trial, over the messages that belong to it: those
/// of the occurrences since it began.
///
/// # Errors
/// When a store fails; a bad request where there are too many events to look at.
pub async fn verdict(
    app: &Services,
    workspace: WorkspaceId,
    campaign: &Campaign,
) -> Result<Verdict> {
    let config = campaign.definition.ab_test_config.clone().unwrap_or_default();
    let after_occurrence = Trial::of(campaign).map_or(0, |trial| trial.after_occurrence);
    let is_meant = |of: u32| i64::from(of) > i64::from(after_occurrence);
    let asked = Asked::new(workspace, campaign.clone(), DateRange::default());
    let mut counts = asked.counts(app).await?;
    counts.retain(|count| is_meant(count.occurrence));
    let mut spans = asked.spans(app).await?;
    spans.retain(|span| is_meant(span.occurrence));
    let currency = reporting_currency(app, workspace).await?;
    let mut credits = match config.winner_metric() {
        WinnerMetric::OpenRate | WinnerMetric::ClickRate => Vec::new(),
        WinnerMetric::ConversionRate | WinnerMetric::RevenuePerRecipient => {
            let questions = Questions { after_occurrence, ..Questions::default() };
            credits(app, &asked, currency.as_deref(), &questions).await?
        }
    };
    credits.retain(|credit| is_meant(credit.group.occurrence));
    let achieved = Achieved::of(&credits);
    let began_at = spans.iter().map(|span| Timestamp::from_millis(span.first_ms)).min();
    Ok(judge(&asked, &config, (&counts, began_at), (&achieved, currency.as_deref())))
}

fn judge(
    asked: &Asked,
    config: &AbTestConfig,
    (counts, began_at): (&[Count], Option<Timestamp>),
    (achieved, currency): (&Achieved, Option<&str>),
) -> Verdict {
    let (mut variants, mut measures) = (Vec::new(), Vec::new());
    for (at, variant) in asked.campaign.definition.variants.iter().enumerate() {
        if variant.is_control() {
            continue;
        }
        let place = u8::try_from(at + 1).unwrap_or(0);
        let count = sum(counts.iter().filter(|count| count.variant == place));
        let is_its = |of: &MessageGroup| of.variant == place && !of.is_control;
        let measure =
            measure(config.winner_metric(), (&count, count.sent), achieved, (currency, &is_its));
        variants.push(Tried {
            variant_id: variant.id.clone(),
            recipients: count.sent,
            value: measure.value(),
        });
        measures.push(measure);
    }
    let least = u64::from(config.min_sample_per_variant());
    let is_enough = variants.iter().all(|variant| variant.recipients >= least);
    let named = |place: usize| variants.get(place).map(|variant| variant.variant_id.clone());
    Verdict {
        best: best(&measures).and_then(named),
        winner: winner(&measures, config.confidence_level()).filter(|_| is_enough).and_then(named),
        is_enough,
        began_at,
        variants,
    }
}

/// What the messages of a variant earned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmReward {
    pub variant_id: String,
    /// Messages of which it is known: those whose window is over, and those rewarded before.
    pub sends: u64,
    /// Those of them that were rewarded.
    pub rewards: u64,
}

/// What each variant of a campaign that learns has earned so far, in the order of its arms. A reward counts as
/// soon as it is earned; that a message earns none, once its window is over.
///
/// # Errors
/// When a store fails.
pub async fn rewards(
    app: &Services,
    workspace: WorkspaceId,
    campaign: &Campaign,
    learning: &Learning,
) -> Result<Vec<ArmReward>> {
    let asked = Asked::new(workspace, campaign.clone(), DateRange::default());
    known_rewards(app, &asked, learning).await
}

/// What each arm has sent and earned so far, those messages included that may still earn something.
///
/// # Errors
/// When a store fails.
pub async fn sent_by_arm(
    app: &Services,
    asked: &Asked,
    learning: &Learning,
) -> Result<Vec<ArmReward>> {
    let (counts, known) = (asked.counts(app).await?, known_rewards(app, asked, learning).await?);
    let sent = |arm: &ArmReward| {
        let place = asked.variants().iter().position(|id| *id == arm.variant_id);
        let its =
            counts.iter().filter(|it| place.is_some_and(|at| usize::from(it.variant) == at + 1));
        sum(its).sent
    };
    let learnt = learning.arms.iter();
    let arms = known.into_iter().zip(learnt).map(|(arm, learnt)| ArmReward {
        // What was learnt of messages that reports have forgotten.
        sends: sent(&arm).max(learnt.sends),
        rewards: arm.rewards.max(learnt.rewards),
        ..arm
    });
    Ok(arms.collect())
}

async fn known_rewards(
    app: &Services,
    asked: &Asked,
    learning: &Learning,
) -> Result<Vec<ArmReward>> {
    let window_ms = i64::from(learning.reward_window_hours) * HOUR_MS;
    let settled_ms = app.clock().now().millis() - window_ms;
    let filter =
        RewardFilter { by_clicks: learning.objective != Objective::Open, window_ms, settled_ms };
    let counted = match learning.objective {
        Objective::Open | Objective::Click => {
            messages::rewards(app.analytics(), &asked.cohort(), &filter).await?
        }
        Objective::Conversion | Objective::Revenue => {
            // Those whose window is over, none of them rewarded yet.
            let none = RewardFilter { window_ms: -1, ..filter };
            let mut settled = messages::rewards(app.analytics(), &asked.cohort(), &none).await?;
            let is_reward = |goal: &Goal| match goal {
                Goal::Conversion(place) => {
                    learning.objective == Objective::Conversion && *place == 0
                }
                Goal::Order { .. } => learning.objective == Objective::Revenue,
            };
            let currency = reporting_currency(app, asked.workspace).await?;
            let earned = credits(app, asked, currency.as_deref(), &Questions::default()).await?;
            let mut rewarded: std::collections::HashMap<u128, &Credit> =
                std::collections::HashMap::new();
            for credit in &earned {
                if is_reward(&credit.goal) && credit.at_ms - credit.sent_ms <= window_ms {
                    rewarded.insert(credit.message, credit);
                }
            }
            for credit in rewarded.values().filter(|credit| !credit.group.is_control) {
                if let Some(arm) =
                    settled.iter_mut().find(|arm| arm.variant == credit.group.variant)
                {
                    arm.rewards += 1;
                    arm.sends += u64::from(credit.sent_ms > settled_ms);
                }
            }
            settled
        }
    };
    let reward = |variant_id: &String| {
        let place = asked.variants().iter().position(|id| id == variant_id).map(|at| at + 1);
        let found = counted.iter().find(|it| Some(usize::from(it.variant)) == place);
        ArmReward {
            variant_id: variant_id.clone(),
            sends: found.map_or(0, |it| it.sends),
            rewards: found.map_or(0, |it| it.rewards),
        }
    };
    Ok(learning.arms.iter().map(|arm| reward(&arm.variant_id)).collect())
}

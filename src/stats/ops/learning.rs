//! Results of A/B tests, and rewards of learning campaigns.

use analytics::messages::{self, Count, RewardFilter};
use campaigns::model::{
    Campaign,
    learning::{Learning, Objective},
    settings::ab_test::{AbTestConfig, WinnerMetric},
    trial::Trial,
};
use kernel::{
    Result, Timestamp, WorkspaceId,
    time::{HOUR, millis},
};
use web::{Services, http::DateRange};

use super::{
    ReportScope,
    conversion_scan::{CreditFilter, credits, reporting_currency},
    variants::{Results, measure},
};
use crate::model::{
    comparison::{best, winner},
    outcome::{Credit, Goal, MessageGroup, Outcomes, sum},
};

/// The result of a variant in an A/B test.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialVariant {
    pub variant_id: String,
    /// Messages sent with it.
    pub recipients: u64,
    /// Its metric: a rate, or revenue per recipient.
    pub value: f64,
}

/// The state of an A/B test.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Its variants without the control group.
    pub variants: Vec<TrialVariant>,
    /// The best so far.
    pub best: Option<String>,
    /// The significant winner: it beats each other variant with the required confidence, adjusted for their
    /// number, on samples of the required size.
    pub winner: Option<String>,
    /// Whether every variant has the required sample.
    pub is_enough: bool,
    /// When the first message of the test was sent, if one was.
    pub began_at: Option<Timestamp>,
}

/// The state of a campaign's A/B test by its metric, over the messages of occurrences since the test began.
///
/// # Errors
/// If a store fails; a bad request if there are too many events to scan.
pub async fn verdict(
    app: &Services,
    workspace: WorkspaceId,
    campaign: &Campaign,
) -> Result<Verdict> {
    let config = campaign.definition.ab_test_config.clone().unwrap_or_default();
    let after_occurrence = Trial::of(campaign).map_or(0, |trial| trial.after_occurrence);
    let is_included = |of: u32| i64::from(of) > i64::from(after_occurrence);
    let scope = ReportScope::new(workspace, campaign.clone(), DateRange::default());
    let mut counts = scope.counts(app).await?;
    counts.retain(|count| is_included(count.occurrence));
    let mut spans = scope.spans(app).await?;
    spans.retain(|span| is_included(span.occurrence));
    let currency = reporting_currency(app, workspace).await?;
    let mut credits = match config.winner_metric() {
        WinnerMetric::OpenRate | WinnerMetric::ClickRate => Vec::new(),
        WinnerMetric::ConversionRate | WinnerMetric::RevenuePerRecipient => {
            let filter = CreditFilter { after_occurrence, ..CreditFilter::default() };
            credits(app, &scope, currency.as_deref(), &filter).await?
        }
    };
    credits.retain(|credit| is_included(credit.group.occurrence));
    let outcomes = Outcomes::of(&credits);
    let began_at = spans.iter().map(|span| Timestamp::from_millis(span.first_ms)).min();
    let results = Results { outcomes: &outcomes, currency: currency.as_deref() };
    Ok(state_of(&scope, &config, &counts, began_at, &results))
}

fn state_of(
    scope: &ReportScope,
    config: &AbTestConfig,
    counts: &[Count],
    began_at: Option<Timestamp>,
    results: &Results<'_>,
) -> Verdict {
    let (mut variants, mut measures) = (Vec::new(), Vec::new());
    for (at, variant) in scope.campaign.definition.variants.iter().enumerate() {
        if variant.is_control() {
            continue;
        }
        let place = u8::try_from(at + 1).unwrap_or(0);
        let count = sum(counts.iter().filter(|count| count.variant == place));
        let is_its = |of: &MessageGroup| of.variant == place && !of.is_control;
        let measure = measure(config.winner_metric(), &count, count.sent, results, &is_its);
        variants.push(TrialVariant {
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

/// The rewards of a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmReward {
    pub variant_id: String,
    /// Messages with a known outcome: those whose window is over, and those with a reward.
    pub sends: u64,
    /// Those of them with a reward.
    pub rewards: u64,
}

/// The known rewards of each variant of a learning campaign, in the order of its arms. A reward counts at
/// once; a message without one counts when its window is over.
///
/// # Errors
/// If a store fails.
pub async fn rewards(
    app: &Services,
    workspace: WorkspaceId,
    campaign: &Campaign,
    learning: &Learning,
) -> Result<Vec<ArmReward>> {
    let scope = ReportScope::new(workspace, campaign.clone(), DateRange::default());
    known_rewards(app, &scope, learning).await
}

/// Sends and rewards of each arm so far, including messages whose window is still open.
///
/// # Errors
/// If a store fails.
pub async fn sent_by_arm(
    app: &Services,
    scope: &ReportScope,
    learning: &Learning,
) -> Result<Vec<ArmReward>> {
    let (counts, known) = (scope.counts(app).await?, known_rewards(app, scope, learning).await?);
    let sent = |arm: &ArmReward| {
        let place = scope.variants().iter().position(|id| *id == arm.variant_id);
        let its =
            counts.iter().filter(|it| place.is_some_and(|at| usize::from(it.variant) == at + 1));
        sum(its).sent
    };
    let learnt = learning.arms.iter();
    let arms = known.into_iter().zip(learnt).map(|(arm, learnt)| ArmReward {
        // Reports may have forgotten messages that were learnt from.
        sends: sent(&arm).max(learnt.sends),
        rewards: arm.rewards.max(learnt.rewards),
        ..arm
    });
    Ok(arms.collect())
}

async fn known_rewards(
    app: &Services,
    scope: &ReportScope,
    learning: &Learning,
) -> Result<Vec<ArmReward>> {
    let window_ms = millis(HOUR * learning.reward_window_hours);
    let settled_ms = app.clock().now().millis() - window_ms;
    let filter =
        RewardFilter { by_clicks: learning.objective != Objective::Open, window_ms, settled_ms };
    let counted = match learning.objective {
        Objective::Open | Objective::Click => {
            messages::rewards(app.analytics(), &scope.cohort(), &filter).await?
        }
        Objective::Conversion | Objective::Revenue => {
            // Messages whose window is over, none of them rewarded yet.
            let none = RewardFilter { window_ms: -1, ..filter };
            let mut settled = messages::rewards(app.analytics(), &scope.cohort(), &none).await?;
            let is_reward = |goal: &Goal| match goal {
                Goal::Conversion(place) => {
                    learning.objective == Objective::Conversion && *place == 0
                }
                Goal::Order { .. } => learning.objective == Objective::Revenue,
            };
            let currency = reporting_currency(app, scope.workspace).await?;
            let earned = credits(app, scope, currency.as_deref(), &CreditFilter::default()).await?;
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
        let place = scope.variants().iter().position(|id| id == variant_id).map(|at| at + 1);
        let found = counted.iter().find(|it| Some(usize::from(it.variant)) == place);
        ArmReward {
            variant_id: variant_id.clone(),
            sends: found.map_or(0, |it| it.sends),
            rewards: found.map_or(0, |it| it.rewards),
        }
    };
    Ok(learning.arms.iter().map(|arm| reward(&arm.variant_id)).collect())
}

//! The learning state of a campaign: rewards by variant, and the estimates from them.
use kernel::fields::describe::described;
use kernel::{
    CampaignId, Timestamp,
    fields::{Fields, FromFields},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use statistics::beta::{Beta, Draws, probabilities_to_be_best, value_remaining};
use utoipa::ToSchema;

use super::{Campaign, Status, settings::plain, variant::Variant};

/// Fewest variants to learn from.
pub const ARMS_MIN: usize = 2;
/// Longest reward window in hours: thirty days.
pub const REWARD_WINDOW_HOURS_MAX: i64 = 720;
/// Default reward window in hours.
pub const REWARD_WINDOW_HOURS_DEFAULT: u32 = 24;
/// Default minimum share of each variant, in percent.
pub const EXPLORATION_PERCENT_DEFAULT: f64 = 5.0;
/// Largest minimum share, in percent: two variants with half each.
pub const EXPLORATION_PERCENT_MAX: f64 = 50.0;
/// Entries of the timeline; the oldest are removed first.
pub const TIMELINE_MAX: usize = 500;
/// A variant with fewer messages whose outcome is known is still being explored.
pub const SENDS_MIN: u64 = 100;
/// Learning has converged when the value remaining, relative to the best variant's rate, is below this.
const CONVERGED_BELOW: f64 = 0.01;
/// Credibility of the interval of a rate.
const CREDIBILITY: f64 = 0.95;
/// The percentile of the value remaining that is reported.
const REMAINING_PERCENTILE: f64 = 0.95;
/// Random draws for that percentile.
const DRAWS: usize = 10_000;

/// The event that earns a reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// The message is opened.
    Open,
    /// A link in it is clicked.
    #[default]
    Click,
    /// The primary conversion happens.
    Conversion,
    Revenue,
}

impl Objective {
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("open", Self::Open),
        ("click", Self::Click),
        ("conversion", Self::Conversion),
        ("revenue", Self::Revenue),
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Click => "click",
            Self::Conversion => "conversion",
            Self::Revenue => "revenue",
        }
    }
}

/// The settings of learning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// The event that earns a reward.
    pub objective: Objective,
    /// Hours in which a message may earn its reward.
    pub reward_window_hours: u32,
    /// Minimum share of each variant, in percent.
    pub min_exploration_percent: f64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            objective: Objective::default(),
            reward_window_hours: REWARD_WINDOW_HOURS_DEFAULT,
            min_exploration_percent: EXPLORATION_PERCENT_DEFAULT,
        }
    }
}

described!(
    /// The settings of learning. All fields are optional.
    Plan as "LaunchRl"
);

impl FromFields for Plan {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let plan = Self::default();
        let objective = body
            .optional("objective")
            .about("The event that earns a reward; default `click`.")
            .as_type::<Objective>()
            .one_of(Objective::NAMED)
            .unwrap_or_default();
        let hours = body
            .optional("rewardWindowHours")
            .about("Hours in which a message may earn it; default 24.")
            .integer(1..=REWARD_WINDOW_HOURS_MAX);
        Self {
            objective,
            reward_window_hours: hours
                .and_then(|hours| u32::try_from(hours).ok())
                .unwrap_or(plan.reward_window_hours),
            min_exploration_percent: body
                .optional("minExplorationPercent")
                .about(
                    "Share of the messages that every variant keeps, in percent; default 5. Together at \
                     most 100.",
                )
                .number(0.0..=EXPLORATION_PERCENT_MAX)
                .unwrap_or(plan.min_exploration_percent),
        }
    }
}

/// The progress of learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Every variant is still being explored.
    Learning,
    /// Better variants get more messages.
    Optimizing,
    /// No relevant improvement remains.
    Converged,
    /// The campaign is paused; what was learnt is kept.
    Paused,
}

/// The observations of a variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Arm {
    pub variant_id: String,
    pub name: String,
    /// Messages with a known outcome.
    pub sends: u64,
    /// Those of them with a reward.
    pub rewards: u64,
}

impl Arm {
    /// The posterior of its reward rate, with the prior Beta(1, 1).
    pub fn rate(&self) -> Beta {
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let (sends, rewards) = (self.sends as f64, self.rewards as f64);
        Beta { alpha: 1.0 + rewards, beta: 1.0 + (sends - rewards).max(0.0) }
    }
}

/// Messages of a variant with a known outcome, and those of them with a reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    pub sends: u64,
    pub rewards: u64,
}

/// The shares of the variants from a time on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shares {
    pub at: Timestamp,
    /// The share of each variant by its id; they add up to 1.
    pub allocations: std::collections::BTreeMap<String, f64>,
}

/// The learning state of a campaign, as it is stored and as the API shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Learning {
    /// The progress, ignoring pauses.
    pub status: Stage,
    /// The event that earns a reward.
    pub objective: Objective,
    /// Hours in which a message may earn its reward.
    pub reward_window_hours: u32,
    /// Minimum share of each variant, in percent.
    #[serde(serialize_with = "plain_share")]
    pub min_exploration_percent: f64,
    pub started_at: Timestamp,
    /// When the estimates last changed.
    pub last_updated_at: Timestamp,
    /// Its variants without the control group.
    pub arms: Vec<Arm>,
    /// The shares over time, oldest first.
    pub timeline: Vec<Shares>,
}

/// The estimates of one variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Its rate is between these with a probability of 95 %.
    pub interval: (f64, f64),
    /// The probability that no other is better.
    pub probability_to_be_best: f64,
    /// Its share of the messages.
    pub allocation: f64,
}

impl Learning {
    /// The initial state: all variants get the same share. None if there are fewer than two variants.
    pub fn begin(plan: Plan, variants: &[Variant], now: Timestamp) -> Option<Self> {
        let arm = |variant: &Variant| Arm {
            variant_id: variant.id.clone(),
            name: variant.name.clone(),
            sends: 0,
            rewards: 0,
        };
        let arms: Vec<Arm> = variants.iter().filter(|it| !it.is_control()).map(arm).collect();
        if arms.len() < ARMS_MIN {
            return None;
        }
        let mut learning = Self {
            status: Stage::Learning,
            objective: plan.objective,
            reward_window_hours: plan.reward_window_hours,
            min_exploration_percent: plan.min_exploration_percent,
            started_at: now,
            last_updated_at: now,
            arms,
            timeline: Vec::new(),
        };
        let allocations = learning
            .arms
            .iter()
            .zip(learning.estimates())
            .map(|(arm, it)| (arm.variant_id.clone(), it.allocation));
        let first = Shares { at: now, allocations: allocations.collect() };
        learning.timeline.push(first);
        Some(learning)
    }

    /// Updates the observations of each variant, in the order of [`Self::arms`], and the shares that follow
    /// from them.
    pub fn learn(&mut self, observed: &[Observed], campaign: CampaignId, now: Timestamp) {
        for (arm, observed) in self.arms.iter_mut().zip(observed) {
            (arm.sends, arm.rewards) = (observed.sends, observed.rewards);
        }
        self.last_updated_at = now;
        let is_known = self.arms.iter().all(|arm| arm.sends >= SENDS_MIN);
        self.status = if !is_known {
            Stage::Learning
        } else if self.value_remaining(campaign) < CONVERGED_BELOW {
            Stage::Converged
        } else {
            Stage::Optimizing
        };
        let allocations = self
            .arms
            .iter()
            .zip(self.estimates())
            .map(|(arm, it)| (arm.variant_id.clone(), it.allocation));
        self.timeline.push(Shares { at: now, allocations: allocations.collect() });
        let old = self.timeline.len().saturating_sub(TIMELINE_MAX);
        self.timeline.drain(..old);
    }

    /// Whether the minimum shares of all variants fit into 100 percent.
    pub fn keeps_enough(&self) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "at most eight")]
        let arms = self.arms.len() as f64;
        self.min_exploration_percent * arms <= 100.0
    }

    /// The learning state of a campaign, if it learns.
    pub fn of(campaign: &Campaign) -> Option<Self> {
        campaign.state.rl.clone().and_then(|kept| serde_json::from_value(kept).ok())
    }

    /// The progress, including pauses.
    pub fn stage(&self, status: Status) -> Stage {
        if status == Status::Paused { Stage::Paused } else { self.status }
    }

    /// The estimates of each variant. By Thompson sampling its share of messages is the probability that it
    /// is the best (Russo et al., arXiv:1707.02038, §3), but at least the minimum share.
    pub fn estimates(&self) -> Vec<Estimate> {
        let rates: Vec<Beta> = self.arms.iter().map(Arm::rate).collect();
        let best = probabilities_to_be_best(&rates);
        let allocations = floored(&best, self.min_exploration_percent / 100.0);
        let tail = (1.0 - CREDIBILITY) / 2.0;
        let estimates = |((rate, best), allocation): ((Beta, f64), f64)| Estimate {
            interval: (rate.quantile(tail), rate.quantile(1.0 - tail)),
            probability_to_be_best: best,
            allocation,
        };
        rates.into_iter().zip(best).zip(allocations).map(estimates).collect()
    }

    /// How much better than the variant with the best estimate the best variant could be, at the 95th
    /// percentile, relative to its rate. Deterministic: equal observations have equal draws.
    pub fn value_remaining(&self, campaign: CampaignId) -> f64 {
        let rates: Vec<Beta> = self.arms.iter().map(Arm::rate).collect();
        let draws = Draws { count: DRAWS, seed: self.seed(campaign) };
        value_remaining(&rates, REMAINING_PERCENTILE, draws)
    }

    fn seed(&self, campaign: CampaignId) -> u64 {
        let epoch = self.last_updated_at.millis();
        let hash = Sha256::digest(format!("{campaign}:{epoch}"));
        hash.iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(*byte))
    }

    /// Additional rewards of the current shares over equal shares, relative to the latter, by current
    /// estimates.
    pub fn lift_vs_uniform(&self) -> f64 {
        let means: Vec<f64> = self.arms.iter().map(|arm| arm.rate().mean()).collect();
        let earned: f64 = means
            .iter()
            .zip(self.estimates())
            .map(|(mean, estimates)| mean * estimates.allocation)
            .sum();
        #[expect(clippy::cast_precision_loss, reason = "at most eight")]
        let uniform = means.iter().sum::<f64>() / means.len() as f64;
        earned / uniform - 1.0
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde wants")]
fn plain_share<S: serde::Serializer>(share: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    plain(&Some(*share), serializer)
}

/// Raises shares below `floor` to it, and reduces the others in proportion.
fn floored(shares: &[f64], floor: f64) -> Vec<f64> {
    let mut fixed = vec![false; shares.len()];
    loop {
        let raised = fixed.iter().filter(|is_fixed| **is_fixed).count();
        #[expect(clippy::cast_precision_loss, reason = "at most eight")]
        let left = 1.0 - floor * raised as f64;
        let free: f64 = shares.iter().zip(&fixed).filter(|(_, it)| !**it).map(|(s, _)| s).sum();
        let share = |at: usize| if fixed[at] { floor } else { shares[at] * left / free };
        let Some(below) = (0..shares.len()).find(|at| !fixed[*at] && share(*at) < floor) else {
            return (0..shares.len()).map(share).collect();
        };
        fixed[below] = true;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn variant(id: &str, is_control: bool) -> Variant {
        Variant {
            id: id.to_owned(),
            name: id.to_uppercase(),
            weight: 50.0,
            message: None,
            custom_content: None,
            is_control_group: Some(is_control),
        }
    }

    fn begun() -> Learning {
        let variants = [variant("a", false), variant("c", true), variant("b", false)];
        Learning::begin(Plan::default(), &variants, Timestamp::from_millis(0)).unwrap()
    }

    #[test]
    fn initially_all_variants_get_the_same_share() {
        let learning = begun();
        assert_eq!(learning.arms.len(), 2, "the control group is not to choose from");
        assert!(learning.keeps_enough());
        for estimates in learning.estimates() {
            assert!((estimates.probability_to_be_best - 0.5).abs() < 1e-9);
            assert!((estimates.allocation - 0.5).abs() < 1e-9);
            assert!(
                (estimates.interval.0 - 0.025).abs() < 1e-9
                    && (estimates.interval.1 - 0.975).abs() < 1e-9
            );
        }
        assert!(learning.lift_vs_uniform().abs() < 1e-9);
        assert_eq!(learning.timeline.len(), 1);
        let kept = serde_json::to_value(&learning).unwrap();
        assert_eq!(serde_json::from_value::<Learning>(kept).unwrap(), learning);
    }

    #[test]
    fn better_variants_get_more_and_the_others_their_minimum() {
        let mut learning = begun();
        (learning.arms[0].sends, learning.arms[0].rewards) = (1000, 100);
        (learning.arms[1].sends, learning.arms[1].rewards) = (1000, 200);
        let estimates = learning.estimates();
        assert!(estimates[1].probability_to_be_best > 0.999_9);
        assert!(
            (estimates[0].allocation - 0.05).abs() < 1e-9
                && (estimates[1].allocation - 0.95).abs() < 1e-9
        );
        // 0.95 × 0.2 + 0.05 × 0.1 is 30 % more than 0.15.
        assert!((learning.lift_vs_uniform() - 0.3).abs() < 0.01);
        assert!(learning.value_remaining(CampaignId::new(uuid::Uuid::nil())) < 0.001);
    }

    #[test]
    fn the_stage_follows_from_observations() {
        let of = |sends, rewards| Observed { sends, rewards };
        let mut learning = begun();
        let id = CampaignId::new(uuid::Uuid::nil());
        for (minute, observed, stage) in [
            (15, [of(1000, 100), of(99, 10)], Stage::Learning),
            (30, [of(1000, 100), of(1000, 110)], Stage::Optimizing),
            (45, [of(1000, 100), of(1000, 200)], Stage::Converged),
        ] {
            let now = Timestamp::from_millis(minute * 60_000);
            learning.learn(&observed, id, now);
            assert_eq!(learning.status, stage);
            assert_eq!(
                (learning.last_updated_at, learning.arms[1].rewards),
                (now, observed[1].rewards)
            );
        }
        assert_eq!(learning.timeline.len(), 4);
        assert!((learning.timeline[3].allocations["b"] - 0.95).abs() < 1e-9);
        for _ in 0..TIMELINE_MAX {
            learning.learn(&[of(0, 0), of(0, 0)], id, Timestamp::from_millis(0));
        }
        assert_eq!(learning.timeline.len(), TIMELINE_MAX);
    }

    #[test]
    fn learning_needs_two_variants_besides_the_control_group() {
        let variants = [variant("a", false), variant("c", true)];
        assert_eq!(Learning::begin(Plan::default(), &variants, Timestamp::from_millis(0)), None);
    }

    #[test]
    fn a_plan_has_its_bounds() {
        let read = |sent: serde_json::Value| {
            kernel::fields::read_object::<Plan>(sent.as_object().unwrap())
                .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(read(json!({})), Ok(Plan::default()));
        let full = read(
            json!({"objective": "revenue", "rewardWindowHours": 720, "minExplorationPercent": 50}),
        );
        assert_eq!(full.unwrap().objective, Objective::Revenue);
        for (sent, complaint) in [
            (
                json!({"objective": "fame"}),
                "objective must be one of: open, click, conversion, revenue",
            ),
            (json!({"rewardWindowHours": 0}), "rewardWindowHours must be between 1 and 720"),
            (json!({"rewardWindowHours": 721}), "rewardWindowHours must be between 1 and 720"),
            (
                json!({"minExplorationPercent": 50.1}),
                "minExplorationPercent must be between 0 and 50",
            ),
            (
                json!({"minExplorationPercent": -1}),
                "minExplorationPercent must be between 0 and 50",
            ),
        ] {
            assert_eq!(read(sent), Err(vec![complaint.to_owned()]));
        }
    }

    proptest! {
        #[test]
        fn shares_add_up_and_respect_the_minimum(raw in prop::collection::vec(0.0..1.0_f64, 2..=8), floor in 0.0..=0.1_f64) {
            let sum: f64 = raw.iter().sum();
            prop_assume!(sum > 0.0);
            let shares: Vec<f64> = raw.iter().map(|share| share / sum).collect();
            let found = floored(&shares, floor);
            prop_assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(found.iter().all(|share| *share >= floor - 1e-12));
        }
    }
}

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

use super::{Campaign, CampaignKind, Status, settings::plain, variant::Variant};

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
    /// An order follows; its amount does not count.
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
    /// The shares over time, oldest first; messages are drawn by the last.
    pub timeline: Vec<Shares>,
    /// Whether the campaign is sent once, so that nothing is explored after it has converged.
    #[serde(skip)]
    #[schema(ignore)]
    pub is_one_time: bool,
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
            is_one_time: false,
        };
        learning.divide(now);
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
        self.divide(now);
        let old = self.timeline.len().saturating_sub(TIMELINE_MAX);
        self.timeline.drain(..old);
    }

    /// Sets the shares of the variants from now on: `floor + (1 - variants * floor) * P(best)`, where `floor` is the
    /// minimum share (Russo et al., arXiv:1707.02038, section 3). Once it has converged the best has all the rest, and
    /// all of it if the campaign is sent once.
    fn divide(&mut self, now: Timestamp) {
        let rates: Vec<Beta> = self.arms.iter().map(Arm::rate).collect();
        let is_settled = self.status == Stage::Converged;
        let best =
            if is_settled { only_greatest(&rates) } else { probabilities_to_be_best(&rates) };
        let floor =
            if is_settled && self.is_one_time { 0.0 } else { self.min_exploration_percent / 100.0 };
        #[expect(clippy::cast_precision_loss, reason = "at most eight")]
        let free = (1.0 - floor * rates.len() as f64).max(0.0);
        let shares = best.iter().map(|best| floor + free * best);
        let allocations = self.arms.iter().map(|arm| arm.variant_id.clone()).zip(shares).collect();
        self.timeline.push(Shares { at: now, allocations });
    }

    /// The share of each variant, in the order of [`Self::arms`]: what messages are drawn by.
    pub fn shares(&self) -> Vec<f64> {
        let last = self.timeline.last();
        let share = |arm: &Arm| {
            last.and_then(|shares| shares.allocations.get(&arm.variant_id)).copied().unwrap_or(0.0)
        };
        self.arms.iter().map(share).collect()
    }

    /// Whether the minimum shares of all variants fit into 100 percent.
    pub fn keeps_enough(&self) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "at most eight")]
        let arms = self.arms.len() as f64;
        self.min_exploration_percent * arms <= 100.0
    }

    /// The learning state of a campaign, if it learns.
    pub fn of(campaign: &Campaign) -> Option<Self> {
        let learning: Self = serde_json::from_value(campaign.state.rl.clone()?).ok()?;
        let is_one_time = campaign.definition.kind() == CampaignKind::OneTime;
        Some(Self { is_one_time, ..learning })
    }

    /// The progress, including pauses.
    pub fn stage(&self, status: Status) -> Stage {
        if status == Status::Paused { Stage::Paused } else { self.status }
    }

    /// The estimates of each variant, and its current share.
    pub fn estimates(&self) -> Vec<Estimate> {
        let rates: Vec<Beta> = self.arms.iter().map(Arm::rate).collect();
        let best = probabilities_to_be_best(&rates);
        let allocations = self.shares();
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

/// 1 for the rate with the greatest mean, the first of equals; 0 for the others.
fn only_greatest(rates: &[Beta]) -> Vec<f64> {
    let greatest = rates.iter().map(|rate| rate.mean()).fold(0.0, f64::max);
    let first = rates.iter().position(|rate| rate.mean() >= greatest);
    (0..rates.len()).map(|at| if Some(at) == first { 1.0 } else { 0.0 }).collect()
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

    fn observed(sends: u64, rewards: u64) -> Observed {
        Observed { sends, rewards }
    }

    #[test]
    fn better_variants_get_more_and_the_others_their_minimum() {
        let id = CampaignId::new(uuid::Uuid::nil());
        let now = Timestamp::from_millis(0);
        for (is_one_time, rest) in [(false, 0.05), (true, 0.0)] {
            let mut learning = Learning { is_one_time, ..begun() };
            learning.learn(&[observed(1000, 100), observed(1000, 200)], id, now);
            assert_eq!(learning.status, Stage::Converged);
            let estimates = learning.estimates();
            assert!(estimates[1].probability_to_be_best > 0.999_9);
            assert!((estimates[0].allocation - rest).abs() < 1e-9);
            assert!((estimates[1].allocation - (1.0 - rest)).abs() < 1e-9);
            assert!(learning.value_remaining(id) < 0.001);
        }
        let mut learning = begun();
        learning.learn(&[observed(1000, 100), observed(1000, 200)], id, now);
        // 0.95 × 0.2 + 0.05 × 0.1 is 30 % more than 0.15.
        assert!((learning.lift_vs_uniform() - 0.3).abs() < 0.01);
    }

    #[test]
    fn shares_are_the_minimum_and_a_part_by_probability() {
        let id = CampaignId::new(uuid::Uuid::nil());
        let mut learning = Learning { min_exploration_percent: 10.0, ..begun() };
        learning.learn(&[observed(200, 20), observed(200, 26)], id, Timestamp::from_millis(0));
        assert_eq!(learning.status, Stage::Optimizing);
        for (estimate, share) in learning.estimates().iter().zip(learning.shares()) {
            let expected = 0.1 + 0.8 * estimate.probability_to_be_best;
            assert!((share - expected).abs() < 1e-12, "{share} {expected}");
        }
        assert!((learning.shares().iter().sum::<f64>() - 1.0).abs() < 1e-9);
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
        // Each integrates over the posteriors of all variants.
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn shares_add_up_and_respect_the_minimum(
            raw in prop::collection::vec((0_u64..2000, 0_u64..2000), 2..=8), percent in 0.0..=12.5_f64,
        ) {
            let variants: Vec<Variant> =
                (0..raw.len()).map(|at| variant(&format!("v{at}"), false)).collect();
            let plan = Plan { min_exploration_percent: percent, ..Plan::default() };
            let mut learning = Learning::begin(plan, &variants, Timestamp::from_millis(0)).unwrap();
            let seen: Vec<Observed> =
                raw.iter().map(|(sends, rewards)| observed(*sends, *rewards.min(sends))).collect();
            learning.learn(&seen, CampaignId::new(uuid::Uuid::nil()), Timestamp::from_millis(0));
            let shares = learning.shares();
            prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            prop_assert!(shares.iter().all(|share| *share >= percent / 100.0 - 1e-12));
        }
    }
}

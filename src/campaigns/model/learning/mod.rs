//! The learning state of a campaign: rewards by variant, and the estimates from them.

use std::{collections::BTreeMap, time::Duration};

use kernel::fields::describe::described;
use kernel::{
    CampaignId, Timestamp,
    fields::{Fields, FromFields},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use statistics::{
    beta::{Beta, Draws, probabilities_to_be_best, value_remaining},
    delay::{AgeGroup, DelayDistribution, INTERVALS, closed_delays, messages, rewards},
    proportion::real,
};
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
/// A variant with fewer messages that count as tried is still being explored.
pub const SENDS_MIN: u64 = 100;
/// Learning has converged only if so many of the messages of each variant count as tried.
const TRIED_SHARE_MIN: f64 = 0.8;
/// Learning has converged when hardly any value has remained in so many epochs in a row.
const SETTLED_EPOCHS: u32 = 3;
/// Shortest time between two waves of a one-time campaign.
pub const WAVE_GAP_MIN: Duration = Duration::from_mins(15);
/// Hardly any value remains below this, relative to the best variant's rate.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Arm {
    pub variant_id: String,
    pub name: String,
    /// Messages sent with it.
    pub sends: u64,
    /// Those of them with a reward so far.
    pub rewards: u64,
    /// Messages that count as tried: each by the share of rewards that come by its age. None in what older versions
    /// stored, which counted messages with a known outcome only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mature: Option<f64>,
}

impl Arm {
    /// Messages that count as tried.
    pub fn tried(&self) -> f64 {
        self.mature.unwrap_or(real(self.sends))
    }

    /// The posterior of its reward rate, with the prior Beta(1, 1): 1 + rewards, and 1 + the messages that count as
    /// tried without a reward.
    pub fn rate(&self) -> Beta {
        let rewards = real(self.rewards);
        Beta { alpha: 1.0 + rewards, beta: 1.0 + (self.tried() - rewards).max(0.0) }
    }

    /// Whether enough of its messages count as tried for learning to have converged.
    fn is_mature(&self) -> bool {
        self.tried() >= (TRIED_SHARE_MIN * real(self.sends)).max(real(SENDS_MIN))
    }
}

/// The shares of the variants from a time on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shares {
    pub at: Timestamp,
    /// The share of each variant by its id; they add up to 1.
    pub allocations: BTreeMap<String, f64>,
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
    /// Epochs in a row in which hardly any value remained.
    #[serde(default)]
    pub settled_epochs: u32,
    /// The rates count rewards up to this delay: messages are too young for longer ones. None if they count all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rates_within_seconds: Option<i64>,
    /// Rewards by interval of their delay, of messages whose window is over: what later campaigns begin with. Not in
    /// the API.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(ignore)]
    pub delays: BTreeMap<u8, u64>,
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
            mature: None,
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
            settled_epochs: 0,
            rates_within_seconds: None,
            delays: BTreeMap::new(),
            is_one_time: false,
        };
        learning.divide(now);
        Some(learning)
    }

    /// Updates the observations of each variant, in the order of [`Self::arms`], and the shares that follow from them.
    /// `usual` is how long rewards took in earlier campaigns.
    pub fn learn(
        &mut self,
        observed: &[Vec<AgeGroup>],
        usual: Option<&DelayDistribution>,
        campaign: CampaignId,
        now: Timestamp,
    ) {
        let all = observed.concat();
        let delays = delays(observed, &all, usual);
        for (at, (arm, own)) in self.arms.iter_mut().zip(observed).enumerate() {
            (arm.sends, arm.rewards) = (messages(own), rewards(own));
            let of_arm = delays.get(at).or(delays.first());
            arm.mature = Some(of_arm.map_or(real(arm.sends), |delays| delays.tried(own)));
        }
        let reach = delays.iter().filter_map(DelayDistribution::reach_ms).min();
        self.rates_within_seconds = reach
            .map(|reach_ms| reach_ms / 1000)
            .filter(|reach| *reach < i64::from(self.reward_window_hours) * 3600);
        let closed = (0_u8..).zip(closed_delays(&all));
        self.delays = closed.filter(|(_, rewards)| *rewards > 0).collect();
        self.last_updated_at = now;
        self.advance(campaign);
        self.divide(now);
        let old = self.timeline.len().saturating_sub(TIMELINE_MAX);
        self.timeline.drain(..old);
    }

    /// Sets the progress. One epoch with little value remaining may be chance, and messages that are still to be rewarded
    /// could change the order.
    fn advance(&mut self, campaign: CampaignId) {
        let is_settled = self.value_remaining(campaign) < CONVERGED_BELOW;
        self.settled_epochs = if is_settled { self.settled_epochs.saturating_add(1) } else { 0 };
        let is_known = self.arms.iter().all(|arm| arm.tried() >= real(SENDS_MIN));
        let is_mature = self.arms.iter().all(Arm::is_mature);
        self.status = match (is_known, is_mature && self.settled_epochs >= SETTLED_EPOCHS) {
            (_, true) => Stage::Converged,
            (true, false) => Stage::Optimizing,
            (false, false) => Stage::Learning,
        };
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

/// How long rewards take: one distribution for all variants, or one for each, where each has enough rewards and they
/// differ; the usual one where there are not enough rewards yet. Empty where nothing is known.
fn delays(
    observed: &[Vec<AgeGroup>],
    all: &[AgeGroup],
    usual: Option<&DelayDistribution>,
) -> Vec<DelayDistribution> {
    let Some(of_all) = DelayDistribution::of_young(all) else {
        return usual.cloned().into_iter().collect();
    };
    let of_each: Option<Vec<DelayDistribution>> =
        observed.iter().map(|own| DelayDistribution::of_young(own)).collect();
    let is_different = |of_arm: &DelayDistribution| !of_arm.agrees_with(&of_all);
    match of_each.filter(|of_each| of_each.iter().any(is_different)) {
        Some(of_each) => of_each.into_iter().map(|it| it.extended_by(usual)).collect(),
        None => vec![of_all.extended_by(usual)],
    }
}

/// How long rewards took in campaigns, of which these are [`Learning::delays`]. None for too few rewards.
pub fn usual_delays<'l>(
    learnt: impl IntoIterator<Item = &'l BTreeMap<u8, u64>>,
) -> Option<DelayDistribution> {
    let mut counts = vec![0; usize::from(INTERVALS)];
    for (interval, rewards) in learnt.into_iter().flatten() {
        if let Some(count) = counts.get_mut(usize::from(*interval)) {
            *count += rewards;
        }
    }
    DelayDistribution::of_counts(&counts)
}

/// What the API shows of a stored state: all but the delays.
pub fn shown(mut stored: serde_json::Value) -> serde_json::Value {
    if let Some(fields) = stored.as_object_mut() {
        fields.remove("delays");
    }
    stored
}

/// Time between two waves of a one-time campaign: long enough for half of the rewards, in whole epochs.
pub fn wave_gap(usual: Option<&DelayDistribution>, reward_window: Duration) -> Duration {
    let median = usual.map_or(0, DelayDistribution::median_ms);
    let median = Duration::from_millis(median.unsigned_abs()).min(reward_window);
    let epochs = median.as_secs().div_ceil(WAVE_GAP_MIN.as_secs()).max(1);
    WAVE_GAP_MIN.saturating_mul(u32::try_from(epochs).unwrap_or(1))
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
mod simulation;
#[cfg(test)]
mod tests;

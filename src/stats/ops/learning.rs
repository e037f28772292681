//! Rewards of learning campaigns.

use std::collections::HashMap;

use analytics::messages::{self, RewardFilter, Rewarded};
use campaigns::model::{
    Campaign,
    learning::{Learning, Objective},
};
use kernel::{
    Result, WorkspaceId,
    time::{HOUR, millis},
};
use statistics::delay::{self, AgeGroup, CLOSED, interval_of};
use web::{Services, http::DateRange};

use super::{
    ReportScope,
    conversion_scan::{credits, reporting_currency},
    event_credits::CreditFilter,
};
use crate::model::outcome::{Credit, Goal, sum};

/// The messages and rewards of a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmReward {
    pub variant_id: String,
    /// Messages sent with it.
    pub sends: u64,
    /// Those of them with a reward so far.
    pub rewards: u64,
}

/// The messages of each variant of a learning campaign by age and delay of their reward, in the order of its arms.
///
/// # Errors
/// If a store fails.
pub async fn rewards(
    app: &Services,
    workspace: WorkspaceId,
    campaign: &Campaign,
    learning: &Learning,
) -> Result<Vec<Vec<AgeGroup>>> {
    let scope = ReportScope::new(workspace, campaign.clone(), DateRange::default());
    rewarded_messages(app, &scope, learning).await
}

/// Messages and rewards of each arm so far.
///
/// # Errors
/// If a store fails.
pub async fn sent_by_arm(
    app: &Services,
    scope: &ReportScope,
    learning: &Learning,
) -> Result<Vec<ArmReward>> {
    let (counts, groups) =
        (scope.counts(app).await?, rewarded_messages(app, scope, learning).await?);
    let arms = learning.arms.iter().zip(groups).map(|(arm, groups)| {
        let number = number_of(scope, &arm.variant_id);
        let sent = sum(counts.iter().filter(|count| Some(count.variant) == number)).sent;
        ArmReward {
            variant_id: arm.variant_id.clone(),
            // Reports may have forgotten messages that were learnt from.
            sends: sent.max(arm.sends),
            rewards: delay::rewards(&groups).max(arm.rewards),
        }
    });
    Ok(arms.collect())
}

/// The number of a variant in reports, from 1.
fn number_of(scope: &ReportScope, variant_id: &str) -> Option<u8> {
    let at = scope.variants().iter().position(|id| *id == variant_id)?;
    u8::try_from(at + 1).ok()
}

async fn rewarded_messages(
    app: &Services,
    scope: &ReportScope,
    learning: &Learning,
) -> Result<Vec<Vec<AgeGroup>>> {
    let filter = RewardFilter {
        rewarded: match learning.objective {
            Objective::Open => Rewarded::Open,
            Objective::Click => Rewarded::Click,
            Objective::Conversion | Objective::Revenue => Rewarded::Elsewhere,
        },
        window_ms: millis(HOUR * learning.reward_window_hours),
        now_ms: app.clock().now().millis(),
        first_interval_ms: delay::FIRST_INTERVAL_MS,
        intervals_a_doubling: delay::INTERVALS_A_DOUBLING,
        intervals: delay::INTERVALS,
    };
    let found = messages::rewards(app.analytics(), &scope.cohort(), &filter).await?;
    let mut groups: HashMap<GroupKey, u64> = found
        .iter()
        .map(|it| {
            let delay = u8::try_from(it.delay).ok();
            (GroupKey { variant: it.variant, age: it.age, delay }, it.messages)
        })
        .collect();
    if filter.rewarded == Rewarded::Elsewhere {
        add_rewards(&mut groups, &earned(app, scope, learning.objective).await?, &filter);
    }
    let of_arm = |variant_id: &String| {
        let number = number_of(scope, variant_id);
        let own = groups.iter().filter(|(key, _)| Some(key.variant) == number);
        let group =
            |key: &GroupKey, messages| AgeGroup { age: key.age, delay: key.delay, messages };
        own.map(|(key, messages)| group(key, *messages)).collect()
    };
    Ok(learning.arms.iter().map(|arm| of_arm(&arm.variant_id)).collect())
}

/// The first reward of each message that is a conversion or an order.
async fn earned(app: &Services, scope: &ReportScope, objective: Objective) -> Result<Vec<Credit>> {
    let is_reward = |goal: &Goal| match goal {
        Goal::Conversion(number) => objective == Objective::Conversion && *number == 0,
        Goal::Order { .. } => objective == Objective::Revenue,
    };
    let currency = reporting_currency(app, scope.workspace).await?;
    let all = credits(app, scope, currency.as_deref(), &CreditFilter::default()).await?.credited;
    let mut first = HashMap::<u128, Credit>::new();
    let rewards = all.into_iter().filter(|it| is_reward(&it.goal) && !it.group.is_control());
    for credit in rewards {
        let known = first.get(&credit.message);
        if known.is_none_or(|known| credit.at_ms < known.at_ms) {
            first.insert(credit.message, credit);
        }
    }
    Ok(first.into_values().collect())
}

/// Messages of a variant that are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct GroupKey {
    variant: u8,
    age: u8,
    /// The interval of the delay; none without a reward.
    delay: Option<u8>,
}

/// Moves messages from those without a reward to those with one.
fn add_rewards(groups: &mut HashMap<GroupKey, u64>, rewards: &[Credit], filter: &RewardFilter) {
    for credit in rewards {
        let delay_ms = credit.at_ms - credit.sent_ms;
        if delay_ms > filter.window_ms {
            continue;
        }
        let age_ms = (filter.now_ms - credit.sent_ms).max(0);
        let age = if age_ms >= filter.window_ms { CLOSED } else { interval_of(age_ms) };
        let unrewarded = GroupKey { variant: credit.group.variant, age, delay: None };
        if let Some(count) = groups.get_mut(&unrewarded) {
            *count = count.saturating_sub(1);
        }
        let rewarded = GroupKey { delay: Some(interval_of(delay_ms)), ..unrewarded };
        *groups.entry(rewarded).or_default() += 1;
    }
}

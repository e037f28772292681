//! Rewards of learning campaigns.

use analytics::messages::{self, RewardFilter};
use campaigns::model::{
    Campaign,
    learning::{Learning, Objective},
};
use kernel::{
    Result, WorkspaceId,
    time::{HOUR, millis},
};
use web::{Services, http::DateRange};

use super::{
    ReportScope,
    conversion_scan::{CreditFilter, credits, reporting_currency},
};
use crate::model::outcome::{Credit, Goal, sum};

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
            let earned = earned.credited;
            let mut rewarded: std::collections::HashMap<u128, &Credit> =
                std::collections::HashMap::new();
            for credit in &earned {
                if is_reward(&credit.goal) && credit.at_ms - credit.sent_ms <= window_ms {
                    rewarded.insert(credit.message, credit);
                }
            }
            for credit in rewarded.values().filter(|credit| !credit.group.is_control()) {
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

//! `GET /campaigns/:campaignId/rl-stats`: sends, rewards and estimates of a learning campaign.

use axum::{Json, extract::State};
use campaigns::model::{
    self,
    learning::{Learning, Objective, Shares, Stage},
};
use kernel::{CampaignId, Timestamp};
use serde::Serialize;
use statistics::proportion::{real, share};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, DateRange, PathOf},
};

use crate::{
    model::warning::{Warning, WarningAnswer},
    ops::{self, ArmReward, ReportScope},
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(rl_stats))
}

/// How a campaign selects among its variants.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Policy {
    /// A variant's share is the probability that it is the best.
    ThompsonSampling,
}

/// The state of a learning campaign.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RlStats {
    campaign_id: CampaignId,
    status: Stage,
    policy: Policy,
    objective: Objective,
    started_at: Timestamp,
    /// When the estimates last changed.
    last_updated_at: Timestamp,
    total_sends: u64,
    /// Sends with a reward so far.
    total_rewards: u64,
    /// The event that counts as a reward. Of the objective `revenue` it is a purchase, whatever its amount.
    reward_is: Reward,
    reward_rate: f64,
    /// The messages that rates and intervals are of.
    interval_of: IntervalOf,
    /// Rates count rewards up to this delay, as messages are too young for longer ones. Null if they count all.
    rates_within_seconds: Option<i64>,
    arms: Vec<ArmStats>,
    /// How much better than the variant with the best estimate the best variant could be, at the 95th
    /// percentile, relative to its rate.
    value_remaining: f64,
    /// Additional rewards of the current shares over equal shares, relative to the latter, by current
    /// estimates.
    estimated_lift_vs_uniform: f64,
    /// Shares of the variants over time, oldest first.
    timeline: Vec<Shares>,
    warnings: Vec<WarningAnswer>,
}

/// The event that counts as a reward.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Reward {
    Open,
    Click,
    Conversion,
    /// An order, whatever its amount.
    Purchase,
}

impl From<Objective> for Reward {
    fn from(objective: Objective) -> Self {
        match objective {
            Objective::Open => Self::Open,
            Objective::Click => Self::Click,
            Objective::Conversion => Self::Conversion,
            Objective::Revenue => Self::Purchase,
        }
    }
}

/// The messages that rates are of.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum IntervalOf {
    /// Each message counts by the share of rewards that come by its age.
    Mature,
}

/// The estimate of a variant.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ArmStats {
    variant_id: String,
    name: String,
    /// Messages sent with it.
    sends: u64,
    /// Sends with a reward so far.
    rewards: u64,
    /// Messages that count as tried when it was last learnt: each by the share of rewards that come by its age.
    mature_sends: f64,
    /// The others that had been sent then: their rewards are still to come.
    pending_sends: f64,
    reward_rate: f64,
    /// The interval that contains its rate with a probability of 95 %.
    interval: Interval,
    /// One more than the rewards learnt from; learning happens once an epoch.
    alpha: f64,
    /// One more than the mature sends without a reward.
    beta: f64,
    probability_to_be_best: f64,
    /// Its share of the messages.
    allocation: f64,
}

/// The ends of an interval.
#[derive(Debug, Serialize, ToSchema)]
struct Interval {
    lower: f64,
    upper: f64,
}

impl RlStats {
    /// `sent` in the order of the arms.
    fn new(campaign: &model::Campaign, learning: Learning, sent: &[ArmReward]) -> Self {
        let total_sends = sent.iter().map(|arm| arm.sends).sum();
        let total_rewards = sent.iter().map(|arm| arm.rewards).sum();
        let known = learning.arms.iter().zip(learning.estimates()).zip(sent);
        let is_pending = learning.arms.iter().any(|arm| arm.tried() < real(arm.sends));
        let is_open = is_pending || learning.rates_within_seconds.is_some();
        let warnings = is_open.then_some(Warning::FasterVariantsLookBetter);
        let arms = known.map(|((arm, known), sent)| ArmStats {
            variant_id: arm.variant_id.clone(),
            name: arm.name.clone(),
            sends: sent.sends,
            rewards: sent.rewards,
            mature_sends: arm.tried(),
            pending_sends: (real(arm.sends) - arm.tried()).max(0.0),
            reward_rate: share(sent.rewards, sent.sends),
            interval: Interval { lower: known.interval.0, upper: known.interval.1 },
            alpha: arm.rate().alpha,
            beta: arm.rate().beta,
            probability_to_be_best: known.probability_to_be_best,
            allocation: known.allocation,
        });
        Self {
            campaign_id: campaign.id,
            status: learning.stage(campaign.state.status),
            policy: Policy::ThompsonSampling,
            objective: learning.objective,
            started_at: learning.started_at,
            last_updated_at: learning.last_updated_at,
            total_sends,
            total_rewards,
            reward_is: learning.objective.into(),
            interval_of: IntervalOf::Mature,
            rates_within_seconds: learning.rates_within_seconds,
            reward_rate: share(total_rewards, total_sends),
            arms: arms.collect(),
            value_remaining: learning.value_remaining(campaign.id),
            estimated_lift_vs_uniform: learning.lift_vs_uniform(),
            timeline: learning.timeline,
            warnings: warnings.iter().map(WarningAnswer::from).collect(),
        }
    }
}

/// Reports the state of a learning campaign: the rewards of each variant, and the probability that it is the
/// best.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/rl-stats",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        (status = 200, body = RlStats),
        (status = 400, description = "the campaign does not learn"),
        (status = 404, description = "absent"),
    )
)]
async fn rl_stats(
    State(app): State<Services>,
    caller: Caller<scope::CampaignsRead>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<RlStats>> {
    let (workspace, id) = (caller.workspace(), id);
    let (campaign, learning) = campaigns::ops::learning(&app, workspace, id).await?;
    let scope = ReportScope::new(workspace, campaign, DateRange::default());
    let sent = ops::sent_by_arm(&app, &scope, &learning).await?;
    // Integrals and ten thousand draws take some milliseconds of computation.
    let stats = tokio::task::spawn_blocking(move || RlStats::new(&scope.campaign, learning, &sent));
    Ok(Json(stats.await.map_err(anyhow::Error::from)?))
}

//! `GET /campaigns/:campaignId/sto-coverage`.

use axum::{Json, extract::State};
use kernel::CampaignId;
use serde::Serialize;
use utoipa::ToSchema;
use web::{
    auth::{Caller, scope},
    http::ApiResult,
};

use super::{path::CampaignPath, who};
use crate::{
    CampaignState,
    ops::{self, Coverage},
};

/// For how many of an audience the hour is known at which they look.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CoverageAnswer {
    campaign_id: CampaignId,
    /// Those a message reaches.
    total_users: u64,
    /// Those whose hour is known.
    optimized_users: u64,
    /// Those of whom too little is known.
    fallback_users: u64,
    /// The part of all whose hour is known, 0 to 1.
    coverage: f64,
    /// Visits without which nothing is known of somebody.
    min_events: u32,
    /// Days of visits that count.
    lookback_days: u32,
    /// The 24 hours of each one's own day; together all whose hour is known.
    hours: Vec<HourUsers>,
    /// The hour at which most visits of the audience begin; null where nobody came.
    popular_hour: Option<u8>,
}

/// How many look at an hour.
#[derive(Debug, Serialize, ToSchema)]
struct HourUsers {
    hour: u8,
    users: u64,
}

impl CoverageAnswer {
    fn new(campaign_id: CampaignId, found: &Coverage) -> Self {
        let optimized_users = found.hours.iter().sum();
        #[expect(clippy::cast_precision_loss, reason = "audiences are far below 2^52")]
        let coverage = optimized_users as f64 / found.total.max(1) as f64;
        Self {
            campaign_id,
            total_users: found.total,
            optimized_users,
            fallback_users: found.total - optimized_users,
            coverage,
            min_events: found.config.min_events(),
            lookback_days: found.config.lookback_days(),
            hours: (0..).zip(found.hours).map(|(hour, users)| HourUsers { hour, users }).collect(),
            popular_hour: found.popular_hour,
        }
    }
}

/// For how many recipients the best hour is known. It is computed from session starts, events outside any
/// session, opens and clicks.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/sto-coverage",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        (status = 200, body = CoverageAnswer),
        (status = 400, description = "there are too many visits to look at"),
        (status = 404, description = "absent"),
    )
)]
pub(super) async fn sto_coverage(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    CampaignPath(id): CampaignPath,
) -> ApiResult<Json<CoverageAnswer>> {
    let found = ops::sto_coverage(&app, &who(&caller), id).await?;
    Ok(Json(CoverageAnswer::new(id, &found)))
}

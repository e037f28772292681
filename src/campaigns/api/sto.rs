//! `GET /campaigns/:campaignId/sto-coverage`.

use axum::{Json, extract::State};
use kernel::CampaignId;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, PathOf},
};

use super::who;
use crate::{
    CampaignState,
    ops::{self, Coverage},
};

pub(super) fn routes() -> OpenApiRouter<CampaignState> {
    OpenApiRouter::new().routes(routes!(sto_coverage))
}

/// For how many recipients of a campaign the best hour is known.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CoverageAnswer {
    campaign_id: CampaignId,
    /// Number of reachable recipients.
    total_users: u64,
    /// Recipients with a known best hour.
    optimized_users: u64,
    /// Recipients with too few events.
    fallback_users: u64,
    /// The part of recipients with a known best hour, 0 to 1.
    coverage: f64,
    /// Visits required of a recipient.
    min_events: u32,
    /// Days of visits that count.
    lookback_days: u32,
    /// Recipients by the local hour that is best for them; together `optimizedUsers`.
    hours: Vec<HourUsers>,
    /// The hour at which most visits of the audience begin; null without visits.
    popular_hour: Option<u8>,
}

/// Recipients with this best hour.
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

/// Reports for how many recipients the best hour is known. It is computed from session starts, events outside
/// any session, opens and clicks.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}/sto-coverage",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        (status = 200, body = CoverageAnswer),
        (status = 400, description = "there are too many visits to process"),
        (status = 404, description = "absent"),
    )
)]
async fn sto_coverage(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Json<CoverageAnswer>> {
    let found = ops::sto_coverage(&app, &who(&caller), id).await?;
    Ok(Json(CoverageAnswer::new(id, &found)))
}

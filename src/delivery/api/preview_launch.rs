//! `POST /campaigns/:campaignId/preview-launch`.

use axum::{Json, extract::State};
use campaigns::model::launch::LaunchPreview;
use kernel::{CampaignId, fields::EmptyBody};
use web::{
    auth::{Caller, scope},
    http::{ApiError, ApiResult, Body, BodyFor, OptionalBody},
};

use super::BODY_BYTES_MAX;
use crate::{DeliveryState, ops};

/// Previews a launch: the recipients, the time, and what prevents it. Nothing is sent.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/preview-launch",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses((status = 200, body = LaunchPreview), (status = 404, description = "absent"))
)]
pub(super) async fn preview_launch(
    State(app): State<DeliveryState>,
    caller: Caller<scope::CampaignsRead>,
    BodyFor(id, _): BodyFor<CampaignId, Body<OptionalBody<EmptyBody>, BODY_BYTES_MAX>>,
) -> ApiResult<Json<LaunchPreview>> {
    ops::preview_launch(&app, caller.workspace(), caller.timezone(), id)
        .await
        .map(Json)
        .map_err(ApiError)
}

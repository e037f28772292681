//! `POST /campaigns/:campaignId/preview-launch`.

use axum::{Json, extract::State};
use campaigns::{model::launch::LaunchPreview, ops::NOT_FOUND};
use kernel::fields::EmptyBody;
use web::{
    auth::{Caller, scope},
    http::{ApiError, ApiResult, Body, OptionalBody, Path},
};

use super::BODY_BYTES_MAX;
use crate::{DeliveryState, ops};

/// Tells whom a launch would reach, when, and what stands in its way. Nothing is sent.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/preview-launch",
    tag = "campaigns",
    params(("campaignId" = kernel::CampaignId, Path)),
    responses((status = 200, body = LaunchPreview), (status = 404, description = "absent"))
)]
pub(super) async fn preview_launch(
    State(app): State<DeliveryState>,
    caller: Caller<scope::CampaignsRead>,
    Path(id): Path<String>,
    _: Body<OptionalBody<EmptyBody>, BODY_BYTES_MAX>,
) -> ApiResult<Json<LaunchPreview>> {
    let id = id.parse().map_err(|_| NOT_FOUND)?;
    ops::preview_launch(&app, (caller.workspace(), caller.timezone()), id)
        .await
        .map(Json)
        .map_err(ApiError)
}

//! `POST /campaigns/:campaignId/preview-launch`.

use axum::{Json, extract::State};

use super::BODY_BYTES_MAX;
use crate::{
    app::App,
    auth::{Caller, scope},
    campaigns::{model::launch::LaunchPreview, ops::NOT_FOUND},
    delivery::ops,
    http::{Body, Nothing, Path},
    kernel::Result,
};

/// Tells whom a launch would reach, when, and what stands in its way. Nothing is sent.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/preview-launch",
    tag = "campaigns",
    params(("campaignId" = crate::kernel::CampaignId, Path)),
    responses((status = 200, body = LaunchPreview), (status = 404, description = "absent"))
)]
pub(super) async fn preview_launch(
    State(app): State<App>,
    caller: Caller<scope::CampaignsRead>,
    Path(id): Path<String>,
    _: Body<Option<Nothing>, BODY_BYTES_MAX>,
) -> Result<Json<LaunchPreview>> {
    let id = id.parse().map_err(|_| NOT_FOUND)?;
    ops::preview_launch(&app, (caller.workspace(), caller.timezone()), id).await.map(Json)
}

//! `/campaigns` and `/campaigns/:campaignId`: creating, reading, changing and deleting.

use axum::{Json, extract::State};
use http::StatusCode;
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body, Path},
};

use super::{
    BODY_BYTES_MAX, Campaign, campaign_id,
    path::CampaignPath,
    schema::{CampaignChange, CampaignFields},
    who,
};
use crate::{CampaignState, model::Edit, ops};

/// Creates a campaign: scheduled if `sendType` is `scheduled` and `scheduledAt` is set, otherwise a draft.
/// `status` may be sent as `draft` or `scheduled`.
#[utoipa::path(
    post,
    path = "/campaigns",
    tag = "campaigns",
    request_body = CampaignFields,
    responses((status = 201, body = Campaign))
)]
pub(super) async fn create_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    Body(edit): Body<Edit, BODY_BYTES_MAX>,
) -> ApiResult<(StatusCode, Json<Campaign>)> {
    let campaign = ops::create(&app, &who(&caller), &edit).await?;
    Ok((StatusCode::CREATED, Json(campaign.into())))
}

/// Reads a campaign.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}",
    tag = "campaigns",
    params(("campaignId" = kernel::CampaignId, Path)),
    responses((status = 200, body = Campaign), (status = 404, description = "absent"))
)]
pub(super) async fn get_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    CampaignPath(id): CampaignPath,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::find(&app, caller.workspace(), id).await?;
    Ok(Json(campaign.into()))
}

/// Changes the fields that are sent; null removes one. A live triggered, recurring or in-app campaign keeps
/// sending its present content until the edits are published.
#[utoipa::path(
    put,
    path = "/campaigns/{campaignId}",
    tag = "campaigns",
    params(("campaignId" = kernel::CampaignId, Path)),
    request_body = CampaignChange,
    responses(
        (status = 200, body = Campaign),
        (status = 404, description = "absent"),
        (status = 409, description = "its status does not allow this change"),
    )
)]
pub(super) async fn update_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    Path(id): Path<String>,
    Body(edit): Body<Edit, BODY_BYTES_MAX>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::update(&app, &who(&caller), campaign_id(&id)?, &edit).await?;
    Ok(Json(campaign.into()))
}

/// Deletes a campaign that was never live, and archives any other.
#[utoipa::path(
    delete,
    path = "/campaigns/{campaignId}",
    tag = "campaigns",
    params(("campaignId" = kernel::CampaignId, Path)),
    responses(
        (status = 204, description = "deleted or archived"),
        (status = 404, description = "absent"),
    )
)]
pub(super) async fn delete_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsDelete>,
    CampaignPath(id): CampaignPath,
) -> ApiResult<StatusCode> {
    ops::remove(&app, &who(&caller), id).await?;
    Ok(StatusCode::NO_CONTENT)
}

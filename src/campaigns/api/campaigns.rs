//! `/campaigns` and `/campaigns/:campaignId`: creating, reading, changing and deleting.

use axum::{Json, extract::State};
use http::{HeaderMap, HeaderName, StatusCode, header::ETAG};
use kernel::CampaignId;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body, BodyFor, PathOf},
};

use super::{
    BODY_BYTES_MAX, Campaign, precondition,
    schema::{CampaignChange, CampaignFields},
    who,
    wire::TaggedCampaign,
};
use crate::{
    CampaignState,
    model::{self, Edit},
    ops,
};

pub(super) fn routes() -> OpenApiRouter<CampaignState> {
    OpenApiRouter::new().routes(routes!(get_campaign, update_campaign, delete_campaign))
}

/// A campaign with its ETag.
type Tagged = ([(HeaderName, String); 1], Json<Campaign>);

fn tagged(campaign: model::Campaign) -> Tagged {
    ([(ETAG, campaign.etag())], Json(campaign.into()))
}

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

/// Reads one campaign of the workspace.
#[utoipa::path(
    get,
    path = "/campaigns/{campaignId}",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(TaggedCampaign)
)]
async fn get_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsRead>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<Tagged> {
    let campaign = ops::find(&app, caller.workspace(), id).await?;
    Ok(tagged(campaign))
}

/// Changes the fields that are sent; null removes one. A live triggered, recurring or in-app campaign keeps
/// sending its present content until the edits are published. With `If-Match` the change is made only where the campaign
/// still has that ETag.
#[utoipa::path(
    put,
    path = "/campaigns/{campaignId}",
    tag = "campaigns",
    params(
        ("campaignId" = CampaignId, Path),
        ("If-Match" = Option<String>, Header, description = "ETags with commas between them, or `*`"),
    ),
    request_body = CampaignChange,
    responses(
        TaggedCampaign,
        (status = 409, description = "its status does not allow this change, or its ETag is none of `If-Match`"),
    )
)]
async fn update_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    headers: HeaderMap,
    BodyFor(id, Body(edit)): BodyFor<CampaignId, Body<Edit, BODY_BYTES_MAX>>,
) -> ApiResult<Tagged> {
    let precondition = precondition(&headers)?;
    let campaign = ops::update(&app, &who(&caller), id, &edit, &precondition).await?;
    Ok(tagged(campaign))
}

/// Deletes a campaign that was never live, and archives any other.
#[utoipa::path(
    delete,
    path = "/campaigns/{campaignId}",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        (status = 204, description = "deleted or archived"),
        (status = 404, description = "absent"),
    )
)]
async fn delete_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsDelete>,
    PathOf(id): PathOf<CampaignId>,
) -> ApiResult<StatusCode> {
    ops::remove(&app, &who(&caller), id).await?;
    Ok(StatusCode::NO_CONTENT)
}

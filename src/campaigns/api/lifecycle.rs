//! `POST /campaigns/:campaignId/…`: the calls that change a campaign's status, each answered with the whole
//! campaign.

use axum::{Json, extract::State};
use http::{HeaderMap, StatusCode};
use kernel::CampaignId;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body, BodyFor, OptionalBody},
};

use super::{BODY_BYTES_MAX, Campaign, EmptyBody, OneCampaign, precondition, who};
use crate::{CampaignState, ops};

pub(super) fn routes() -> OpenApiRouter<CampaignState> {
    OpenApiRouter::new()
        .routes(routes!(send_campaign))
        .routes(routes!(pause_campaign))
        .routes(routes!(resume_campaign))
        .routes(routes!(cancel_campaign))
        .routes(routes!(retry_campaign))
        .routes(routes!(resend_campaign))
        .routes(routes!(stop_recurring))
        .routes(routes!(publish_campaign))
        .routes(routes!(discard_draft))
        .routes(routes!(archive_campaign))
        .routes(routes!(unarchive_campaign))
        .routes(routes!(duplicate_campaign))
}

/// A body is optional, but must be JSON.
type OptionalEmptyBody = Body<OptionalBody<EmptyBody>, BODY_BYTES_MAX>;

/// Launches: a one-time campaign is sent now, whatever its schedule; others become live. With `If-Match` that is done only
/// where the campaign still has that ETag.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/send",
    tag = "campaigns",
    params(
        ("campaignId" = CampaignId, Path),
        ("If-Match" = Option<String>, Header, description = "ETags with commas between them, or `*`"),
    ),
    responses(
        OneCampaign,
        (status = 400, description = "its content cannot be sent"),
        (status = 409, description = "it is neither a draft nor scheduled, or its ETag is none of `If-Match`"),
    )
)]
async fn send_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsSend>,
    headers: HeaderMap,
    BodyFor(id, _): BodyFor<CampaignId, OptionalEmptyBody>,
) -> ApiResult<Json<Campaign>> {
    let precondition = precondition(&headers)?;
    let campaign = ops::send(&app, &who(&caller), id, &precondition).await?;
    Ok(Json(campaign.into()))
}

/// Pauses an active or scheduled campaign.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/pause",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        OneCampaign,
        (status = 409, description = "it is neither active nor scheduled"),
    )
)]
async fn pause_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsSend>,
    BodyFor(id, _): BodyFor<CampaignId, OptionalEmptyBody>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::pause(&app, &who(&caller), id).await?;
    Ok(Json(campaign.into()))
}

/// Resumes a paused campaign.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/resume",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        OneCampaign,
        (status = 409, description = "it is not paused"),
    )
)]
async fn resume_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsSend>,
    BodyFor(id, _): BodyFor<CampaignId, OptionalEmptyBody>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::resume(&app, &who(&caller), id).await?;
    Ok(Json(campaign.into()))
}

/// Cancels a campaign. A cancelled campaign cannot be resumed.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/cancel",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        OneCampaign,
        (status = 409, description = "it is not under way"),
    )
)]
async fn cancel_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsSend>,
    BodyFor(id, _): BodyFor<CampaignId, OptionalEmptyBody>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::cancel(&app, &who(&caller), id).await?;
    Ok(Json(campaign.into()))
}

/// Schedules a failed campaign again.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/retry",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        OneCampaign,
        (status = 409, description = "it has not failed"),
    )
)]
async fn retry_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsSend>,
    BodyFor(id, _): BodyFor<CampaignId, OptionalEmptyBody>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::retry(&app, &who(&caller), id).await?;
    Ok(Json(campaign.into()))
}

/// Sends a completed one-time campaign again, to recipients by its `resendPolicy`.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/resend",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        OneCampaign,
        (status = 400, description = "it is not one-time, or has not finished sending"),
    )
)]
async fn resend_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsSend>,
    BodyFor(id, _): BodyFor<CampaignId, OptionalEmptyBody>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::resend(&app, &who(&caller), id).await?;
    Ok(Json(campaign.into()))
}

/// Stops the future occurrences of a recurring campaign.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/stop-recurring",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        OneCampaign,
        (status = 400, description = "it is not recurring"),
        (status = 409, description = "it is not live"),
    )
)]
async fn stop_recurring(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsSend>,
    BodyFor(id, _): BodyFor<CampaignId, OptionalEmptyBody>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::stop_recurring(&app, &who(&caller), id).await?;
    Ok(Json(campaign.into()))
}

/// Replaces the live content by the pending edits, in one step.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/publish",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        OneCampaign,
        (status = 400, description = "no edits are pending, or they cannot be sent"),
        (status = 409, description = "it is not live"),
    )
)]
async fn publish_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    BodyFor(id, _): BodyFor<CampaignId, OptionalEmptyBody>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::publish(&app, &who(&caller), id).await?;
    Ok(Json(campaign.into()))
}

/// Discards pending edits. Without any, nothing changes.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/discard-draft",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(OneCampaign)
)]
async fn discard_draft(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    BodyFor(id, _): BodyFor<CampaignId, OptionalEmptyBody>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::discard_draft(&app, &who(&caller), id).await?;
    Ok(Json(campaign.into()))
}

/// Stops sending and archives; history and reports stay.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/archive",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(OneCampaign)
)]
async fn archive_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    BodyFor(id, _): BodyFor<CampaignId, OptionalEmptyBody>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::archive(&app, &who(&caller), id).await?;
    Ok(Json(campaign.into()))
}

/// Restores from the archive without sending: a campaign that was under way is paused.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/unarchive",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses(
        OneCampaign,
        (status = 409, description = "it is not archived"),
    )
)]
async fn unarchive_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    BodyFor(id, _): BodyFor<CampaignId, OptionalEmptyBody>,
) -> ApiResult<Json<Campaign>> {
    let campaign = ops::unarchive(&app, &who(&caller), id).await?;
    Ok(Json(campaign.into()))
}

/// Copies a campaign as a draft named "… (copy)".
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/duplicate",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    responses((status = 201, body = Campaign), (status = 404, description = "absent"))
)]
async fn duplicate_campaign(
    State(app): State<CampaignState>,
    caller: Caller<scope::CampaignsWrite>,
    BodyFor(id, _): BodyFor<CampaignId, OptionalEmptyBody>,
) -> ApiResult<(StatusCode, Json<Campaign>)> {
    let campaign = ops::duplicate(&app, &who(&caller), id).await?;
    Ok((StatusCode::CREATED, Json(campaign.into())))
}

//! `POST /campaigns/:campaignId/preview` and `/campaigns/preview-message`: a campaign's message for one person, to look
//! at.

use axum::{Json, extract::State};
use kernel::fields::describe::described;
use kernel::{
    CampaignId,
    fields::{Fields, FromFields},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use web::{
    auth::{Caller, scope},
    http::{ApiError, ApiResult, Body, BodyFor},
};

use super::{BODY_BYTES_MAX, TRIGGER_BYTES_MAX, USER_ID_CHARS_MAX, bounded_object};
use crate::{
    DeliveryState,
    ops::rendering::{self, RenderRequest, RenderedFor, UnsavedRenderRequest},
};

const VARIANT_ID_CHARS_MAX: usize = 64;
const PROFILE: &str = "The profile it is rendered for: the internal id, or the caller's own.";
const VARIANT: &str = "The variant; defaults to the first one with content.";
const TRIGGER_DATA: &str = "The values of `trigger` and `event` in templates.";

described!(
    /// The recipient that a message is rendered for, and the data of its event.
    RenderRequest as "MessagePreviewFields"
);

impl FromFields for RenderRequest {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            user: body.required("userId").about(PROFILE).text(1..=USER_ID_CHARS_MAX),
            variant: body.optional("variantId").about(VARIANT).text(1..=VARIANT_ID_CHARS_MAX),
            typed: body
                .optional("variant")
                .about(
                    "A variant in the shape of the campaign's, which is rendered in the stead of a saved one.",
                )
                .json_object(),
            trigger: bounded_object(body, "triggerData", TRIGGER_DATA, TRIGGER_BYTES_MAX),
        }
    }
}

described!(
    /// A campaign that is not saved, the recipient that its message is rendered for, and the data of its event.
    UnsavedRenderRequest as "UnsavedMessagePreviewFields"
);

impl FromFields for UnsavedRenderRequest {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            user: body.required("userId").about(PROFILE).text(1..=USER_ID_CHARS_MAX),
            campaign: body
                .required("campaign")
                .about("A campaign in the shape of `POST /campaigns`; `name` may be absent.")
                .json_object(),
            variant: body.optional("variantId").about(VARIANT).text(1..=VARIANT_ID_CHARS_MAX),
            trigger: bounded_object(body, "triggerData", TRIGGER_DATA, TRIGGER_BYTES_MAX),
        }
    }
}

/// A message as one person would get it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessagePreview {
    /// What it goes out on.
    channel: &'static str,
    variant_id: String,
    /// What it says, rendered, in the shape of its channel.
    message: Value,
}

impl From<RenderedFor> for MessagePreview {
    fn from(rendered: RenderedFor) -> Self {
        let RenderedFor { channel, variant_id, message } = rendered;
        Self { channel, variant_id, message }
    }
}

/// Renders a campaign's message for a profile. Nothing is sent; pending edits are rendered where there are some, and
/// `variant` where it is given.
///
/// The caller needs `users:read`, too, since the message shows the profile. Links to unsubscribe change nothing, and the
/// headers of a webhook are left out.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/preview",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    request_body = RenderRequest,
    responses(
        (status = 200, body = MessagePreview),
        (status = 400, description = "no content to render, or templates that cannot be rendered"),
        (status = 404, description = "no such campaign, or no such user"),
    )
)]
pub(super) async fn preview_message(
    State(app): State<DeliveryState>,
    caller: Caller<scope::CampaignsRead>,
    _: Caller<scope::UsersRead>,
    BodyFor(id, Body(request)): BodyFor<CampaignId, Body<RenderRequest, BODY_BYTES_MAX>>,
) -> ApiResult<Json<MessagePreview>> {
    let rendered = rendering::render(&app, caller.workspace(), id, request).await;
    Ok(Json(rendered.map_err(ApiError)?.into()))
}

/// Renders the message of a campaign that is not saved for a profile. Nothing is stored or sent.
///
/// The caller needs `users:read`, too, since the message shows the profile. Only the fields that its message depends on are needed.
#[utoipa::path(
    post,
    path = "/campaigns/preview-message",
    tag = "campaigns",
    request_body = UnsavedRenderRequest,
    responses(
        (status = 200, body = MessagePreview),
        (status = 400, description = "an invalid campaign, no content to render, or templates that cannot be rendered"),
        (status = 404, description = "no such user"),
    )
)]
pub(super) async fn preview_unsaved_message(
    State(app): State<DeliveryState>,
    caller: Caller<scope::CampaignsRead>,
    _: Caller<scope::UsersRead>,
    Body(request): Body<UnsavedRenderRequest, BODY_BYTES_MAX>,
) -> ApiResult<Json<MessagePreview>> {
    let (workspace, zone) = (caller.workspace(), caller.timezone());
    let rendered = rendering::render_unsaved(&app, workspace, zone, request).await;
    Ok(Json(rendered.map_err(ApiError)?.into()))
}

//! `POST /campaigns/:campaignId/preview`: a campaign's message for one person, to look at.

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
    ops::rendering::{self, RenderRequest},
};

const VARIANT_ID_CHARS_MAX: usize = 64;

described!(
    /// The recipient that a message is rendered for, and the data of its event.
    RenderRequest as "MessagePreviewFields"
);

impl FromFields for RenderRequest {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            user: body
                .required("userId")
                .about("The profile it is rendered for: the internal id, or the caller's own.")
                .text(1..=USER_ID_CHARS_MAX),
            variant: body
                .optional("variantId")
                .about("The variant; defaults to the first one with content.")
                .text(1..=VARIANT_ID_CHARS_MAX),
            typed: body
                .optional("variant")
                .about(
                    "A variant in the shape of the campaign's, which is rendered in the stead of a saved one.",
                )
                .json_object(),
            trigger: bounded_object(
                body,
                "triggerData",
                "The values of `trigger` and `event` in templates.",
                TRIGGER_BYTES_MAX,
            ),
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
    let rendered = rendered.map_err(ApiError)?;
    Ok(Json(MessagePreview {
        channel: rendered.channel,
        variant_id: rendered.variant_id,
        message: rendered.message,
    }))
}

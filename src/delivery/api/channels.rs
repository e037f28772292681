//! `GET /channels`, `POST /channels/:channel/test`: what messages are sent with, and whether it works.

use axum::{Json, extract::State};
use campaigns::model::message::MessageChannel;
use kernel::{
    Channel, MessageId, Result,
    fields::{Fields, FromFields, describe::described},
    schema::with_any_of,
};
use serde::Serialize;
use utoipa::ToSchema;
use web::{
    auth::{Caller, scope},
    http::{ApiError, ApiResult, Body, BodyFor, quota::Quota},
};

use super::{BODY_BYTES_MAX, TestRecipient};
use crate::{
    DeliveryState,
    ops::{
        channel_test::{self, ChannelTestRequest, ChannelTested},
        channels::{self, ListedChannel},
    },
};

/// Characters of the id of a template.
const TEMPLATE_ID_CHARS_MAX: usize = 512;

/// A channel, and its provider.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelState {
    /// The channel of messages.
    channel: MessageChannel,
    /// Whether some process has a provider for it.
    is_enabled: bool,
    /// The provider of the process that answers, by its name in the settings; none where only others have one.
    provider: Option<&'static str>,
    /// Why no message can be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    problem: Option<String>,
}

impl From<ListedChannel> for ChannelState {
    fn from(ListedChannel { channel, provider, problem }: ListedChannel) -> Self {
        Self { channel, is_enabled: problem.is_none(), provider, problem }
    }
}

/// All channels of messages.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChannelStates {
    /// Every channel of messages.
    data: Vec<ChannelState>,
}

/// Returns the channels of messages, with the provider that the settings of the server name for each.
#[utoipa::path(
    get,
    path = "/channels",
    tag = "channels",
    responses((status = 200, body = ChannelStates))
)]
pub(super) async fn list_channels(
    State(app): State<DeliveryState>,
    _: Caller<scope::SettingsRead>,
) -> ApiResult<Json<ChannelStates>> {
    let data = channels::list(&app).await?.into_iter().map(ChannelState::from).collect();
    Ok(Json(ChannelStates { data }))
}

with_any_of!(
    /// The recipient of a test of a channel.
    pub(super) ChannelTest = ChannelTestRequest,
    ["userId", "to"]
);

described!(
    /// The recipient of a test of a channel.
    ChannelTestRequest as "ChannelTestFields"
);

impl FromFields for ChannelTestRequest {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let recipient = TestRecipient::read(
            body,
            "The profile it is sent to unless `to` says otherwise: the internal id, or the caller's own. One of \
             `userId` and `to` is needed.",
        );
        let template_id = body
            .optional("templateId")
            .about(
                "An approved template without variables: Viber needs one, and WhatsApp for recipients who did \
                 not write within the last day.",
            )
            .text(1..=TEMPLATE_ID_CHARS_MAX);
        recipient.require(body);
        Self { user: recipient.user, to: recipient.to, template_id }
    }
}

/// What became of a test of a channel.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelTestAnswer {
    /// Whether the provider accepted it.
    success: bool,
    /// By which providers and reports name it.
    message_id: MessageId,
    /// The address it went to.
    to: String,
    /// `sent`, `failed`, `skipped`, `unknown`; `queued` or `sending` where the provider has not answered yet.
    status: String,
    /// The code of the provider or of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    code: Option<String>,
    /// The provider's words, or the rule's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
}

impl From<ChannelTested> for ChannelTestAnswer {
    fn from(ChannelTested { message, to, status }: ChannelTested) -> Self {
        Self {
            success: status.status == "sent",
            message_id: message,
            to,
            status: status.status,
            code: status.code,
            reason: status.reason,
        }
    }
}

/// Sends a fixed text on a channel, and waits up to ten seconds for the answer of its provider. No report counts it.
#[utoipa::path(
    post,
    path = "/channels/{channel}/test",
    tag = "channels",
    params(("channel" = Channel, Path)),
    request_body = ChannelTest,
    responses(
        super::test_send::TestRefusals,
        (status = 200, body = ChannelTestAnswer, description = "what the provider answered, also where it refused"),
        (status = 400, description = "what it lacks: an address, a provider, a template"),
    )
)]
pub(super) async fn test_channel(
    State(app): State<DeliveryState>,
    caller: Caller<scope::CampaignsSend>,
    quota: Quota,
    BodyFor(channel, Body(request)): BodyFor<
        Result<Channel>,
        Body<ChannelTestRequest, BODY_BYTES_MAX>,
    >,
) -> ApiResult<Json<ChannelTestAnswer>> {
    let workspace = caller.workspace();
    quota.take(workspace, app.clock().now())?;
    let tested = channel_test::send(&app, workspace, channel?, request).await;
    tested.map(|tested| Json(tested.into())).map_err(ApiError)
}

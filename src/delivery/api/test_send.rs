//! `POST /campaigns/:campaignId/send-test-*`: a campaign's message to one person, to look at.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use campaigns::model::message::MessageChannel;
use kernel::fields::describe::described;
use kernel::{
    CampaignId, Error, MessageId, Result,
    fields::{Fields, FromFields},
    schema::with_any_of,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::{
    IntoResponses, ToSchema,
    openapi::{RefOr, Response, ResponsesBuilder},
};
use web::{
    auth::{Caller, scope},
    http::{ApiError, ApiResult, Body, BodyFor, openapi, quota::Quota},
};

use super::{BODY_BYTES_MAX, TRIGGER_BYTES_MAX, TestRecipient, bounded_object};
use crate::{
    DeliveryState,
    model::{Segments, message::channel_name, segments},
    ops::test_send::{self, TestSendRequest, Tested},
};

const VARIANT_ID_CHARS_MAX: usize = 64;

with_any_of!(
    /// The recipient of a test message, and the data it is rendered with.
    pub(super) TestSend = TestSendRequest,
    ["userId", "to"]
);

described!(
    /// The recipient of a test message, and the data it is rendered with.
    TestSendRequest as "TestSendFields"
);

impl FromFields for TestSendRequest {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let recipient = TestRecipient::read(
            body,
            "The profile it is rendered for, and sent to unless `to` says otherwise: the internal id, or the \
             caller's own. One of `userId` and `to` is needed; an in-app message needs `userId`.",
        );
        let variant = body
            .optional("variantId")
            .about("The variant; defaults to the first one with content.")
            .text(1..=VARIANT_ID_CHARS_MAX);
        let trigger = bounded_object(
            body,
            "triggerData",
            "The values of `trigger` and `event` in templates.",
            TRIGGER_BYTES_MAX,
        );
        recipient.require(body);
        Self { user: recipient.user, to: recipient.to, variant, trigger }
    }
}

/// What became of a test.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TestAnswer {
    /// Whether it is on its way.
    success: bool,
    message_id: MessageId,
    /// What it goes out on.
    channel: &'static str,
    to: String,
    /// What it says, rendered.
    preview: Value,
    /// What a text message takes, which carriers bill by the part.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    segments: Option<Segments>,
    /// Why it is not sent: `hard_bounce`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
}

impl TestAnswer {
    fn of<C: Serialize>(tested: Tested<C>, channel: &'static str) -> Result<Json<Self>> {
        let preview = serde_json::to_value(tested.preview).map_err(anyhow::Error::from)?;
        let text = preview["body"].as_str().filter(|_| channel == "sms");
        Ok(Json(Self {
            success: tested.refused.is_none(),
            message_id: tested.message,
            channel,
            to: tested.to,
            segments: text.map(segments),
            preview,
            reason: tested.refused,
        }))
    }
}

/// The refusals that all tests share.
pub(super) struct TestRefusals;

impl IntoResponses for TestRefusals {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let sent =
            "the workspace has sent its tests of this minute; `Retry-After` says when it may again";
        ResponsesBuilder::new()
            .response("404", openapi::answer("no such campaign, channel or user"))
            .response("429", openapi::answer(sent))
            .build()
            .responses
    }
}

type Sender = Caller<scope::CampaignsSend>;
type TestSendBody = Body<TestSendRequest, BODY_BYTES_MAX>;

/// Who sends a test, and the quota it counts against.
struct TestCall<'a> {
    app: &'a DeliveryState,
    caller: &'a Sender,
    quota: &'a Quota,
}

async fn send(
    TestCall { app, caller, quota }: TestCall<'_>,
    id: Result<CampaignId>,
    channel: MessageChannel,
    request: TestSendRequest,
) -> Result<Json<TestAnswer>> {
    quota.take(caller.workspace(), app.clock().now())?;
    let tested = test_send::send(app, caller.workspace(), id?, channel, request).await;
    TestAnswer::of(tested?, channel_name(channel))
}

/// A test of an email.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/send-test-email",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    request_body = TestSend,
    responses(
        TestRefusals,
        (status = 200, body = TestAnswer),
        (status = 400, description = "what it lacks: a message of this channel, an address, a provider"),
    )
)]
pub(super) async fn send_test_email(
    State(app): State<DeliveryState>,
    caller: Sender,
    quota: Quota,
    BodyFor(id, Body(request)): BodyFor<Result<CampaignId>, TestSendBody>,
) -> ApiResult<Json<TestAnswer>> {
    send(TestCall { app: &app, caller: &caller, quota: &quota }, id, MessageChannel::Email, request)
        .await
        .map_err(ApiError)
}

/// A test of a text message.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/send-test-sms",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    request_body = TestSend,
    responses(
        TestRefusals,
        (status = 200, body = TestAnswer),
        (status = 400, description = "what it lacks: a message of this channel, a number, a provider"),
    )
)]
pub(super) async fn send_test_sms(
    State(app): State<DeliveryState>,
    caller: Sender,
    quota: Quota,
    BodyFor(id, Body(request)): BodyFor<Result<CampaignId>, TestSendBody>,
) -> ApiResult<Json<TestAnswer>> {
    send(TestCall { app: &app, caller: &caller, quota: &quota }, id, MessageChannel::Sms, request)
        .await
        .map_err(ApiError)
}

/// A test of a push notification.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/send-test-push",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    request_body = TestSend,
    responses(
        TestRefusals,
        (status = 200, body = TestAnswer),
        (status = 400, description = "what it lacks: a message of this channel, a device, a provider"),
    )
)]
pub(super) async fn send_test_push(
    State(app): State<DeliveryState>,
    caller: Sender,
    quota: Quota,
    BodyFor(id, Body(request)): BodyFor<Result<CampaignId>, TestSendBody>,
) -> ApiResult<Json<TestAnswer>> {
    send(TestCall { app: &app, caller: &caller, quota: &quota }, id, MessageChannel::Push, request)
        .await
        .map_err(ApiError)
}

/// A test of a WhatsApp message.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/send-test-whatsapp",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    request_body = TestSend,
    responses(
        TestRefusals,
        (status = 200, body = TestAnswer),
        (status = 400, description = "what it lacks: a message of this channel, a number, a provider"),
    )
)]
pub(super) async fn send_test_whatsapp(
    State(app): State<DeliveryState>,
    caller: Sender,
    quota: Quota,
    BodyFor(id, Body(request)): BodyFor<Result<CampaignId>, TestSendBody>,
) -> ApiResult<Json<TestAnswer>> {
    send(
        TestCall { app: &app, caller: &caller, quota: &quota },
        id,
        MessageChannel::Whatsapp,
        request,
    )
    .await
    .map_err(ApiError)
}

/// A test of a message inside an app: the person's app shows it next.
#[utoipa::path(
    post,
    path = "/campaigns/{campaignId}/send-test-in-app",
    tag = "campaigns",
    params(("campaignId" = CampaignId, Path)),
    request_body = TestSend,
    responses(
        TestRefusals,
        (status = 200, body = TestAnswer),
        (status = 400, description = "what it lacks: content to show, `userId`"),
    )
)]
pub(super) async fn send_test_in_app(
    State(app): State<DeliveryState>,
    caller: Sender,
    quota: Quota,
    BodyFor(id, Body(request)): BodyFor<Result<CampaignId>, TestSendBody>,
) -> ApiResult<Json<TestAnswer>> {
    quota.take(caller.workspace(), app.clock().now())?;
    if request.user.is_none() {
        return Err(Error::invalid("userId", "is required").into());
    }
    TestAnswer::of(test_send::show(&app, caller.workspace(), id?, request).await?, "in_app")
        .map_err(ApiError)
}

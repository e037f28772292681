//! `/subscriptions/contacts/:userId/channels/*`, and the clearing of bounces.

use axum::{Json, extract::State};
use kernel::fields::describe::described;
use kernel::{
    Channel,
    fields::{Fields, FromFields},
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    audit::Origin,
    auth::{CallerOrSession, scope},
    http::{ApiResult, Body, OptionalBody, Requester},
};

use super::path::{OfChannel, OfContact};
use crate::consent::{
    model::{ChannelStatus, Channels},
    ops::{self, BounceCleared, ChannelChange},
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .routes(routes!(update_channel))
        .routes(routes!(check_channel))
        .routes(routes!(clear_bounce))
}

/// Characters of a source.
pub(super) const SOURCE_CHARS_MAX: usize = 255;
/// Characters of the words consented to.
pub(super) const CONSENT_TEXT_CHARS_MAX: usize = 10_000;
/// Characters of a reason.
const REASON_CHARS_MAX: usize = 1000;
/// Where a change comes from that does not say it.
pub(super) const SOURCE_DEFAULT: &str = "api";

/// The description of the consent text.
pub(super) const CONSENT_TEXT: &str = "The text the person consented to, stored for compliance.";
/// The description of a reason.
const REASON: &str = "The reason; stored in the history.";

/// Reads where a change comes from.
pub(super) fn source(body: &mut Fields<'_>, about: &'static str) -> String {
    let source = body.optional("source").about(about).text(1..=SOURCE_CHARS_MAX);
    source.unwrap_or_else(|| SOURCE_DEFAULT.to_owned())
}

/// The body of a change of a channel.
#[derive(Debug)]
pub(super) struct ChannelUpdate {
    status: ChannelStatus,
    source: String,
    consent_text: Option<String>,
    reason: Option<String>,
}

described!(
    /// A status for a channel.
    ChannelUpdate as "ChannelUpdate"
);

impl FromFields for ChannelUpdate {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        // Required of the caller; the one in the path counts.
        body.required("channel")
            .about("Must be a channel; the one in the path counts.")
            .as_type::<Channel>()
            .one_of(Channel::NAMED);
        Self {
            status: body
                .required("status")
                .about("The contact's consent.")
                .as_type::<ChannelStatus>()
                .one_of(ChannelStatus::NAMED),
            source: source(body, "The source of the change; default `api`."),
            consent_text: body
                .optional("consentText")
                .about(CONSENT_TEXT)
                .text(0..=CONSENT_TEXT_CHARS_MAX),
            reason: body.optional("reason").about(REASON).text(0..=REASON_CHARS_MAX),
        }
    }
}

/// Sets a contact's status on one channel; answers all its channels.
#[utoipa::path(
    put,
    path = "/subscriptions/contacts/{userId}/channels/{channel}",
    tag = "consent",
    params(
        ("userId" = kernel::UserId, Path, description = "internal contact id, 24-hex"),
        ("channel" = Channel, Path, description = "counts, whatever the body says"),
    ),
    request_body = ChannelUpdate,
    responses((status = 200, body = Channels))
)]
async fn update_channel(
    State(app): State<Services>,
    caller: CallerOrSession<scope::ComplianceWrite>,
    path: OfChannel,
    requester: Requester,
    Body(update): Body<ChannelUpdate>,
) -> ApiResult<Json<Channels>> {
    let change = ChannelChange {
        user: path.contact.user()?,
        channel: path.channel,
        status: update.status,
        consent_text: update.consent_text,
        reason: update.reason,
    };
    let origin = Origin { source: update.source, actor: caller.actor(), requester };
    let now = app.clock().now();
    Ok(Json(ops::set_channel(app.db(), now, caller.tenant(), &origin, &change).await?))
}

/// Whether a channel may be used.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChannelSubscribed {
    /// True unless the contact opted out; false for a contact that is not there.
    subscribed: bool,
}

/// Returns whether a contact is subscribed on a channel.
#[utoipa::path(
    get,
    path = "/subscriptions/contacts/{userId}/channels/{channel}/status",
    tag = "consent",
    params(
        ("userId" = kernel::UserId, Path, description = "internal contact id, 24-hex"),
        ("channel" = Channel, Path),
    ),
    responses((status = 200, body = ChannelSubscribed))
)]
async fn check_channel(
    State(app): State<Services>,
    caller: CallerOrSession<scope::ComplianceRead>,
    path: OfChannel,
) -> ApiResult<Json<ChannelSubscribed>> {
    let subscribed = match path.contact.possible() {
        Some(user) => {
            ops::read::is_subscribed(app.db(), caller.workspace(), user, path.channel).await?
        }
        None => false,
    };
    Ok(Json(ChannelSubscribed { subscribed }))
}

/// The body of a clearing of bounces.
#[derive(Debug)]
pub(super) struct ClearBounce {
    reason: Option<String>,
}

described!(
    /// The reason why bounces are cleared.
    ClearBounce as "ClearBounce"
);

impl FromFields for ClearBounce {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self { reason: body.optional("reason").about(REASON).text(0..=REASON_CHARS_MAX) }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Success {
    success: bool,
}

impl Success {
    pub(super) const YES: Self = Self { success: true };
}

/// Forgets a contact's bounces, and lifts its address's deliverability suppressions.
#[utoipa::path(
    post,
    path = "/subscriptions/contacts/{userId}/clear-bounce",
    tag = "consent",
    params(("userId" = kernel::UserId, Path, description = "internal contact id, 24-hex")),
    request_body = Option<ClearBounce>,
    responses((status = 200, body = Success))
)]
async fn clear_bounce(
    State(app): State<Services>,
    caller: CallerOrSession<scope::ComplianceWrite>,
    OfContact(contact): OfContact,
    requester: Requester,
    Body(OptionalBody(body)): Body<OptionalBody<ClearBounce>>,
) -> ApiResult<Json<Success>> {
    let cleared =
        BounceCleared { user: contact.user()?, reason: body.and_then(|body| body.reason) };
    let origin = Origin { source: SOURCE_DEFAULT.to_owned(), actor: caller.actor(), requester };
    ops::clear_bounce(app.db(), app.clock().now(), caller.tenant(), &origin, &cleared).await?;
    Ok(Json(Success::YES))
}

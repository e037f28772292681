//! `/v1/subscriptions/*`: what a person says in the app about being written to.

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use super::person::Person;
use crate::{
    app::App,
    audit::Origin,
    auth::SdkCaller,
    consent::{
        model::{ChannelStatus, Channels, MembershipKey, MembershipStatus},
        ops::{self, ChannelChange, Subscribed, Subscription},
    },
    http::{Body, Fields, FromFields, Requester},
    kernel::{Channel, Error, ListId, Result, Timestamp, UserId},
};

/// Characters of the words consented to.
const CONSENT_TEXT_CHARS_MAX: usize = 10_000;
/// Where these changes come from. Who holds an SDK key can name anybody, so to a list with double opt-in
/// this is a source that proves nothing.
const SOURCE: &str = ops::SDK_SOURCE;

/// A status for a channel.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub(super) struct ChannelWord {
    /// Who says it: the caller's own id of a profile, or the internal one.
    #[schema(value_type = String, min_length = 1, max_length = 255)]
    user_id: Person,
    /// The channel.
    channel: Channel,
    /// What they say.
    status: ChannelStatus,
    /// The words consented to, kept for compliance.
    #[schema(max_length = 10_000)]
    consent_text: Option<String>,
}

impl FromFields for ChannelWord {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            user_id: Person::of_body(body),
            channel: body.required("channel").one_of(Channel::NAMED),
            status: body.required("status").one_of(ChannelStatus::NAMED),
            consent_text: body.optional("consentText").text(0..=CONSENT_TEXT_CHARS_MAX),
        }
    }
}

/// What is so now.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelWordKept {
    /// The person's internal id.
    user_id: UserId,
    /// The channel.
    channel: Channel,
    /// What they said.
    status: ChannelStatus,
}

/// Sets a person's status on a channel.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/channel",
    tag = "sdk",
    security(("sdk_key" = [])),
    request_body = ChannelWord,
    responses(
        (status = 200, body = ChannelWordKept),
        (status = 404, description = "no profile has this userId"),
    )
)]
pub(super) async fn set_channel(
    State(app): State<App>,
    caller: SdkCaller,
    requester: Requester,
    Body(word): Body<ChannelWord>,
) -> Result<Json<ChannelWordKept>> {
    let ChannelWord { user_id, channel, status, consent_text } = word;
    let user = user_id.find(app.db(), caller.workspace()).await?;
    let change = ChannelChange { user, channel, status, consent_text, reason: None };
    let origin = Origin { source: SOURCE.to_owned(), actor: caller.actor(), requester };
    let _: Channels =
        ops::set_channel(app.db(), app.clock().now(), caller.tenant(), &origin, &change).await?;
    Ok(Json(ChannelWordKept { user_id: user, channel, status }))
}

/// A status for a list on a channel.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub(super) struct GroupWord {
    /// Who says it: the caller's own id of a profile, or the internal one.
    #[schema(value_type = String, min_length = 1, max_length = 255)]
    user_id: Person,
    /// The subscription list.
    #[schema(min_length = 1, max_length = 64)]
    list_id: String,
    /// The channel.
    channel: Channel,
    /// What they say.
    status: MembershipStatus,
    /// The words consented to, kept for compliance.
    #[schema(max_length = 10_000)]
    consent_text: Option<String>,
}

/// Characters of a list's id.
const LIST_ID_CHARS_MAX: usize = 64;

impl FromFields for GroupWord {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            user_id: Person::of_body(body),
            list_id: body.required("listId").text(1..=LIST_ID_CHARS_MAX),
            channel: body.required("channel").one_of(Channel::NAMED),
            status: body.required("status").one_of(MembershipStatus::NAMED),
            consent_text: body.optional("consentText").text(0..=CONSENT_TEXT_CHARS_MAX),
        }
    }
}

/// What is so now, or will be once it is confirmed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GroupWordKept {
    /// The person's internal id.
    user_id: UserId,
    /// The list.
    list_id: ListId,
    /// The channel.
    channel: Channel,
    /// `subscribed` or `unsubscribed`; `pending` on a list with double opt-in, until the link sent to the
    /// person is opened.
    #[schema(value_type = String)]
    status: &'static str,
    /// Of a pending one: until when the link works.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_at: Option<Timestamp>,
}

/// Subscribes a person to a list on a channel, or unsubscribes them.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/group",
    tag = "sdk",
    security(("sdk_key" = [])),
    request_body = GroupWord,
    responses(
        (status = 200, body = GroupWordKept),
        (status = 404, description = "no profile has this userId, or no list this id"),
    )
)]
pub(super) async fn set_group(
    State(app): State<App>,
    caller: SdkCaller,
    requester: Requester,
    Body(word): Body<GroupWord>,
) -> Result<Json<GroupWordKept>> {
    let GroupWord { user_id, list_id, channel, status, consent_text } = word;
    let list: ListId = list_id.parse().map_err(|_| Error::NotFound("List"))?;
    let user = user_id.find(app.db(), caller.workspace()).await?;
    let key = MembershipKey { user, list, channel };
    let origin = Origin { source: SOURCE.to_owned(), actor: caller.actor(), requester };
    let (now, tenant) = (app.clock().now(), caller.tenant());
    let kept = |status, expires_at| {
        Json(GroupWordKept { user_id: user, list_id: list, channel, status, expires_at })
    };
    if status == MembershipStatus::Unsubscribed {
        ops::unsubscribe(app.db(), now, tenant, &origin, key).await?;
        return Ok(kept(status.as_str(), None));
    }
    let subscription = Subscription { key, consent_text };
    Ok(match ops::subscribe(app.db(), now, tenant, &origin, &subscription).await? {
        Subscribed::Now(_) => kept(status.as_str(), None),
        Subscribed::Pending(pending) => kept("pending", Some(pending.expires_at)),
    })
}

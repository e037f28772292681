//! `/v1/subscriptions/*`: what a person says in the app about being written to. Who does not prove who they are
//! can only opt out: an opt-in waits for the link that the person gets.

use axum::{Json, extract::State};
use contacts::{
    consent::{
        model::{ChannelStatus, MembershipKey, MembershipStatus},
        ops::{self, ChannelChange, ChannelRequest, Subscribed, Subscription},
    },
    lists,
};
use kernel::{
    Channel, Error, ListId, Result, Timestamp, UserId,
    fields::{Fields, FromFields},
};
use serde::Serialize;
use utoipa::ToSchema;
use web::{
    audit::Origin,
    http::{ApiResult, Body, Requester},
};

use super::person::{AppUser, Person};
use crate::{SdkState, ops::subject::Subject};

/// Characters of the words consented to.
const CONSENT_TEXT_CHARS_MAX: usize = 10_000;
/// Where these changes come from. It proves no address, so a list with double opt-in asks for a confirmation; and
/// it takes no row out of the suppressions that an operator or another workspace put there.
const SOURCE: &str = ops::SDK_SOURCE;

/// A status for a channel.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub(super) struct ChannelWord {
    /// Who says it: the caller's own id of a profile, or the internal one.
    #[schema(value_type = String, min_length = 1, max_length = 255)]
    user_id: Person,
    channel: Channel,
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
    /// The person's internal id; without a user token `userId` as it was sent.
    user_id: String,
    channel: Channel,
    /// What they said; `pending` for an opt-in without a user token, until the link sent to the person is
    /// opened.
    status: ChannelWordStatus,
    /// Of a pending one: until when the link works.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_at: Option<Timestamp>,
}

/// What holds for a channel.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum ChannelWordStatus {
    OptedIn,
    Subscribed,
    Unsubscribed,
    /// Waits for the person's confirmation.
    Pending,
}

impl From<ChannelStatus> for ChannelWordStatus {
    fn from(status: ChannelStatus) -> Self {
        match status {
            ChannelStatus::OptedIn => Self::OptedIn,
            ChannelStatus::Subscribed => Self::Subscribed,
            ChannelStatus::Unsubscribed => Self::Unsubscribed,
        }
    }
}

/// Sets a person's status on a channel. Without a user token, where that is allowed, an opt-in waits for a
/// confirmation, and the answer is the same whether or not the person has a profile.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/channel",
    tag = "sdk",
    security(("sdk_key" = [], "user_token" = [])),
    request_body = ChannelWord,
    responses(
        (status = 200, body = ChannelWordKept),
        (status = 404, description = "the user token's person has no profile"),
    )
)]
pub(super) async fn set_channel(
    State(app): State<SdkState>,
    caller: AppUser,
    requester: Requester,
    Body(word): Body<ChannelWord>,
) -> ApiResult<Json<ChannelWordKept>> {
    let ChannelWord { user_id, channel, status, consent_text } = word;
    let (now, tenant) = (app.clock().now(), caller.tenant());
    let origin = Origin { source: SOURCE.to_owned(), actor: caller.actor(), requester };
    let subject = caller.subject(&app, &user_id).await?;
    if let Subject::Claimed(user) = subject
        && status.is_opt_in()
    {
        let request = ChannelRequest { user, channel, status, consent_text };
        let expires = ops::request_channel(app.db(), now, tenant, &origin, &request).await?;
        return Ok(Json(ChannelWordKept {
            user_id: user_id.into_name(),
            channel,
            status: ChannelWordStatus::Pending,
            expires_at: Some(expires),
        }));
    }
    if let Some(user) = subject.user() {
        let change = ChannelChange { user, channel, status, consent_text, reason: None };
        let set = ops::set_channel(app.db(), now, tenant, &origin, &change).await;
        silently(subject, set)?;
    }
    let user_id = shown_id(subject, user_id);
    Ok(Json(ChannelWordKept { user_id, channel, status: status.into(), expires_at: None }))
}

/// The id that an answer calls a person by: what nobody proved to know is not told.
fn shown_id(subject: Subject, sent: Person) -> String {
    match subject {
        Subject::Proven(user) => user.to_string(),
        Subject::Claimed(_) => sent.into_name(),
    }
}

/// Lets who proved nothing not see that a profile is not there.
fn silently<T>(subject: Subject, done: Result<T>) -> Result<()> {
    match (subject, done) {
        (Subject::Claimed(_), Err(Error::NotFound(_))) | (_, Ok(_)) => Ok(()),
        (_, Err(fault)) => Err(fault),
    }
}

/// A status for a list on a channel.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
pub(super) struct GroupWord {
    /// Who says it: the caller's own id of a profile, or the internal one.
    #[schema(value_type = String, min_length = 1, max_length = 255)]
    user_id: Person,
    #[schema(min_length = 1, max_length = 64)]
    list_id: String,
    channel: Channel,
    status: MembershipStatus,
    /// The words consented to, kept for compliance.
    #[schema(max_length = 10_000)]
    consent_text: Option<String>,
}

/// Stands for a person without a profile; no profile has this id.
const NO_USER: UserId = UserId::from_bytes([0; 12]);
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
    /// The person's internal id; without a user token `userId` as it was sent.
    user_id: String,
    list_id: ListId,
    channel: Channel,
    /// `subscribed` or `unsubscribed`; `pending` on a list with double opt-in, and without a user token, until
    /// the link sent to the person is opened.
    #[schema(value_type = String)]
    status: &'static str,
    /// Of a pending one: until when the link works.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_at: Option<Timestamp>,
}

/// Subscribes a person to a list on a channel, or unsubscribes them. Without a user token, where that is allowed,
/// a subscription waits for a confirmation, and the answer is the same whether or not the person has a profile.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/group",
    tag = "sdk",
    security(("sdk_key" = [], "user_token" = [])),
    request_body = GroupWord,
    responses(
        (status = 200, body = GroupWordKept),
        (status = 404, description = "the user token's person has no profile, or no list has this id"),
    )
)]
pub(super) async fn set_group(
    State(app): State<SdkState>,
    caller: AppUser,
    requester: Requester,
    Body(word): Body<GroupWord>,
) -> ApiResult<Json<GroupWordKept>> {
    let GroupWord { user_id, list_id, channel, status, consent_text } = word;
    let list: ListId = list_id.parse().map_err(|_| Error::NotFound("List"))?;
    let subject = caller.subject(&app, &user_id).await?;
    // Before anything that depends on whether there is a profile.
    lists::ops::get(&app, caller.workspace(), list).await?;
    let key = MembershipKey { user: subject.user().unwrap_or(NO_USER), list, channel };
    let origin = Origin { source: SOURCE.to_owned(), actor: caller.actor(), requester };
    let (now, tenant) = (app.clock().now(), caller.tenant());
    let user_id = shown_id(subject, user_id);
    let kept = |status, expires_at| {
        Json(GroupWordKept { user_id, list_id: list, channel, status, expires_at })
    };
    if status == MembershipStatus::Unsubscribed {
        silently(subject, ops::unsubscribe(app.db(), now, tenant, &origin, key).await)?;
        return Ok(kept(status.as_str(), None));
    }
    let subscription = Subscription { key, consent_text };
    if let Subject::Claimed(_) = subject {
        let expires = ops::request(app.db(), now, tenant, &origin, &subscription).await?;
        return Ok(kept("pending", Some(expires)));
    }
    Ok(match ops::subscribe(app.db(), now, tenant, &origin, &subscription).await? {
        Subscribed::Now(_) => kept(status.as_str(), None),
        Subscribed::Pending(pending) => kept("pending", Some(pending.expires_at)),
    })
}

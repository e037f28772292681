//! `/v1/subscriptions/*`: consent given or withdrawn in an app. Without a proven identity only opt-outs take
//! effect at once: an opt-in waits for the confirmation link that the person is sent.

use axum::{Json, extract::State};
use contacts::{
    consent::{
        model::{ChannelStatus, MembershipKey, MembershipStatus},
        ops::{self, ChannelChange, ChannelRequest, Subscribed, Subscription},
    },
    lists,
};
use kernel::fields::describe::described;
use kernel::{
    Channel, Error, ListId, Result, Timestamp, UserId,
    fields::{Fields, FromFields},
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    audit::Origin,
    http::{ApiResult, Body, Requester},
};

use super::person::{AppUser, Person};
use crate::{SdkState, ops::subject::Subject};

pub(super) fn routes() -> OpenApiRouter<SdkState> {
    OpenApiRouter::new().routes(routes!(set_channel)).routes(routes!(set_group))
}

const CONSENT_TEXT_CHARS_MAX: usize = 10_000;
/// The source of these changes. It does not prove an address, so a list with double opt-in asks for a
/// confirmation; and it removes no suppression that an operator or another workspace added.
const SOURCE: &str = ops::SDK_SOURCE;

/// The body of a change of a channel.
#[derive(Debug)]
pub(super) struct ChannelWord {
    user_id: Person,
    channel: Channel,
    status: ChannelStatus,
    consent_text: Option<String>,
}

described!(
    /// A status for a channel.
    ChannelWord as "ChannelWord"
);

/// The description of `userId`.
const USER_ID: &str = "The caller's own id of the profile, or the internal one.";
/// The description of `consentText`.
const CONSENT_TEXT: &str = "The text the person consented to, stored for compliance.";

impl FromFields for ChannelWord {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            user_id: Person::of_body(body, USER_ID),
            channel: body.required("channel").as_type::<Channel>().one_of(Channel::NAMED),
            status: body.required("status").as_type::<ChannelStatus>().one_of(ChannelStatus::NAMED),
            consent_text: body
                .optional("consentText")
                .about(CONSENT_TEXT)
                .text(0..=CONSENT_TEXT_CHARS_MAX),
        }
    }
}

/// The consent after the call.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChannelWordKept {
    /// The person's internal id; without a user token `userId` as it was sent.
    user_id: String,
    channel: Channel,
    /// The status that was set; `pending` for an opt-in without a user token, until the person opens the
    /// link.
    status: ChannelWordStatus,
    /// For `pending`: when the link expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_at: Option<Timestamp>,
}

/// The status of a channel.
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
        (status = 404, description = "the person of the user token has no profile"),
    )
)]
async fn set_channel(
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
        hide_missing_profile(subject, set)?;
    }
    let user_id = answered_id(subject, user_id);
    Ok(Json(ChannelWordKept { user_id, channel, status: status.into(), expires_at: None }))
}

/// The id in the answer. A caller without a user token must not learn the internal id.
fn answered_id(subject: Subject, sent: Person) -> String {
    match subject {
        Subject::Proven(user) => user.to_string(),
        Subject::Claimed(_) => sent.into_name(),
    }
}

/// A caller without a user token must not learn whether the profile exists.
fn hide_missing_profile<T>(subject: Subject, done: Result<T>) -> Result<()> {
    match (subject, done) {
        (Subject::Claimed(_), Err(Error::NotFound(_))) | (_, Ok(_)) => Ok(()),
        (_, Err(fault)) => Err(fault),
    }
}

/// The body of a change of a list.
#[derive(Debug)]
pub(super) struct GroupWord {
    user_id: Person,
    list_id: String,
    channel: Channel,
    status: MembershipStatus,
    consent_text: Option<String>,
}

described!(
    /// A status for a list on a channel.
    GroupWord as "GroupWord"
);

/// Stands for a person without a profile; no profile has this id.
const NO_USER: UserId = UserId::from_bytes([0; 12]);
const LIST_ID_CHARS_MAX: usize = 64;

impl FromFields for GroupWord {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            user_id: Person::of_body(body, USER_ID),
            list_id: body.required("listId").text(1..=LIST_ID_CHARS_MAX),
            channel: body.required("channel").as_type::<Channel>().one_of(Channel::NAMED),
            status: body
                .required("status")
                .as_type::<MembershipStatus>()
                .one_of(MembershipStatus::NAMED),
            consent_text: body
                .optional("consentText")
                .about(CONSENT_TEXT)
                .text(0..=CONSENT_TEXT_CHARS_MAX),
        }
    }
}

/// The subscription after the call.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GroupWordKept {
    /// The person's internal id; without a user token `userId` as it was sent.
    user_id: String,
    list_id: ListId,
    channel: Channel,
    /// `subscribed` or `unsubscribed`; `pending` on a list with double opt-in, and without a user token,
    /// until the person opens the link.
    #[schema(value_type = String)]
    status: &'static str,
    /// For `pending`: when the link expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_at: Option<Timestamp>,
}

/// Subscribes a person to a list on a channel, or unsubscribes them. Without a user token, where that is
/// allowed, a subscription waits for a confirmation, and the answer is the same whether or not the person has
/// a profile.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/group",
    tag = "sdk",
    security(("sdk_key" = [], "user_token" = [])),
    request_body = GroupWord,
    responses(
        (status = 200, body = GroupWordKept),
        (status = 404, description = "the person of the user token has no profile, or no list has this id"),
    )
)]
async fn set_group(
    State(app): State<SdkState>,
    caller: AppUser,
    requester: Requester,
    Body(word): Body<GroupWord>,
) -> ApiResult<Json<GroupWordKept>> {
    let GroupWord { user_id, list_id, channel, status, consent_text } = word;
    let list: ListId = list_id.parse().map_err(|_| Error::NotFound("List"))?;
    let subject = caller.subject(&app, &user_id).await?;
    // Before anything that depends on whether the profile exists.
    lists::ops::get(&app, caller.workspace(), list).await?;
    let key = MembershipKey { user: subject.user().unwrap_or(NO_USER), list, channel };
    let origin = Origin { source: SOURCE.to_owned(), actor: caller.actor(), requester };
    let (now, tenant) = (app.clock().now(), caller.tenant());
    let user_id = answered_id(subject, user_id);
    let kept = |status, expires_at| {
        Json(GroupWordKept { user_id, list_id: list, channel, status, expires_at })
    };
    if status == MembershipStatus::Unsubscribed {
        hide_missing_profile(subject, ops::unsubscribe(app.db(), now, tenant, &origin, key).await)?;
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

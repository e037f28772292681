//! `/subscriptions/contacts/:userId/lists/*`: a contact's memberships.

use axum::{Json, extract::State};
use kernel::fields::describe::described;
use kernel::{
    Channel, ListId, OrganizationId, Timestamp, UserId, WorkspaceId,
    fields::{Fields, FromFields},
};
use serde::Serialize;
use url::Url;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    audit::Origin,
    auth::{CallerOrSession, scope},
    http::{ApiResult, Body, Requester},
    links::{ConfirmSubscription, Link},
};

use super::{
    channels::{CONSENT_TEXT, CONSENT_TEXT_CHARS_MAX, Success, source},
    path::{OfContact, OfList},
};
use crate::consent::{
    model::{Membership, MembershipKey, Pending, Tenant},
    ops::{self, Subscribed, Subscription},
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(list_lists)).routes(routes!(subscribe, unsubscribe))
}

/// Lists a contact's memberships, subscribed and unsubscribed, oldest first.
#[utoipa::path(
    get,
    path = "/subscriptions/contacts/{userId}/lists",
    tag = "consent",
    params(("userId" = UserId, Path, description = "internal contact id, 24-hex")),
    responses((status = 200, body = [Membership]))
)]
async fn list_lists(
    State(app): State<Services>,
    caller: CallerOrSession<scope::ComplianceRead>,
    OfContact(contact): OfContact,
) -> ApiResult<Json<Vec<Membership>>> {
    let lists = ops::read::memberships(app.db(), caller.tenant(), contact.user()?).await?;
    Ok(Json(lists))
}

/// The body of a subscription.
#[derive(Debug)]
pub(super) struct Subscribe {
    channel: Channel,
    source: String,
    consent_text: Option<String>,
}

described!(
    /// A subscription to a list.
    Subscribe as "Subscribe"
);

impl FromFields for Subscribe {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            channel: body.required("channel").as_type::<Channel>().one_of(Channel::NAMED),
            source: source(
                body,
                "The source (`form`, `import`, `preference_center`, …); default `api`.",
            ),
            consent_text: body
                .optional("consentText")
                .about(CONSENT_TEXT)
                .text(0..=CONSENT_TEXT_CHARS_MAX),
        }
    }
}

/// A membership, or a subscription that waits to be confirmed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum SubscribeAnswer {
    Now(Box<Membership>),
    /// There is no membership yet.
    Pending(Box<PendingMembership>),
}

/// A subscription that waits for the click on a link. Nothing is subscribed before that.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PendingMembership {
    organization_id: OrganizationId,
    workspace_id: WorkspaceId,
    contact_id: UserId,
    list_id: ListId,
    channel: Channel,
    #[schema(value_type = String)]
    status: &'static str,
    /// Where it came from.
    opt_in_source: String,
    /// The words to be consented to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    consent_text: Option<String>,
    /// Send this link to the contact only: any person who opens it can confirm.
    confirm_url: String,
    /// Until when the link works.
    expires_at: Timestamp,
}

impl PendingMembership {
    fn of(tenant: Tenant, pending: Pending, confirm_url: Url) -> Self {
        Self {
            organization_id: tenant.organization,
            workspace_id: tenant.workspace,
            contact_id: pending.key.user,
            list_id: pending.key.list,
            channel: pending.key.channel,
            status: "pending",
            opt_in_source: pending.source,
            consent_text: pending.consent_text,
            confirm_url: confirm_url.into(),
            expires_at: pending.expires_at,
        }
    }
}

/// Subscribes a contact to a list: also one who had opted out of it, whom nothing else subscribes again.
#[utoipa::path(
    post,
    path = "/subscriptions/contacts/{userId}/lists/{listId}",
    tag = "consent",
    params(
        ("userId" = UserId, Path, description = "internal contact id, 24-hex"),
        ("listId" = ListId, Path),
    ),
    request_body = Subscribe,
    responses((status = 200, body = SubscribeAnswer, description = "`pending` where the list requires \
        double opt-in and the source is `form` or `preference_center`"))
)]
async fn subscribe(
    State(app): State<Services>,
    caller: CallerOrSession<scope::ComplianceWrite>,
    path: OfList,
    requester: Requester,
    Body(body): Body<Subscribe>,
) -> ApiResult<Json<SubscribeAnswer>> {
    let (user, list, channel) = (path.contact.user()?, path.list()?, body.channel);
    let tenant = caller.tenant();
    let subscription = Subscription {
        key: MembershipKey { user, list, channel },
        consent_text: body.consent_text,
    };
    let origin = Origin { source: body.source, actor: caller.actor(), requester };
    let now = app.clock().now();
    let subscribed = ops::subscribe(app.db(), now, tenant, &origin, &subscription).await?;
    Ok(Json(match subscribed {
        Subscribed::Now(membership) => SubscribeAnswer::Now(Box::new(membership)),
        Subscribed::Pending(pending) => {
            let workspace = tenant.workspace;
            let link = ConfirmSubscription { workspace, user, list, channel };
            let url = app.links().url(now, &Link::ConfirmSubscription(link)).await?;
            SubscribeAnswer::Pending(Box::new(PendingMembership::of(tenant, pending, url)))
        }
    }))
}

/// The body of an opt-out.
#[derive(Debug)]
pub(super) struct Unsubscribe {
    channel: Channel,
    source: String,
}

described!(
    /// An opt-out of a list.
    Unsubscribe as "Unsubscribe"
);

impl FromFields for Unsubscribe {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            channel: body.required("channel").as_type::<Channel>().one_of(Channel::NAMED),
            source: source(body, "The source; default `api`."),
        }
    }
}

/// Unsubscribes a contact from a list.
#[utoipa::path(
    delete,
    path = "/subscriptions/contacts/{userId}/lists/{listId}",
    tag = "consent",
    params(
        ("userId" = UserId, Path, description = "internal contact id, 24-hex"),
        ("listId" = ListId, Path),
    ),
    request_body = Unsubscribe,
    responses((status = 200, body = Success))
)]
async fn unsubscribe(
    State(app): State<Services>,
    caller: CallerOrSession<scope::ComplianceWrite>,
    path: OfList,
    requester: Requester,
    Body(body): Body<Unsubscribe>,
) -> ApiResult<Json<Success>> {
    let key =
        MembershipKey { user: path.contact.user()?, list: path.list()?, channel: body.channel };
    let origin = Origin { source: body.source, actor: caller.actor(), requester };
    let now = app.clock().now();
    ops::unsubscribe(app.db(), now, caller.tenant(), &origin, key).await?;
    Ok(Json(Success::YES))
}

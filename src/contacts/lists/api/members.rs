//! `/lists/:listId/members`: who is on a list, and putting thousands on it or off it.

use axum::{Json, extract::State};
use kernel::fields::describe::described;
use kernel::{
    Channel, ListId, UserId,
    fields::{Fields, FromFields},
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    audit::Origin,
    auth::{Caller, scope},
    http::{
        ApiResult, Body, BodyFor, FromQuery, OffsetPage, PathOf, Query, QueryFields, Requester,
    },
};

use crate::{
    consent::{
        self,
        model::{Membership, MembershipStatus},
    },
    lists::{
        model::{BULK_CONTACTS_MAX, MemberFilter},
        ops,
    },
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(list_members)).routes(routes!(add_members, remove_members))
}

/// Memberships on a page where the caller asks for no number, and at most.
type Page = OffsetPage<50, 200>;

/// Characters of a source.
const SOURCE_CHARS_MAX: usize = 255;
/// The source of what names none.
const SOURCE: &str = "api";

/// The query string, checked.
#[derive(Debug)]
pub(super) struct MembersQuery(MemberFilter);

impl FromQuery for MembersQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        let (channel, status) = (
            query.one_of("channel", Channel::NAMED),
            query.one_of("status", MembershipStatus::NAMED),
        );
        let Page { limit, offset } = Page::from_query(query);
        Self(MemberFilter { channel, status, limit, offset })
    }
}

/// A page of memberships.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Members {
    /// The page, newest first.
    members: Vec<Membership>,
    /// Memberships that match in all.
    total: i64,
}

/// The body of both bulk calls.
#[derive(Debug)]
pub(super) struct Bulk {
    users: Vec<UserId>,
    channel: Channel,
    source: Option<String>,
}

described!(
    /// Contacts to add to a list, or to remove from it.
    Bulk as "BulkContacts"
);

impl FromFields for Bulk {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let ids = body
            .required("contactIds")
            .about("Internal contact ids; unknown ones are passed over, repeated ones count once.")
            .list(1..=BULK_CONTACTS_MAX, |item| item.text(0..=usize::MAX));
        Self {
            // An invalid id matches no contact.
            users: ids.iter().filter_map(|id| id.parse().ok()).collect(),
            channel: body.required("channel").as_type::<Channel>().one_of(Channel::NAMED),
            source: body
                .optional("source")
                .about("Recorded as `optInSource` and in the history; default `api`.")
                .text(1..=SOURCE_CHARS_MAX),
        }
    }
}

impl Bulk {
    fn origin<S>(&self, caller: &Caller<S>, requester: Requester) -> Origin {
        let source = self.source.clone().unwrap_or_else(|| SOURCE.to_owned());
        Origin { source, actor: caller.actor(), requester }
    }
}

/// What became of a bulk addition.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Added {
    #[serde(rename = "added")]
    made: u64,
    /// Always 0: memberships that are there are left alone.
    updated: u64,
    /// Contacts that had opted out, and stay so.
    skipped_unsubscribed: u64,
}

/// What became of a bulk removal.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RemovedMembers)]
pub(super) struct Removed {
    /// Memberships that were subscribed and are not any more.
    removed: u64,
}

/// Lists the memberships of a list, newest first.
#[utoipa::path(
    get,
    path = "/lists/{listId}/members",
    tag = "lists",
    params(
        ("listId" = ListId, Path),
        ("channel" = Option<Channel>, Query),
        ("status" = Option<MembershipStatus>, Query),
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = Members), (status = 404, description = "absent or archived"))
)]
async fn list_members(
    State(app): State<Services>,
    caller: Caller<scope::ComplianceRead>,
    Query(MembersQuery(filter)): Query<MembersQuery>,
    PathOf(id): PathOf<ListId>,
) -> ApiResult<Json<Members>> {
    let (members, total) = ops::members(&app, caller.tenant(), id, &filter).await?;
    Ok(Json(Members { members, total }))
}

/// Puts contacts on a list. Who has a membership keeps it, and who opted out stays out.
#[utoipa::path(
    post,
    path = "/lists/{listId}/members/bulk",
    tag = "lists",
    params(("listId" = ListId, Path)),
    request_body = Bulk,
    responses((status = 200, body = Added), (status = 404, description = "absent or archived"))
)]
async fn add_members(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    BodyFor(id, Body(bulk)): BodyFor<ListId, Body<Bulk>>,
) -> ApiResult<Json<Added>> {
    let origin = bulk.origin(&caller, requester);
    let members = consent::ops::Members { list: id, channel: bulk.channel, users: &bulk.users };
    let added = ops::add_members(&app, caller.tenant(), &origin, members).await?;
    let skipped_unsubscribed = added.skipped_unsubscribed;
    Ok(Json(Added { made: added.added, updated: 0, skipped_unsubscribed }))
}

/// Takes contacts off a list; their memberships stay, unsubscribed.
#[utoipa::path(
    delete,
    path = "/lists/{listId}/members/bulk",
    tag = "lists",
    params(("listId" = ListId, Path)),
    request_body = Bulk,
    responses((status = 200, body = Removed), (status = 404, description = "absent or archived"))
)]
async fn remove_members(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    BodyFor(id, Body(bulk)): BodyFor<ListId, Body<Bulk>>,
) -> ApiResult<Json<Removed>> {
    let origin = bulk.origin(&caller, requester);
    let members = consent::ops::Members { list: id, channel: bulk.channel, users: &bulk.users };
    let removed = ops::remove_members(&app, caller.tenant(), &origin, members).await?;
    Ok(Json(Removed { removed }))
}

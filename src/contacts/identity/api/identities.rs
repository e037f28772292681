//! `/users/:userId/identities`: every identifier of a profile, and the removal of some.

use axum::{Json, extract::State};
use kernel::{
    Timestamp,
    fields::{
        Fields, FromFields, Words,
        describe::{described, words_schema},
    },
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    auth::{Caller, scope},
    http::{ApiResult, Body, Path, Requester},
};

use crate::{
    IdentityState,
    model::{IDENTIFIER_CHARS_MAX, IdentifierType, Identity, LinkSource, REMOVED_MAX, Removal},
    ops,
};

/// Whose links can be removed, by their names.
const LINKED_BY: &Words<LinkedBy> = &[("sdkKey", LinkedBy::SdkKey)];

pub(super) fn routes() -> OpenApiRouter<IdentityState> {
    OpenApiRouter::new().routes(routes!(list_identities, remove_identities))
}

/// An identifier of a profile.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Identity)]
struct IdentityBody {
    #[serde(rename = "type")]
    kind: IdentifierType,
    id: String,
    linked_at: Timestamp,
    /// What linked it; `profile` for the ids of the profile itself.
    source: LinkSource,
}

impl From<Identity> for IdentityBody {
    fn from(identity: Identity) -> Self {
        let Identity { kind, id, linked_at, source } = identity;
        Self { kind, id, linked_at, source }
    }
}

/// The identifiers of a profile.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Identities {
    /// The profile's own ids first, then the others by the time of their link. At most 1000.
    data: Vec<IdentityBody>,
}

/// Lists the identifiers of a profile.
#[utoipa::path(
    get,
    path = "/users/{userId}/identities",
    tag = "users",
    params(("userId" = String, Path, description = "internal or external id, also of a merged profile")),
    responses((status = 200, body = Identities), (status = 404, description = "no such active profile"))
)]
async fn list_identities(
    State(app): State<IdentityState>,
    caller: Caller<scope::UsersRead>,
    Path(user): Path<String>,
) -> ApiResult<Json<Identities>> {
    let found = ops::identities(app.db(), caller.workspace(), &user).await?;
    Ok(Json(Identities { data: found.into_iter().map(IdentityBody::from).collect() }))
}

/// Whose links are to be removed.
#[derive(Debug, Clone, Copy)]
enum LinkedBy {
    SdkKey,
}

words_schema!(
    /// Whose links are to be removed.
    for LinkedBy as "LinkedBy", LINKED_BY
);

/// The body of a removal.
#[derive(Debug)]
struct RemovalBody(Removal);

described!(
    /// Identifiers that a profile is to lose: by exactly one of `ids` and `linkedBy`.
    RemovalBody as "IdentityRemoval"
);

impl FromFields for RemovalBody {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let ids = body
            .optional("ids")
            .about("Anonymous ids and aliases of the profile; others are passed over, repeated ones count once.")
            .list(1..=REMOVED_MAX, |item| item.text(1..=IDENTIFIER_CHARS_MAX));
        let linked_by = body
            .optional("linkedBy")
            .about("`sdkKey`: every anonymous id that an SDK key linked to the profile.")
            .as_type::<LinkedBy>()
            .one_of(LINKED_BY);
        let is_sent = |name: &str| body.sent().get(name).is_some_and(|value| !value.is_null());
        if is_sent("ids") == is_sent("linkedBy") {
            body.refuse_body("must name the identifiers by exactly one of ids and linkedBy");
        }
        Self(match linked_by {
            Some(LinkedBy::SdkKey) => Removal::LinkedBySdkKeys,
            None => Removal::Ids(ids.unwrap_or_default()),
        })
    }
}

/// What became of a removal.
#[derive(Debug, Serialize, ToSchema)]
struct RemovedIdentities {
    /// Identifiers that the profile had and has no more.
    removed: u64,
}

/// Removes anonymous ids and aliases from a profile. They are free again, and their events without a user are no one's.
#[utoipa::path(
    delete,
    path = "/users/{userId}/identities",
    tag = "users",
    params(("userId" = String, Path, description = "internal or external id, also of a merged profile")),
    request_body = RemovalBody,
    responses(
        (status = 200, body = RemovedIdentities, description = "also where the profile has none of them"),
        (status = 404, description = "no such active profile"),
    )
)]
async fn remove_identities(
    State(app): State<IdentityState>,
    caller: Caller<scope::UsersWrite>,
    requester: Requester,
    Path(user): Path<String>,
    Body(RemovalBody(removal)): Body<RemovalBody>,
) -> ApiResult<Json<RemovedIdentities>> {
    let author = app.author(caller.actor(), requester);
    let removed = ops::remove(app.db(), caller.workspace(), &author, &user, &removal).await?;
    Ok(Json(RemovedIdentities { removed }))
}

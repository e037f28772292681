//! `GET /users/:userId/identities`: every identifier of a profile.

use axum::{Json, extract::State};
use kernel::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, Path},
};

use crate::{
    model::{IdentifierType, Identity, LinkSource},
    ops,
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(list_identities))
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
    State(app): State<Services>,
    caller: Caller<scope::UsersRead>,
    Path(user): Path<String>,
) -> ApiResult<Json<Identities>> {
    let found = ops::identities(app.db(), caller.workspace(), &user).await?;
    Ok(Json(Identities { data: found.into_iter().map(IdentityBody::from).collect() }))
}

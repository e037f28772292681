//! `POST /users/merge`: merges a profile into another.

use axum::{Json, extract::State};
use contacts::users::ops::upsert::WriteContext;
use kernel::{
    UserId,
    fields::{Fields, FromFields, describe::described},
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    audit::Origin,
    auth::{Caller, scope},
    http::{ApiResult, Body, Requester},
};

use crate::{IdentityState, model::IDENTIFIER_CHARS_MAX, ops};

/// Where the changes of this endpoint come from, as the history names it.
const SOURCE: &str = "api";

pub(super) fn routes() -> OpenApiRouter<IdentityState> {
    OpenApiRouter::new().routes(routes!(merge_users))
}

/// The body of a merge.
#[derive(Debug)]
struct MergeRequest {
    from: String,
    into: String,
}

described!(
    /// Two profiles of one person.
    MergeRequest as "MergeRequest"
);

impl FromFields for MergeRequest {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            from: body
                .required("from")
                .about("Internal or external id of the profile that ends.")
                .text(1..=IDENTIFIER_CHARS_MAX),
            into: body
                .required("into")
                .about("Internal or external id of the profile that stays.")
                .text(1..=IDENTIFIER_CHARS_MAX),
        }
    }
}

/// The outcome of a merge.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct MergedUsers {
    /// Internal id of the profile that stays.
    user_id: UserId,
    /// Whether they were two profiles before.
    merged: bool,
}

/// Merges a profile into another. Every id of the merged profile stands for the other from then on.
#[utoipa::path(
    post,
    path = "/users/merge",
    tag = "users",
    request_body = MergeRequest,
    responses(
        (status = 200, body = MergedUsers, description = "also where they were merged before"),
        (status = 404, description = "no such active profile"),
    )
)]
async fn merge_users(
    State(app): State<IdentityState>,
    caller: Caller<scope::UsersWrite>,
    requester: Requester,
    Body(request): Body<MergeRequest>,
) -> ApiResult<Json<MergedUsers>> {
    let tenant = caller.tenant();
    let _permit = app.merge_permit(tenant.workspace).await?;
    let country = app.country(tenant.workspace).await?;
    let context = WriteContext { db: app.db(), tenant, country, now: app.clock().now() };
    let origin = Origin { source: SOURCE.to_owned(), actor: caller.actor(), requester };
    let merged = ops::merge(context, &origin, &request.from, &request.into).await?;
    Ok(Json(MergedUsers { user_id: merged.survivor, merged: merged.is_new }))
}

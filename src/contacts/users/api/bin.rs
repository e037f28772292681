//! `DELETE /users/:userId`, `GET /users/deleted`.

use axum::{Json, extract::State};
use http::StatusCode;
use kernel::{Timestamp, UserId};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, FromQuery, PathOf, Query, QueryFields},
};

use super::read::{Page, QUERY_CHARS_MAX};
use crate::users::{
    model::{DeletedUser, Deletion},
    ops,
};
use kernel::page::PageWindow;

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(list_deleted_users))
}

/// Characters of the reason of a deletion.
const REASON_CHARS_MAX: usize = 255;

/// The query string of a deletion, checked.
#[derive(Debug)]
pub(super) struct DeletionQuery {
    reason: Option<String>,
}

impl FromQuery for DeletionQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { reason: query.text("reason", REASON_CHARS_MAX) }
    }
}

/// Puts a profile into the recycle bin. Its events stay.
#[utoipa::path(
    delete,
    path = "/users/{userId}",
    tag = "users",
    params(
        ("userId" = UserId, Path, description = "internal id, 24-hex"),
        ("reason" = Option<String>, Query, description = "recorded with the deletion; at most 255 characters"),
    ),
    responses((status = 204, description = "deleted"), (status = 404, description = "no such active profile"))
)]
pub(super) async fn delete_user(
    State(app): State<Services>,
    caller: Caller<scope::UsersDelete>,
    Query(query): Query<DeletionQuery>,
    PathOf(user): PathOf<UserId>,
) -> ApiResult<StatusCode> {
    let (id, now) = (user, app.clock().now());
    let by = caller.actor();
    let deletion = Deletion { by: &by, reason: query.reason.as_deref() };
    ops::delete(app.db(), caller.workspace(), now, id, &deletion).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A profile in the recycle bin.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeletedUserBody {
    original_id: UserId,
    email: Option<String>,
    phone: Option<String>,
    external_id: Option<String>,
    deleted_at: Timestamp,
    /// `api_key:<id>` where a program did it.
    deleted_by: String,
    /// `api`, `dashboard`, `import` or `system`.
    deleted_via: String,
    deleted_reason: Option<String>,
    restored_at: Option<Timestamp>,
}

impl From<DeletedUser> for DeletedUserBody {
    fn from(user: DeletedUser) -> Self {
        Self {
            original_id: user.id,
            email: user.email,
            phone: user.phone,
            external_id: user.external_id,
            deleted_at: user.deleted_at,
            deleted_by: user.deleted_by,
            deleted_via: user.deleted_via,
            deleted_reason: user.deleted_reason,
            restored_at: user.restored_at,
        }
    }
}

/// A page of the recycle bin.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DeletedUsers {
    /// Profiles that match in all.
    total: u64,
    /// The page, latest deletion first.
    items: Vec<DeletedUserBody>,
}

/// The query string of the list of deleted profiles, checked.
#[derive(Debug)]
pub(super) struct DeletedUsersQuery {
    query: Option<String>,
    page: Page,
}

impl FromQuery for DeletedUsersQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        let text = query.text("query", QUERY_CHARS_MAX);
        let text = text.filter(|text| !text.trim().is_empty());
        Self { query: text, page: Page::from_query(query) }
    }
}

/// Lists the recycle bin, latest deletion first.
#[utoipa::path(
    get,
    path = "/users/deleted",
    tag = "users",
    params(
        ("query" = Option<String>, Query, description = "what the email or external id begins with, the phone, or the id the profile had"),
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = DeletedUsers))
)]
async fn list_deleted_users(
    State(app): State<Services>,
    caller: Caller<scope::UsersRead>,
    Query(query): Query<DeletedUsersQuery>,
) -> ApiResult<Json<DeletedUsers>> {
    let DeletedUsersQuery { query, page: Page { limit, offset } } = query;
    let workspace = caller.workspace();
    let country = app.country(workspace).await?;
    let window = PageWindow { limit, offset };
    let (users, total) = ops::bin(app.db(), workspace, country, query.as_deref(), window).await?;
    Ok(Json(DeletedUsers { total, items: users.into_iter().map(DeletedUserBody::from).collect() }))
}

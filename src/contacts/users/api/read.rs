//! `GET /users`, `GET /users/search`, `GET /users/:userId`, `GET /users/by-user-id/:userId`.

use axum::{Json, extract::State};
use kernel::UserId;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, FromQuery, OffsetPage, Path, PathOf, Query, QueryFields},
};

use super::wire::{UserBody, UsersPage};
use crate::users::ops;
use kernel::page::PageWindow;

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new().routes(routes!(search_users))
}

/// Profiles on a page where the caller asks for no number, and at most.
pub(super) type Page = OffsetPage<50, 200>;

/// Reads a profile by its internal id.
#[utoipa::path(
    get,
    path = "/users/{userId}",
    tag = "users",
    params(("userId" = UserId, Path, description = "internal id, 24-hex")),
    responses((status = 200, body = UserBody), (status = 404, description = "no such active profile"))
)]
pub(super) async fn get_user(
    State(app): State<Services>,
    caller: Caller<scope::UsersRead>,
    PathOf(user): PathOf<UserId>,
) -> ApiResult<Json<UserBody>> {
    let user = ops::by_id(app.db(), caller.workspace(), user).await?;
    Ok(Json(UserBody::of(&app, caller.workspace(), user).await))
}

/// Reads a profile by the caller's own id of it.
#[utoipa::path(
    get,
    path = "/users/by-user-id/{userId}",
    tag = "users",
    params(("userId" = String, Path, description = "external id")),
    responses((status = 200, body = UserBody), (status = 404, description = "no such active profile"))
)]
pub(super) async fn get_user_by_external_id(
    State(app): State<Services>,
    caller: Caller<scope::UsersRead>,
    Path(user): Path<String>,
) -> ApiResult<Json<UserBody>> {
    let user = ops::by_external_id(app.db(), caller.workspace(), &user).await?;
    Ok(Json(UserBody::of(&app, caller.workspace(), user).await))
}

/// Lists profiles, latest change first.
#[utoipa::path(
    get,
    path = "/users",
    tag = "users",
    params(
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = UsersPage))
)]
pub(super) async fn list_users(
    State(app): State<Services>,
    caller: Caller<scope::UsersRead>,
    Query(page): Query<Page>,
) -> ApiResult<Json<UsersPage>> {
    let Page { limit, offset } = page;
    let workspace = caller.workspace();
    let (users, total) = ops::page(app.db(), workspace, limit, offset).await?;
    let window = PageWindow { limit, offset };
    Ok(Json(UsersPage::of(&app, workspace, users, total, window).await))
}

/// Characters of a search.
pub(super) const QUERY_CHARS_MAX: usize = 255;

/// What is searched, and which page of it.
#[derive(Debug)]
pub(super) struct Search {
    query: String,
    page: Page,
}

impl FromQuery for Search {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        let text = query.required_text("query", QUERY_CHARS_MAX);
        if !text.is_empty() && text.trim().is_empty() {
            query.refuse("query", "must not be blank");
        }
        Self { query: text, page: Page::from_query(query) }
    }
}

/// Finds profiles by identifier, the beginning of one, or a part of a name; case does not matter.
#[utoipa::path(
    get,
    path = "/users/search",
    tag = "users",
    params(
        ("query" = String, Query, min_length = 1, max_length = 255, pattern = "[^\\s]", description = "exact id, external id, email or phone first, then what begins like it, then names that hold it"),
        ("limit" = Option<u32>, Query, description = "default 50, at most 200"),
        ("offset" = Option<u64>, Query, description = "default 0"),
    ),
    responses((status = 200, body = UsersPage, description = "`total` counts up to 1000 matches; more are not found"))
)]
async fn search_users(
    State(app): State<Services>,
    caller: Caller<scope::UsersRead>,
    Query(search): Query<Search>,
) -> ApiResult<Json<UsersPage>> {
    let Search { query, page: Page { limit, offset } } = search;
    let workspace = caller.workspace();
    let country = app.country(workspace).await?;
    let window = PageWindow { limit, offset };
    let (users, total) = ops::search(app.db(), workspace, country, &query, window).await?;
    Ok(Json(UsersPage::of(&app, workspace, users, total, window).await))
}

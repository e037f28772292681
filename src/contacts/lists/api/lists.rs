//! `/lists` and `/lists/:listId`: make, read, change, archive and restore.

use axum::{Json, extract::State};
use http::StatusCode;
use kernel::fields::describe::described;
use kernel::{
    ListId,
    fields::{Fields, FromFields},
};
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, Body, BodyFor, FromQuery, PathOf, Query, QueryFields, Requester},
};

use super::wire::List;
use crate::lists::{
    model::{ListPatch, NewList},
    ops,
};

pub(super) fn routes() -> OpenApiRouter<Services> {
    OpenApiRouter::new()
        .routes(routes!(create_list, list_lists))
        .routes(routes!(get_list, update_list, archive_list))
        .routes(routes!(restore_list))
}

/// The body of a new list.
#[derive(Debug)]
pub(super) struct Create(NewList);

described!(
    /// A list to create.
    Create as "ListFields"
);

impl FromFields for Create {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self(NewList::read(body))
    }
}

/// The body of a change of the template.
#[derive(Debug)]
pub(super) struct Update(ListPatch);

described!(
    /// A change to a list; absent fields stay unchanged.
    Update as "ListChange"
);

impl FromFields for Update {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self(ListPatch::read(body))
    }
}

/// The query string, checked.
#[derive(Debug)]
pub(super) struct ListsQuery {
    include_archived: bool,
}

impl FromQuery for ListsQuery {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { include_archived: query.flag("includeArchived", false) }
    }
}

/// Creates a list; no active list may have its name.
#[utoipa::path(
    post,
    path = "/lists",
    tag = "lists",
    request_body = Create,
    responses((status = 201, body = List), (status = 409, description = "an active list has the name"))
)]
async fn create_list(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    Body(Create(new)): Body<Create>,
) -> ApiResult<(StatusCode, Json<List>)> {
    let author = app.author(caller.actor(), requester);
    let list = ops::create(&app, caller.workspace(), &author, &new).await?;
    Ok((StatusCode::CREATED, Json(List::of(caller.tenant(), list))))
}

/// Lists the lists, newest first, at most 200.
#[utoipa::path(
    get,
    path = "/lists",
    tag = "lists",
    params(("includeArchived" = Option<bool>, Query, description = "default false")),
    responses((status = 200, body = [List]))
)]
async fn list_lists(
    State(app): State<Services>,
    caller: Caller<scope::SettingsRead>,
    Query(query): Query<ListsQuery>,
) -> ApiResult<Json<Vec<List>>> {
    let lists = ops::list(&app, caller.workspace(), query.include_archived).await?;
    Ok(Json(lists.into_iter().map(|list| List::of(caller.tenant(), list)).collect()))
}

/// Reads one list of the workspace.
#[utoipa::path(
    get,
    path = "/lists/{listId}",
    tag = "lists",
    params(("listId" = ListId, Path)),
    responses((status = 200, body = List), (status = 404, description = "absent or archived"))
)]
async fn get_list(
    State(app): State<Services>,
    caller: Caller<scope::SettingsRead>,
    PathOf(id): PathOf<ListId>,
) -> ApiResult<Json<List>> {
    let list = ops::get(&app, caller.workspace(), id).await?;
    Ok(Json(List::of(caller.tenant(), list)))
}

/// Changes an active list.
#[utoipa::path(
    put,
    path = "/lists/{listId}",
    tag = "lists",
    params(("listId" = ListId, Path)),
    request_body = Update,
    responses(
        (status = 200, body = List),
        (status = 404, description = "absent or archived"),
        (status = 409, description = "another active list has the name"),
    )
)]
async fn update_list(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    BodyFor(id, Body(Update(patch))): BodyFor<ListId, Body<Update>>,
) -> ApiResult<Json<List>> {
    let author = app.author(caller.actor(), requester);
    let list = ops::update(&app, caller.workspace(), &author, id, &patch).await?;
    Ok(Json(List::of(caller.tenant(), list)))
}

/// Archives an active list; its memberships stay.
#[utoipa::path(
    delete,
    path = "/lists/{listId}",
    tag = "lists",
    params(("listId" = ListId, Path)),
    responses(
        (status = 204, description = "archived"),
        (status = 404, description = "absent or archived"),
        (status = 409, description = "the default list cannot be archived"),
    )
)]
async fn archive_list(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    PathOf(id): PathOf<ListId>,
) -> ApiResult<StatusCode> {
    let author = app.author(caller.actor(), requester);
    ops::archive(&app, caller.workspace(), &author, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes an archived list active again; an active one is answered as it is.
#[utoipa::path(
    post,
    path = "/lists/{listId}/restore",
    tag = "lists",
    params(("listId" = ListId, Path)),
    responses(
        (status = 200, body = List),
        (status = 404, description = "absent"),
        (status = 409, description = "an active list took the name meanwhile"),
    )
)]
async fn restore_list(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    requester: Requester,
    PathOf(id): PathOf<ListId>,
) -> ApiResult<Json<List>> {
    let author = app.author(caller.actor(), requester);
    let list = ops::restore(&app, caller.workspace(), &author, id).await?;
    Ok(Json(List::of(caller.tenant(), list)))
}

//! `/lists` and `/lists/:listId`: make, read, change, archive and restore.

use axum::{Json, extract::State};
use http::StatusCode;
use kernel::{
    Channel,
    fields::{Fields, FromFields},
    schema::Name,
};
use utoipa::ToSchema;
use web::{
    Services,
    auth::{Caller, scope},
    http::{ApiResult, Body, FromQuery, Path, Query, QueryFields},
};

use super::{
    list_id,
    wire::{List, Owner},
};
use crate::lists::{
    model::{ListPatch, NewList},
    ops,
};

fn owner<S>(caller: &Caller<S>) -> Owner {
    (caller.organization(), caller.workspace())
}

/// What a list is for.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the body for openapi; Kind is what is read")]
enum ListKind {
    Marketing,
    Transactional,
}

/// A list to make.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body for openapi; NewList reads it")]
struct ListFields {
    /// 1 to 255 characters, unique among the workspace's active lists, case aside.
    #[schema(value_type = Name)]
    name: String,
    /// At most 1000 characters.
    #[schema(max_length = 1000)]
    description: Option<String>,
    /// Of `email`, `sms`, `whatsapp`, `push`, `viber`; default `[email]`.
    #[schema(min_items = 1, max_items = 100)]
    channels: Option<Vec<Channel>>,
    /// Whether the preference page shows it; default true.
    is_public: Option<bool>,
    /// `marketing` (default) or `transactional`.
    r#type: Option<ListKind>,
    /// Whether a subscription from a form or the preference page waits for a confirmation.
    require_double_opt_in: Option<bool>,
}

/// What to change of a list; what is not sent stays.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the body for openapi; ListPatch reads it")]
struct ListChange {
    /// 1 to 255 characters, unique among the workspace's active lists, case aside.
    #[schema(value_type = Option<Name>)]
    name: Option<String>,
    /// At most 1000 characters; null clears it.
    #[schema(max_length = 1000)]
    description: Option<String>,
    /// Of `email`, `sms`, `whatsapp`, `push`, `viber`.
    #[schema(min_items = 1, max_items = 100)]
    channels: Option<Vec<Channel>>,
    /// Whether the preference page shows it.
    is_public: Option<bool>,
    r#type: Option<ListKind>,
    /// Whether a subscription from a form or the preference page waits for a confirmation.
    require_double_opt_in: Option<bool>,
}

/// The body of a new list.
#[derive(Debug)]
pub(super) struct Create(NewList);

impl FromFields for Create {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self(NewList::read(body))
    }
}

/// The body of a change.
#[derive(Debug)]
pub(super) struct Update(ListPatch);

impl FromFields for Update {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self(ListPatch::read(body))
    }
}

/// What the query string may ask for.
#[derive(Debug)]
pub(super) struct Ask {
    include_archived: bool,
}

impl FromQuery for Ask {
    fn from_query(query: &mut QueryFields<'_>) -> Self {
        Self { include_archived: query.flag("includeArchived", false) }
    }
}

/// Creates a list.
#[utoipa::path(
    post,
    path = "/lists",
    tag = "lists",
    request_body = ListFields,
    responses((status = 201, body = List), (status = 409, description = "an active list has the name"))
)]
pub(super) async fn create_list(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    Body(Create(new)): Body<Create>,
) -> ApiResult<(StatusCode, Json<List>)> {
    let list = ops::create(&app, caller.workspace(), &new).await?;
    Ok((StatusCode::CREATED, Json(List::of(owner(&caller), list))))
}

/// Lists the lists, newest first, at most 200.
#[utoipa::path(
    get,
    path = "/lists",
    tag = "lists",
    params(("includeArchived" = Option<bool>, Query, description = "default false")),
    responses((status = 200, body = [List]))
)]
pub(super) async fn list_lists(
    State(app): State<Services>,
    caller: Caller<scope::SettingsRead>,
    Query(ask): Query<Ask>,
) -> ApiResult<Json<Vec<List>>> {
    let lists = ops::list(&app, caller.workspace(), ask.include_archived).await?;
    Ok(Json(lists.into_iter().map(|list| List::of(owner(&caller), list)).collect()))
}

/// Reads a list.
#[utoipa::path(
    get,
    path = "/lists/{listId}",
    tag = "lists",
    params(("listId" = kernel::ListId, Path)),
    responses((status = 200, body = List), (status = 404, description = "absent or archived"))
)]
pub(super) async fn get_list(
    State(app): State<Services>,
    caller: Caller<scope::SettingsRead>,
    Path(id): Path<String>,
) -> ApiResult<Json<List>> {
    let list = ops::get(&app, caller.workspace(), list_id(&id)?).await?;
    Ok(Json(List::of(owner(&caller), list)))
}

/// Changes an active list.
#[utoipa::path(
    put,
    path = "/lists/{listId}",
    tag = "lists",
    params(("listId" = kernel::ListId, Path)),
    request_body = ListChange,
    responses(
        (status = 200, body = List),
        (status = 404, description = "absent or archived"),
        (status = 409, description = "another active list has the name"),
    )
)]
pub(super) async fn update_list(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    Path(id): Path<String>,
    Body(Update(patch)): Body<Update>,
) -> ApiResult<Json<List>> {
    let list = ops::update(&app, caller.workspace(), list_id(&id)?, &patch).await?;
    Ok(Json(List::of(owner(&caller), list)))
}

/// Archives an active list; its memberships stay.
#[utoipa::path(
    delete,
    path = "/lists/{listId}",
    tag = "lists",
    params(("listId" = kernel::ListId, Path)),
    responses(
        (status = 204, description = "archived"),
        (status = 404, description = "absent or archived"),
        (status = 409, description = "the default list cannot be archived"),
    )
)]
pub(super) async fn archive_list(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    Path(id): Path<String>,
) -> ApiResult<StatusCode> {
    ops::archive(&app, caller.workspace(), list_id(&id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes an archived list active again; an active one is answered as it is.
#[utoipa::path(
    post,
    path = "/lists/{listId}/restore",
    tag = "lists",
    params(("listId" = kernel::ListId, Path)),
    responses(
        (status = 200, body = List),
        (status = 404, description = "absent"),
        (status = 409, description = "an active list took the name meanwhile"),
    )
)]
pub(super) async fn restore_list(
    State(app): State<Services>,
    caller: Caller<scope::SettingsWrite>,
    Path(id): Path<String>,
) -> ApiResult<Json<List>> {
    let list = ops::restore(&app, caller.workspace(), list_id(&id)?).await?;
    Ok(Json(List::of(owner(&caller), list)))
}

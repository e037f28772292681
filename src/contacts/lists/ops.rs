//! Operations on lists. An archived list can only be restored.

use kernel::{Error, ListId, Result, Tenant, WorkspaceId};
use web::{Services, audit::Origin};

use crate::{
    consent::{
        self,
        model::Membership,
        ops::{Added, Members},
    },
    lists::{
        model::{List, ListPatch, MemberFilter, NewList, Stats},
        store,
    },
};

const NOT_FOUND: Error = Error::NotFound("List");

/// # Errors
/// A conflict when an active list has the name.
pub async fn create(app: &Services, workspace: WorkspaceId, new: &NewList) -> Result<List> {
    store::create(app.db(), workspace, app.clock().now(), new).await
}

pub async fn list(
    app: &Services,
    workspace: WorkspaceId,
    include_archived: bool,
) -> Result<Vec<List>> {
    store::list(app.db(), workspace, include_archived).await
}

/// An active list.
///
/// # Errors
/// Not found when it does not exist or is archived.
pub async fn get(app: &Services, workspace: WorkspaceId, id: ListId) -> Result<List> {
    let list = store::find(app.db(), workspace, id).await?;
    list.filter(|list| list.archived_at.is_none()).ok_or(NOT_FOUND)
}

/// Changes an active list. An empty change leaves `updated_at` as it was.
///
/// # Errors
/// Not found as [`get`]; a conflict when another active list has the name.
pub async fn update(
    app: &Services,
    workspace: WorkspaceId,
    id: ListId,
    patch: &ListPatch,
) -> Result<List> {
    if patch.is_empty() {
        return get(app, workspace, id).await;
    }
    let now = app.clock().now();
    store::update(app.db(), workspace, id, now, patch).await?.ok_or(NOT_FOUND)
}

/// Archives an active list; its memberships stay.
///
/// # Errors
/// Not found as [`get`]; a conflict for the default list.
pub async fn archive(app: &Services, workspace: WorkspaceId, id: ListId) -> Result<()> {
    if get(app, workspace, id).await?.is_default {
        return Err(Error::Conflict("The default list cannot be archived".to_owned()));
    }
    let archived = store::archive(app.db(), workspace, id, app.clock().now()).await?;
    if archived { Ok(()) } else { Err(NOT_FOUND) }
}

/// Makes an archived list active again; an active one is returned as it is.
///
/// # Errors
/// Not found for an unknown list; a conflict when an active list has taken the name.
pub async fn restore(app: &Services, workspace: WorkspaceId, id: ListId) -> Result<List> {
    let list = store::find(app.db(), workspace, id).await?.ok_or(NOT_FOUND)?;
    store::restore(app.db(), workspace, list, app.clock().now()).await
}

/// Counts the memberships of an active list.
///
/// # Errors
/// Not found as [`get`].
pub async fn stats(app: &Services, workspace: WorkspaceId, id: ListId) -> Result<Stats> {
    get(app, workspace, id).await?;
    store::stats(app.db(), workspace, id).await
}

/// A page of an active list's memberships, newest first, and their total number.
///
/// # Errors
/// Not found as [`get`].
pub async fn members(
    app: &Services,
    tenant: Tenant,
    id: ListId,
    filter: &MemberFilter,
) -> Result<(Vec<Membership>, i64)> {
    get(app, tenant.workspace, id).await?;
    store::members(app.db(), tenant, id, filter).await
}

/// Subscribes contacts to an active list.
///
/// # Errors
/// Not found as [`get`].
pub async fn add_members(
    app: &Services,
    tenant: Tenant,
    origin: &Origin,
    members: Members<'_>,
) -> Result<Added> {
    consent::ops::add_members(app.db(), app.clock().now(), tenant, origin, members).await
}

/// Unsubscribes contacts from an active list. Returns how many were subscribed.
///
/// # Errors
/// Not found as [`get`].
pub async fn remove_members(
    app: &Services,
    tenant: Tenant,
    origin: &Origin,
    members: Members<'_>,
) -> Result<u64> {
    consent::ops::remove_members(app.db(), app.clock().now(), tenant, origin, members).await
}

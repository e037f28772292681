//! Operations on lists. An archived list can only be restored.

use kernel::{Error, ListId, Result, Tenant, WorkspaceId};
use serde_json::json;
use sqlx::PgConnection;
use web::{
    Services,
    audit::Origin,
    audit_log::{self, Author, Change, Entry},
};

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

/// Creates a list.
///
/// # Errors
/// A conflict when an active list has the name.
pub async fn create(
    app: &Services,
    workspace: WorkspaceId,
    author: &Author,
    new: &NewList,
) -> Result<List> {
    let mut tx = app.db().begin().await?;
    let list = store::create(&mut tx, workspace, author.now, new).await?;
    log(&mut tx, workspace, author, Change::ListCreated, &list).await?;
    tx.commit().await?;
    Ok(list)
}

/// Adds an entry with the settings of the list to the audit log.
async fn log(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    author: &Author,
    change: Change,
    list: &List,
) -> Result<()> {
    let settings = [
        ("channels", json!(list.channels)),
        ("isPublic", json!(list.is_public)),
        ("type", json!(list.kind.as_str())),
        ("requireDoubleOptIn", json!(list.require_double_opt_in)),
    ];
    let entry = Entry {
        change,
        object_id: &list.id.to_string(),
        object_name: Some(&list.name),
        details: settings.map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
    };
    audit_log::append(tx, workspace, author, entry).await
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
    author: &Author,
    id: ListId,
    patch: &ListPatch,
) -> Result<List> {
    if patch.is_empty() {
        return get(app, workspace, id).await;
    }
    let mut tx = app.db().begin().await?;
    let updated = store::update(&mut tx, workspace, id, author.now, patch).await?;
    let list = updated.ok_or(NOT_FOUND)?;
    log(&mut tx, workspace, author, Change::ListChanged, &list).await?;
    tx.commit().await?;
    Ok(list)
}

/// Archives an active list; its memberships stay.
///
/// # Errors
/// Not found as [`get`]; a conflict for the default list.
pub async fn archive(
    app: &Services,
    workspace: WorkspaceId,
    author: &Author,
    id: ListId,
) -> Result<()> {
    let list = get(app, workspace, id).await?;
    if list.is_default {
        return Err(Error::Conflict("The default list cannot be archived".to_owned()));
    }
    let mut tx = app.db().begin().await?;
    if !store::archive(&mut tx, workspace, id, author.now).await? {
        return Err(NOT_FOUND);
    }
    log(&mut tx, workspace, author, Change::ListArchived, &list).await?;
    tx.commit().await?;
    Ok(())
}

/// Makes an archived list active again; an active one is returned as it is.
///
/// # Errors
/// Not found for an unknown list; a conflict when an active list has taken the name.
pub async fn restore(
    app: &Services,
    workspace: WorkspaceId,
    author: &Author,
    id: ListId,
) -> Result<List> {
    let list = store::find(app.db(), workspace, id).await?.ok_or(NOT_FOUND)?;
    let mut tx = app.db().begin().await?;
    let Some(restored) = store::restore(&mut tx, workspace, &list, author.now).await? else {
        return Ok(list);
    };
    log(&mut tx, workspace, author, Change::ListRestored, &restored).await?;
    tx.commit().await?;
    Ok(restored)
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

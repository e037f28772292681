//! Creating, changing, finding and deleting profiles: the transactions.

pub mod calls;
pub mod change;
pub mod inline;
pub mod locks;
pub mod phone_numbers;
pub mod upsert;

use std::collections::HashSet;

use kernel::{Country, Error, Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgPool};
use web::db;

use crate::users::{
    model::{DeletedUser, Deletion, ProfileRecord, User, typed::Typed},
    store,
};
use kernel::page::PageWindow;

pub(in crate::users) const NO_USER: Error = Error::NotFound("User");

/// The active profile with this internal id.
pub async fn by_id(db: &PgPool, workspace: WorkspaceId, id: UserId) -> Result<User> {
    store::read::by_id(db, workspace, id).await?.ok_or(NO_USER)
}

/// The active profile with this external id.
pub async fn by_external_id(db: &PgPool, workspace: WorkspaceId, id: &str) -> Result<User> {
    store::read::by_external_id(db, workspace, id).await?.ok_or(NO_USER)
}

/// The internal id of the active profile with this external id, otherwise with this internal id.
pub async fn id_of(db: &PgPool, workspace: WorkspaceId, text: &str) -> Result<UserId> {
    store::read::id_of(db, workspace, text).await?.ok_or(NO_USER)
}

/// Those of these internal ids that a profile has or had, active or not.
///
/// # Errors
/// When the store fails.
pub async fn internal_ids(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    ids: &[UserId],
) -> Result<HashSet<UserId>> {
    store::resolve::internal_ids(tx, workspace, ids).await
}

/// The active profiles among these, in this order.
pub async fn in_order(db: &PgPool, workspace: WorkspaceId, ids: &[UserId]) -> Result<Vec<User>> {
    store::search::in_order(db, workspace, ids).await
}

/// A page of active profiles, latest change first, and their total number.
pub async fn page(
    db: &PgPool,
    workspace: WorkspaceId,
    limit: u32,
    offset: u64,
) -> Result<(Vec<User>, u64)> {
    let rows = store::read::page(db, workspace, limit, offset).await?;
    Ok((rows, store::read::count(db, workspace).await?))
}

/// The active profiles after this one in the order of internal ids, with what else is stored about them: at most `limit`,
/// and fewer where they are large. An empty page is the end.
pub async fn records(
    db: &PgPool,
    workspace: WorkspaceId,
    after: Option<UserId>,
    limit: u32,
) -> Result<Vec<ProfileRecord>> {
    store::read::records(db, workspace, after, limit).await
}

/// Moves a profile to the recycle bin, the survivor by the id of a merged one. No read finds it after that. Its events stay.
pub async fn delete(
    pool: &PgPool,
    workspace: WorkspaceId,
    now: Timestamp,
    id: UserId,
    deletion: &Deletion<'_>,
) -> Result<()> {
    db::retried(|| delete_once(pool, workspace, now, id, deletion)).await
}

async fn delete_once(
    pool: &PgPool,
    workspace: WorkspaceId,
    now: Timestamp,
    id: UserId,
    deletion: &Deletion<'_>,
) -> Result<()> {
    let mut tx = pool.begin().await?;
    let found = locks::ending(&mut tx, workspace, id, None).await?;
    let survivor = found.get(&id).copied().ok_or(NO_USER)?;
    store::bin::delete(&mut tx, workspace, now, survivor, deletion).await?;
    tx.commit().await?;
    Ok(())
}

/// A page of the active profiles that match a text, best match first and among equals latest change first, and
/// the number of matches. A text matches an internal id, external id, email or phone, the beginning of an
/// email, external id or phone, or a part of a name. At most a thousand profiles are found.
pub async fn search(
    db: &PgPool,
    workspace: WorkspaceId,
    country: Option<Country>,
    text: &str,
    window: PageWindow,
) -> Result<(Vec<User>, u64)> {
    let PageWindow { limit, offset } = window;
    let found = store::search::search(db, workspace, &Typed::new(text.trim(), country)).await?;
    let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(found.len());
    let page: Vec<UserId> = found.iter().copied().skip(offset).take(limit as usize).collect();
    Ok((store::search::in_order(db, workspace, &page).await?, found.len() as u64))
}

/// A page of the recycle bin, latest deletion first, and the total: of all profiles in it, or of those that a
/// text matches by id, phone, or the beginning of an email or external id.
pub async fn bin(
    db: &PgPool,
    workspace: WorkspaceId,
    country: Option<Country>,
    text: Option<&str>,
    window: PageWindow,
) -> Result<(Vec<DeletedUser>, u64)> {
    match text {
        None => store::bin::page(db, workspace, window).await,
        Some(text) => {
            let typed = Typed::new(text.trim(), country);
            store::bin::matching(db, workspace, &typed, window).await
        }
    }
}

//! What creating, changing, finding and deleting profiles take: the transactions.

pub mod change;
pub mod inline;
pub mod upsert;

use kernel::{Error, Result, Timestamp, UserId, WorkspaceId};
use sqlx::PgPool;

use crate::users::{
    model::{DeletedUser, Deletion, User, typed::Typed},
    store::{self, bin::Window},
};

/// What a profile that is not there is called.
pub(in crate::users) const NO_USER: Error = Error::NotFound("User");

/// The active profile with this internal id.
pub async fn by_id(db: &PgPool, workspace: WorkspaceId, id: UserId) -> Result<User> {
    store::read::by_id(db, workspace, id).await?.ok_or(NO_USER)
}

/// The active profile with this id of the caller's.
pub async fn by_external_id(db: &PgPool, workspace: WorkspaceId, id: &str) -> Result<User> {
    store::read::by_external_id(db, workspace, id).await?.ok_or(NO_USER)
}

/// The internal id of the active profile that a text names: by the caller's own id of it, else by its
/// internal one.
pub async fn id_of(db: &PgPool, workspace: WorkspaceId, text: &str) -> Result<UserId> {
    store::read::id_of(db, workspace, text).await?.ok_or(NO_USER)
}

/// A page of active profiles, latest change first, and how many there are in all.
pub async fn page(
    db: &PgPool,
    workspace: WorkspaceId,
    limit: u32,
    offset: u64,
) -> Result<(Vec<User>, u64)> {
    let rows = store::read::page(db, workspace, limit, offset).await?;
    Ok((rows, store::read::count(db, workspace).await?))
}

/// Puts a profile into the recycle bin; from then on it is in no read. Its events stay.
pub async fn delete(
    db: &PgPool,
    workspace: WorkspaceId,
    now: Timestamp,
    id: UserId,
    deletion: &Deletion<'_>,
) -> Result<()> {
    if store::bin::delete(db, workspace, now, id, deletion).await? { Ok(()) } else { Err(NO_USER) }
}

/// A page of the active profiles that a text finds, best match first and among equals latest change
/// first, and how many it finds: by internal id, external id, email or phone; by what an email, an
/// external id or a phone number begins with; by a part of a name. More than a thousand are not found.
pub async fn search(
    db: &PgPool,
    workspace: WorkspaceId,
    text: &str,
    limit: u32,
    offset: u64,
) -> Result<(Vec<User>, u64)> {
    let found = store::search::search(db, workspace, &Typed::new(text.trim())).await?;
    let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(found.len());
    let page: Vec<UserId> = found.iter().copied().skip(offset).take(limit as usize).collect();
    Ok((store::search::in_order(db, workspace, &page).await?, found.len() as u64))
}

/// A page of the recycle bin, latest deletion first, and how much there is: all of it, or what a text
/// finds by id, phone, or the beginning of an email or external id.
pub async fn bin(
    db: &PgPool,
    workspace: WorkspaceId,
    text: Option<&str>,
    limit: u32,
    offset: u64,
) -> Result<(Vec<DeletedUser>, u64)> {
    let window = Window { limit, offset };
    match text {
        None => store::bin::page(db, workspace, window).await,
        Some(text) => store::bin::matching(db, workspace, &Typed::new(text.trim()), window).await,
    }
}

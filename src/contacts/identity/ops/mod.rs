//! Links, aliases and merges, and the removal of identifiers.

mod alias;
mod link;
mod locked;
mod merge;
pub mod mirror;
mod old;
mod remove;

pub use self::{alias::alias, link::link, merge::merge, old::delete_old, remove::remove};

use std::collections::HashMap;

use kernel::{Error, Result, UserId, WorkspaceId};
use sqlx::PgPool;

use crate::{model::Identity, store};

/// The active profile that an external id, otherwise an internal id, stands for. Ids of merged profiles stand for
/// their survivors.
///
/// # Errors
/// When the store fails.
pub async fn profile_of(db: &PgPool, workspace: WorkspaceId, id: &str) -> Result<Option<UserId>> {
    Ok(store::read::profile(db, workspace, id).await?.map(|found| found.user))
}

/// The active profiles to which these ids of users are linked as anonymous ids. Ids that a profile has as its own are
/// missing.
///
/// # Errors
/// When the store fails.
pub async fn linked_users(
    db: &PgPool,
    workspace: WorkspaceId,
    ids: &[&str],
) -> Result<HashMap<String, UserId>> {
    store::read::linked_users(db, workspace, ids).await
}

/// The profiles of which these ids of users are internal ids, where no profile has them as its external id: the survivors
/// of merged ones, and deleted ones. Beside each stands the external id of an active profile, which leads to it as well.
///
/// # Errors
/// When the store fails.
pub async fn by_internal_ids(
    db: &PgPool,
    workspace: WorkspaceId,
    ids: &[&str],
) -> Result<HashMap<String, UserId>> {
    store::read::by_internal_ids(db, workspace, ids).await
}

/// Whether one of these ids is of a profile without being its own: an alias, a linked anonymous id, an id of a profile
/// that was merged.
///
/// # Errors
/// When the store fails.
pub async fn any_further(db: &PgPool, workspace: WorkspaceId, ids: &[&str]) -> Result<bool> {
    store::read::any_further(db, workspace, ids).await
}

/// The identifiers of a profile: its own, then the others by the time of their link. At most 1,000.
///
/// # Errors
/// Not found without an active profile.
pub async fn identities(db: &PgPool, workspace: WorkspaceId, id: &str) -> Result<Vec<Identity>> {
    let found = store::read::profile(db, workspace, id).await?;
    let user = found.ok_or(Error::NotFound("User"))?.user;
    store::read::of_profile(db, workspace, user).await
}

//! Takes identifiers from a profile, in one transaction.

use kernel::{Error, FieldError, Result, UserId, WorkspaceId};
use serde_json::{Map, Value, json};
use sqlx::{PgConnection, PgPool};
use web::{
    audit_log::{self, Author, Change, Entry},
    db,
};

use super::locked::locked;
use crate::{
    model::{IdentifierType, Removal},
    store::{read, remove as store},
};

/// Takes identifiers from the profile that an id stands for, and returns how many. They are free again: their events
/// without a user are no one's, and another link counts. Identifiers that the profile does not have are passed over.
///
/// # Errors
/// Not found without an active profile; invalid, and nothing is removed, for ids that are its own or those of profiles that
/// were merged into it.
pub async fn remove(
    pool: &PgPool,
    workspace: WorkspaceId,
    author: &Author,
    id: &str,
    removal: &Removal,
) -> Result<u64> {
    let found = read::profile(pool, workspace, id).await?;
    let user = found.ok_or(Error::NotFound("User"))?.user;
    db::retried(|| attempt(pool, workspace, author, user, removal)).await
}

async fn attempt(
    pool: &PgPool,
    workspace: WorkspaceId,
    author: &Author,
    user: UserId,
    removal: &Removal,
) -> Result<u64> {
    let mut tx = pool.begin().await?;
    let found = locked(&mut tx, workspace, &[user]).await?;
    let user = found.get(&user).copied().ok_or(Error::NotFound("User"))?;
    if let Removal::Ids(ids) = removal {
        refuse_own(&mut tx, workspace, user, ids).await?;
    }
    let freed = store::free(&mut tx, workspace, user, removal, author.now).await?;
    let removed = freed.len() as u64;
    if removed == 0 {
        return Ok(0);
    }
    let aliases = freed.into_iter().filter(|it| it.kind == IdentifierType::Alias);
    let aliases: Vec<String> = aliases.map(|it| it.id).collect();
    if !aliases.is_empty() {
        store::unname(&mut tx, workspace, user, &aliases).await?;
    }
    let entry = Entry {
        change: Change::IdentitiesRemoved,
        object_id: &user.to_string(),
        object_name: None,
        details: details(removal, removed),
    };
    audit_log::append(&mut tx, workspace, author, entry).await?;
    tx.commit().await?;
    Ok(removed)
}

async fn refuse_own(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
    ids: &[String],
) -> Result<()> {
    let own = store::own(tx, workspace, user, ids).await?;
    if own.is_empty() {
        return Ok(());
    }
    let problem = "is an id of the profile itself, or of one that was merged into it";
    let refused = |place: usize| FieldError::new(format!("ids[{place}]"), problem);
    Err(Error::Invalid(own.into_iter().map(refused).collect()))
}

/// What an audit entry says beside the internal id: no other identifier.
fn details(removal: &Removal, removed: u64) -> Map<String, Value> {
    let by = match removal {
        Removal::Ids(_) => "ids",
        Removal::LinkedBySdkKeys => "linkedBy",
    };
    Map::from_iter([("by".to_owned(), json!(by)), ("removed".to_owned(), json!(removed))])
}

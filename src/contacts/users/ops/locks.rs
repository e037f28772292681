//! Locks of profiles that others may merge at the same time.
//!
//! Rows of profiles are locked in the order of their ids. A profile may be merged while its lock is awaited, and its
//! survivor may have a lower id. So a look that was overtaken gives up all its locks before the next one.

use std::collections::HashMap;

use kernel::{Error, Result, UserId, WorkspaceId, store::StoreFault};
use sqlx::{Connection as _, PgConnection};

use crate::users::store::locks;

/// Looks for the survivors of profiles. Each one that is overtaken means that another merge is done.
const LOOKS_MAX: u32 = 20;

/// Locks the profiles that these ids stand for. Returns the profile of each id; ids without an active one are missing. The
/// transaction must hold no lock of another profile.
///
/// # Errors
/// A lost race where others merged these profiles all the while.
pub async fn survivors(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<HashMap<UserId, UserId>> {
    for _ in 0..LOOKS_MAX {
        let mut look = tx.begin().await?;
        let locked = locks::lock_survivors(&mut look, workspace, users).await?;
        if locked.len() == users.len()
            || locked == locks::survivors(&mut look, workspace, users).await?
        {
            look.commit().await?;
            return Ok(locked);
        }
        look.rollback().await?;
    }
    Err(overtaken())
}

/// Likewise, and locks the profiles that were merged into that of `ended`, whose rows change when it ends.
///
/// # Errors
/// A lost race where others merged these profiles all the while.
pub async fn ending(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    ended: UserId,
    beside: Option<UserId>,
) -> Result<HashMap<UserId, UserId>> {
    let users: Vec<UserId> = [ended].into_iter().chain(beside).collect();
    for _ in 0..LOOKS_MAX {
        let mut look = tx.begin().await?;
        let locked = locks::lock_ended(&mut look, workspace, &users, ended).await?;
        let survivors = locks::survivors(&mut look, workspace, &users).await?;
        let mut changed = survivors.values().copied().collect::<Vec<UserId>>();
        if let Some(survivor) = survivors.get(&ended) {
            changed.extend(locks::merged_into(&mut look, workspace, *survivor).await?);
        }
        if changed.iter().all(|user| locked.contains(user)) {
            look.commit().await?;
            return Ok(survivors);
        }
        look.rollback().await?;
    }
    Err(overtaken())
}

fn overtaken() -> Error {
    let cause = anyhow::anyhow!("profiles were merged while their locks were awaited");
    Error::Store(StoreFault::LostRace(cause))
}

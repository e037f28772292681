//! Locks of the profiles that ids stand for.

use std::collections::HashMap;

use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgConnection;

use crate::store::links;

/// Times that profiles are looked up again because they were merged while the lock was awaited.
const TRIES_MAX: u32 = 5;

/// Locks the profiles that these ids stand for. Returns the profile of each id; ids without an active one are missing.
pub(super) async fn locked(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<HashMap<UserId, UserId>> {
    let mut survivors = links::lock(&mut *tx, workspace, users).await?;
    for _ in 1..TRIES_MAX {
        if survivors.len() == users.len() {
            break;
        }
        survivors = links::lock(&mut *tx, workspace, users).await?;
    }
    Ok(survivors)
}

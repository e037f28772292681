//! Profiles that were deleted long ago.

use kernel::{Result, Timestamp, WorkspaceId};
use sqlx::PgPool;

use crate::store;

/// Deletes a page of profiles for good that were deleted before a moment, with those that were merged into them, and
/// their consent and its history; returns how many. Suppressions of addresses stay.
///
/// # Errors
/// When the store fails.
pub async fn delete_old(
    db: &PgPool,
    workspace: WorkspaceId,
    before: Timestamp,
    limit: i64,
) -> Result<u64> {
    store::old::delete(db, workspace, before, limit).await
}

//! Keys of calls that changed a profile, and what else is needed to apply calls.

use std::{collections::HashMap, time::Duration};

use kernel::{OrganizationId, Result, Timestamp, WorkspaceId};
use sqlx::PgPool;

use crate::users::{model::CallKey, store};

/// How long keys are kept: retries come within hours.
const KEPT_FOR: Duration = Duration::from_hours(7 * 24);
/// Keys deleted by one statement.
const FORGOTTEN_MAX: i64 = 10_000;

/// Those of the keys whose calls were applied, and when.
///
/// # Errors
/// When the store fails.
pub async fn known(
    db: &PgPool,
    workspace: WorkspaceId,
    keys: &[CallKey],
) -> Result<HashMap<CallKey, Timestamp>> {
    store::calls::known(db, workspace, keys).await
}

/// Stores keys whose calls were applied.
///
/// # Errors
/// When the store fails.
pub async fn claim(
    db: &PgPool,
    workspace: WorkspaceId,
    keys: &[CallKey],
    now: Timestamp,
) -> Result<()> {
    let mut connection = db.acquire().await?;
    store::calls::claim(&mut connection, workspace, keys, now.utc()).await.map(drop)
}

/// Deletes keys that no retry needs any more.
///
/// # Errors
/// When the store fails.
pub async fn forget(db: &PgPool, now: Timestamp) -> Result<()> {
    let before = now.utc() - KEPT_FOR;
    while store::calls::forget(db, before, FORGOTTEN_MAX).await? == FORGOTTEN_MAX.unsigned_abs() {}
    Ok(())
}

/// The organization of a workspace; none for one that is gone.
///
/// # Errors
/// When the store fails.
pub async fn organization(db: &PgPool, workspace: WorkspaceId) -> Result<Option<OrganizationId>> {
    store::calls::organization(db, workspace).await
}

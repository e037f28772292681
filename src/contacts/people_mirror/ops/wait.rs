//! Waiting until copies are as new as what was written.

use std::time::Duration;

use kernel::{Result, WorkspaceId};
use sqlx::PgPool;
use tokio::time::{sleep, timeout};

use crate::store::changes::{self, Pending};

/// Rest between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Waits until ClickHouse has every change of a workspace's profiles, identifiers and campaigns that was committed before the
/// call, for so long at most. Returns whether it has. One look at an index where nothing waits.
///
/// # Errors
/// When PostgreSQL is away.
pub async fn wait_for_mirror(db: &PgPool, workspace: WorkspaceId, max: Duration) -> Result<bool> {
    let pending = changes::pending(db, workspace).await?;
    wait_for(db, workspace, &pending, max).await
}

/// The same of profiles and identifiers alone, for questions that read no copies of campaigns.
///
/// # Errors
/// When PostgreSQL is away.
pub async fn wait_for_profiles(db: &PgPool, workspace: WorkspaceId, max: Duration) -> Result<bool> {
    let pending = changes::pending(db, workspace).await?.without_campaigns();
    wait_for(db, workspace, &pending, max).await
}

async fn wait_for(
    db: &PgPool,
    workspace: WorkspaceId,
    pending: &Pending,
    max: Duration,
) -> Result<bool> {
    if pending.is_none() {
        return Ok(true);
    }
    let copied = async {
        loop {
            sleep(LOOK_EVERY).await;
            if !changes::still_pending(db, workspace, pending).await? {
                return Ok(());
            }
        }
    };
    match timeout(max, copied).await {
        Ok(Ok(())) => Ok(true),
        Ok(Err(error)) => Err(error),
        Err(_) => Ok(false),
    }
}

//! Which ids events of a profile carry.

use std::collections::HashMap;

use analytics::events::PersonIds;
use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgExecutor;

use crate::store::further;

/// The further ids that events of these profiles may carry, besides their own internal and external ids. Profiles without
/// any are missing.
///
/// # Errors
/// When the store fails.
pub async fn further_identifiers(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<HashMap<UserId, PersonIds>> {
    further::identifiers(db, workspace, users).await
}

//! Whose event it is, and which ids events of a profile carry.

use std::collections::HashMap;

use analytics::events::PersonIds;
use kernel::{Result, UserId, WorkspaceId};
use sqlx::{PgExecutor, PgPool};

use crate::events::{model::people::LinkedProfiles, store};

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
    store::identifiers(db, workspace, users).await
}

/// The profiles to which identifiers in `userId` or `serviceUserId`, and in `anonymousId`, are linked.
///
/// # Errors
/// When the store fails.
pub async fn linked_profiles(
    db: &PgPool,
    workspace: WorkspaceId,
    users: &[String],
    anonymous: &[String],
) -> Result<LinkedProfiles> {
    store::linked(db, workspace, users, anonymous).await
}

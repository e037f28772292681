//! Whose event it is, and which ids events of a profile carry.

use kernel::{Result, WorkspaceId};
use sqlx::PgPool;

use crate::events::{model::people::LinkedProfiles, store};

pub use audience::ops::further_identifiers;

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

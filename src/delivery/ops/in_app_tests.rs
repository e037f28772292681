//! Test messages that wait for the apps of their recipients.

use kernel::{CampaignId, MessageId, Result, Timestamp, UserId, WorkspaceId};
use sqlx::PgExecutor;

use crate::store::in_app;
pub use crate::store::in_app::InAppTest;

/// The tests that wait for a profile, the newest first.
///
/// # Errors
/// If the store fails.
pub async fn waiting(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    now: Timestamp,
    user: UserId,
) -> Result<Vec<InAppTest>> {
    in_app::tests_of(db, workspace, now, user).await
}

/// The campaign and the variant of a profile's test.
///
/// # Errors
/// If the store fails.
pub async fn find(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    user: UserId,
    message: MessageId,
) -> Result<Option<(CampaignId, String)>> {
    in_app::find_test(db, workspace, user, message).await
}

/// Records that a test was displayed, so that it waits no longer.
///
/// # Errors
/// If the store fails.
pub async fn mark_displayed(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    message: MessageId,
    at: Timestamp,
) -> Result<()> {
    in_app::see_test(db, workspace, message, at).await
}

//! Identifiers that profiles have besides their own.

use kernel::{Result, WorkspaceId};
use sqlx::PgExecutor;

/// Whether a workspace has any.
pub(crate) async fn exist(executor: impl PgExecutor<'_>, workspace: WorkspaceId) -> Result<bool> {
    let found = sqlx::query_scalar!(
        r#"select exists (select from identity where workspace_id = $1) as "found!""#,
        workspace.uuid(),
    )
    .fetch_one(executor)
    .await?;
    Ok(found)
}

//! The country of a workspace.

use kernel::{Country, Error, Result, WorkspaceId};
use sqlx::PgPool;

/// The country that is set for a workspace.
pub(super) async fn country_of(db: &PgPool, workspace: WorkspaceId) -> Result<Option<Country>> {
    let code = sqlx::query_scalar!("select country from workspace where id = $1", workspace.uuid())
        .fetch_optional(db)
        .await?
        .flatten();
    code.map(|code| code.parse().map_err(Error::internal)).transpose()
}

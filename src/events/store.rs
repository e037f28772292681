//! Who an id in an event stands for.

use sqlx::PgPool;

use crate::kernel::{Result, UserId, WorkspaceId};

/// The ids one person's events may carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Person {
    /// The service's own id of the profile.
    pub id: UserId,
    /// The caller's id of it, where one is set.
    pub external_id: Option<String>,
}

/// The active profile with this internal id.
pub(super) async fn find_by_id(
    db: &PgPool,
    workspace: WorkspaceId,
    id: UserId,
) -> Result<Option<Person>> {
    let row = sqlx::query!(
        "select external_id
         from users
         where workspace_id = $1 and id = $2 and deleted_at is null",
        workspace.uuid(),
        &id.bytes()[..],
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Person { id, external_id: row.external_id }))
}

/// The active profile with this external id.
pub(super) async fn find_by_external_id(
    db: &PgPool,
    workspace: WorkspaceId,
    external_id: &str,
) -> Result<Option<Person>> {
    let row = sqlx::query!(
        "select id
         from users
         where workspace_id = $1 and external_id = $2 and deleted_at is null",
        workspace.uuid(),
        external_id,
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        let bytes: [u8; 12] = row.id.as_slice().try_into().map_err(anyhow::Error::from)?;
        Ok(Person { id: UserId::from_bytes(bytes), external_id: Some(external_id.to_owned()) })
    })
    .transpose()
}

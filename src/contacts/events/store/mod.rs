//! Finds the profile to which the id in an event belongs; and refused events ([`rejected`]).

pub(super) mod rejected;

use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgPool;

/// The ids that events of one profile may carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Person {
    /// The internal id of the profile.
    pub id: UserId,
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

/// The profile with this internal id, active or deleted. The external id of a deleted profile is left out once
/// another profile has it.
pub(super) async fn find_ever_by_id(
    db: &PgPool,
    workspace: WorkspaceId,
    id: UserId,
) -> Result<Option<Person>> {
    let row = sqlx::query!(
        "select u.external_id
         from users u
         where u.workspace_id = $1 and u.id = $2",
        workspace.uuid(),
        &id.bytes()[..],
    )
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let Some(external_id) = row.external_id else {
        return Ok(Some(Person { id, external_id: None }));
    };
    let holder = find_ever_by_external_id(db, workspace, &external_id).await?;
    let is_own = holder.is_none_or(|holder| holder.id == id);
    Ok(Some(Person { id, external_id: is_own.then_some(external_id) }))
}

/// The profile with this external id: the active one, otherwise the one deleted last.
pub(super) async fn find_ever_by_external_id(
    db: &PgPool,
    workspace: WorkspaceId,
    external_id: &str,
) -> Result<Option<Person>> {
    let row = sqlx::query_scalar!(
        "select id
         from (
             (select id, deleted_at
              from users
              where workspace_id = $1 and external_id = $2 and deleted_at is null)
             union all
             (select id, deleted_at
              from users
              where workspace_id = $1 and lower(external_id) = lower($2) and external_id = $2
                  and deleted_at is not null
              order by deleted_at desc
              limit 1)
         ) holder
         order by deleted_at desc nulls first
         limit 1",
        workspace.uuid(),
        external_id,
    )
    .fetch_optional(db)
    .await?
    .flatten();
    row.map(|id| {
        let bytes: [u8; 12] = id.as_slice().try_into().map_err(anyhow::Error::from)?;
        Ok(Person { id: UserId::from_bytes(bytes), external_id: Some(external_id.to_owned()) })
    })
    .transpose()
}

//! Finds the profile to which the ids in an event belong; and refused events
//! ([`rejected`]).

pub(super) mod rejected;

use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgPool;

use crate::events::model::people::{LinkedProfile, LinkedProfiles};

/// The ids that events of one profile may carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Person {
    /// The internal id of the profile.
    pub id: UserId,
    pub external_id: Option<String>,
}

/// The active profile with this internal id, or into which the one with this id was merged.
pub(super) async fn find_by_id(
    db: &PgPool,
    workspace: WorkspaceId,
    id: UserId,
) -> Result<Option<Person>> {
    let row = sqlx::query!(
        "select id, external_id
         from users
         where workspace_id = $1 and id = survivor_of($1, $2) and deleted_at is null",
        workspace.uuid(),
        &id.bytes()[..],
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok(Person { id: user_id(&row.id)?, external_id: row.external_id })).transpose()
}

/// The profile that this internal id stands for, active or deleted. The external id of a deleted profile is left out once
/// another profile has it.
pub(super) async fn find_ever_by_id(
    db: &PgPool,
    workspace: WorkspaceId,
    id: UserId,
) -> Result<Option<Person>> {
    let row = sqlx::query!(
        "select u.id, u.external_id
         from users u
         where u.workspace_id = $1 and u.id = survivor_of($1, $2)",
        workspace.uuid(),
        &id.bytes()[..],
    )
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let id = user_id(&row.id)?;
    let Some(external_id) = row.external_id else {
        return Ok(Some(Person { id, external_id: None }));
    };
    let holder = find_ever_by_external_id(db, workspace, &external_id).await?;
    let is_own = holder.is_none_or(|holder| holder.id == id);
    Ok(Some(Person { id, external_id: is_own.then_some(external_id) }))
}

/// The profile that this external id stands for: the active one that answers to it, otherwise the one deleted last.
pub(super) async fn find_ever_by_external_id(
    db: &PgPool,
    workspace: WorkspaceId,
    external_id: &str,
) -> Result<Option<Person>> {
    let row = sqlx::query!(
        r#"select u.id, u.external_id
         from (
             (select id, merged_into, null::timestamptz as deleted_at
              from users
              where workspace_id = $1 and external_id = $2 and (deleted_at is null or keeps_external_id))
             union all
             (select id, merged_into, deleted_at
              from users
              where workspace_id = $1 and lower(external_id) = lower($2) and external_id = $2
                  and deleted_at is not null
              order by deleted_at desc
              limit 1)
         ) holder
         join users u on u.workspace_id = $1 and u.id = coalesce(holder.merged_into, holder.id)
         order by holder.deleted_at desc nulls first
         limit 1"#,
        workspace.uuid(),
        external_id,
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok(Person { id: user_id(&row.id)?, external_id: row.external_id })).transpose()
}

fn user_id(bytes: &[u8]) -> Result<UserId> {
    Ok(UserId::from_bytes(bytes.try_into().map_err(anyhow::Error::from)?))
}

/// The profiles to which these identifiers of events are linked.
pub(super) async fn linked(
    db: &PgPool,
    workspace: WorkspaceId,
    users: &[String],
    anonymous: &[String],
) -> Result<LinkedProfiles> {
    let rows = sqlx::query!(
        r#"select wish.id as "id!", wish.is_user as "is_user!", i.user_id as "user_id!", u.external_id,
             u.deleted_at is null as "is_active!"
         from (
             select id, true as is_user from unnest($2::text[]) as id
             union all
             select id, false from unnest($3::text[]) as id
         ) wish
         cross join lateral (
             select i.user_id
             from identity i
             where i.workspace_id = $1 and i.id = wish.id and i.user_id is not null
                 and i.type = any(case when wish.is_user
                     then array['external', 'internal', 'alias', 'anonymous'] else array['anonymous'] end)
                 and (i.names_users or not wish.is_user)
             order by i.type = 'anonymous'
             limit 1
         ) i
         join users u on u.workspace_id = $1 and u.id = i.user_id"#,
        workspace.uuid(),
        users,
        anonymous,
    )
    .fetch_all(db)
    .await?;
    let mut found = LinkedProfiles::default();
    for row in rows {
        let (user, external_id) = (user_id(&row.user_id)?, row.external_id);
        let profile = LinkedProfile { user, external_id, is_active: row.is_active };
        let side = if row.is_user { &mut found.by_user } else { &mut found.by_anonymous };
        side.insert(row.id, profile);
    }
    Ok(found)
}

//! Links of anonymous ids and aliases.

use std::collections::{HashMap, HashSet};

use kernel::{Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgExecutor};

use super::user_id;
use crate::model::{IDENTIFIERS_MAX, IdentifierType, Link, LinkSource, PUBLIC_LINKS_MAX, Trust};

/// The profiles to which these anonymous ids are linked. A link to a deleted profile counts as none.
pub(crate) async fn owners(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    anonymous_ids: &[&str],
) -> Result<HashMap<String, UserId>> {
    let rows = sqlx::query!(
        r#"select i.id, i.user_id as "user_id!"
           from unnest($2::text[]) as wish (id)
           join identity i on i.workspace_id = $1 and i.type = 'anonymous' and i.id = wish.id
           join users u on u.workspace_id = $1 and u.id = i.user_id and u.deleted_at is null"#,
        workspace.uuid(),
        anonymous_ids as _,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(|row| Ok((row.id, user_id(&row.user_id)?))).collect()
}

/// Links anonymous ids to locked profiles, the first link of each, as far as the profiles have room. Returns the
/// anonymous ids that were linked. A link to a deleted profile is replaced, and one that was removed. Links of public keys have room for
/// [`PUBLIC_LINKS_MAX`].
pub(crate) async fn insert(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    links: &[Link<'_>],
) -> Result<HashSet<String>> {
    let ids: Vec<&str> = links.iter().map(|link| link.anonymous_id).collect();
    let users: Vec<&[u8]> = links.iter().map(|link| link.user.bytes().as_slice()).collect();
    let sources: Vec<&str> = links.iter().map(|link| link.source.as_str()).collect();
    let times: Vec<_> = links.iter().map(|link| link.at.utc()).collect();
    let are_public: Vec<bool> = links.iter().map(|link| link.trust == Trust::Public).collect();
    let name_users: Vec<bool> = links.iter().map(Link::names_users).collect();
    let linked = sqlx::query_scalar!(
        "with first as (
             select distinct on (id) *
             from unnest($2::text[], $3::bytea[], $4::text[], $5::timestamptz[], $7::bool[], $8::bool[])
                 with ordinality as wish (id, user_id, source, linked_at, is_public, names_users, place)
             order by id, place
         ), free as (
             select first.*, row_number() over (partition by first.user_id order by place) as number,
                 count(*) filter (where is_public) over (partition by first.user_id order by place) as public_number
             from first
             where not exists (
                 select
                 from identity i
                 join users u on u.workspace_id = $1 and u.id = i.user_id and u.deleted_at is null
                 where i.workspace_id = $1 and i.type = 'anonymous' and i.id = first.id)
         ), counted as (
             -- Identifiers are counted beside the first link of a profile alone, and by no join of the two, which takes the
             -- square of their number.
             select free.*, max(linked.count) over (partition by free.user_id) as linked_count,
                 max(linked.public) over (partition by free.user_id) as linked_public
             from free
             cross join lateral (
                 select count(*) as count, count(*) filter (where i.is_public) as public
                 from identity i
                 where i.workspace_id = $1 and i.user_id = free.user_id and free.number = 1
             ) linked
         )
         insert into identity
             (workspace_id, type, id, user_id, linked_at, source, is_public, names_users)
         select $1, 'anonymous', counted.id, counted.user_id, counted.linked_at, counted.source, counted.is_public,
             counted.names_users
         from counted
         join users u on u.workspace_id = $1 and u.id = counted.user_id
         where counted.number <= $6::bigint - 1 - (u.external_id is not null)::integer - counted.linked_count
             and (not counted.is_public or counted.public_number <= $9::bigint - counted.linked_public)
         order by counted.id
         on conflict (workspace_id, type, id) do update
         set user_id = excluded.user_id, linked_at = excluded.linked_at, source = excluded.source,
             is_public = excluded.is_public, names_users = excluded.names_users, version = default
         where identity.user_id is null or exists (
             select from users u
             where u.workspace_id = identity.workspace_id and u.id = identity.user_id
                 and u.deleted_at is not null and u.merged_into is null)
         returning id",
        workspace.uuid(),
        &ids as _,
        &users as _,
        &sources as _,
        &times,
        i64::try_from(IDENTIFIERS_MAX).unwrap_or(i64::MAX),
        &are_public,
        &name_users,
        i64::try_from(PUBLIC_LINKS_MAX).unwrap_or(i64::MAX),
    )
    .fetch_all(tx)
    .await?;
    Ok(linked.into_iter().collect())
}

/// How many identifiers these profiles have together.
pub(crate) async fn count(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<usize> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    let count = sqlx::query_scalar!(
        r#"select (
               (select count(*) from identity where workspace_id = $1 and user_id = any($2))
               + (select count(*) + count(external_id) from users where workspace_id = $1 and id = any($2))
           ) as "count!""#,
        workspace.uuid(),
        &ids as _,
    )
    .fetch_one(tx)
    .await?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Identifiers that a profile is to have, of one source and time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewIdentity<'i> {
    pub(crate) kind: IdentifierType,
    pub(crate) id: &'i str,
    pub(crate) user: UserId,
    pub(crate) source: LinkSource,
    pub(crate) at: Timestamp,
}

/// Adds an identifier to a locked profile. An identifier of a deleted profile, or of none, moves.
pub(crate) async fn add(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    new: NewIdentity<'_>,
) -> Result<()> {
    sqlx::query!(
        "insert into identity (workspace_id, type, id, user_id, linked_at, source)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (workspace_id, type, id) do update
         set user_id = excluded.user_id, linked_at = excluded.linked_at, source = excluded.source,
             is_public = false, names_users = true, version = default",
        workspace.uuid(),
        new.kind.as_str(),
        new.id,
        &new.user.bytes()[..],
        new.at.utc(),
        new.source.as_str(),
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// A further external id of a profile: `stands_in` is a profile without anything but this id, merged from the
/// beginning, so that no other profile can be created with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewName<'n> {
    pub(crate) external_id: &'n str,
    pub(crate) user: UserId,
    pub(crate) stands_in: UserId,
    pub(crate) at: Timestamp,
    pub(crate) actor: &'n str,
}

/// Gives a locked profile an external id: as its own where it has none, else as a further one. Returns whether it is
/// its own.
///
/// # Errors
/// A duplicate when another profile has just taken the id.
pub(crate) async fn name(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    new: NewName<'_>,
) -> Result<bool> {
    let done = sqlx::query!(
        "update users set external_id = $3, updated_at = greatest(updated_at, $4)
         where workspace_id = $1 and id = $2 and external_id is null and deleted_at is null",
        workspace.uuid(),
        &new.user.bytes()[..],
        new.external_id,
        new.at.utc(),
    )
    .execute(&mut *tx)
    .await?;
    if done.rows_affected() > 0 {
        return Ok(true);
    }
    sqlx::query!(
        "insert into users
             (workspace_id, id, external_id, created_at, updated_at, deleted_at, deleted_by, deleted_via,
              merged_into, keeps_external_id)
         values ($1, $2, $3, $4, $4, $4, $6, 'system', $5, true)",
        workspace.uuid(),
        &new.stands_in.bytes()[..],
        new.external_id,
        new.at.utc(),
        &new.user.bytes()[..],
        new.actor,
    )
    .execute(tx)
    .await?;
    Ok(false)
}

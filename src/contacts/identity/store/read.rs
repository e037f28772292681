//! Reads the identifiers of a profile.

use std::collections::HashMap;

use kernel::{Error, Result, UserId, WorkspaceId};
use sqlx::PgPool;

use super::user_id;
use crate::model::{IDENTIFIERS_MAX, IdentifierType, Identity, LinkSource};

/// The profile that an external id, otherwise an internal id, stands for.
pub(crate) async fn profile(
    db: &PgPool,
    workspace: WorkspaceId,
    text: &str,
) -> Result<Option<ResolvedProfile>> {
    let internal = text.parse::<UserId>().ok().map(|id| id.bytes().to_vec());
    let row = sqlx::query!(
        r#"select u.id, named.merged_into is not null as "is_merged!"
           from users named
           join users u on u.workspace_id = $1 and u.id = coalesce(named.merged_into, named.id)
           where named.workspace_id = $1 and u.deleted_at is null
               and (named.external_id = $2 and (named.deleted_at is null or named.keeps_external_id)
                   or named.id = $3)
           order by named.external_id = $2 desc nulls last
           limit 1"#,
        workspace.uuid(),
        text,
        internal,
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok(ResolvedProfile { user: user_id(&row.id)?, is_merged: row.is_merged }))
        .transpose()
}

/// The profiles of which these ids of users are internal ids, where no profile has them as its external id: the survivors
/// of merged ones, and deleted ones. Beside each stands the external id of an active profile, which leads to it as well.
pub(crate) async fn by_internal_ids(
    db: &PgPool,
    workspace: WorkspaceId,
    ids: &[&str],
) -> Result<HashMap<String, UserId>> {
    let (texts, internal): (Vec<&str>, Vec<Vec<u8>>) = ids
        .iter()
        .filter_map(|text| Some((*text, text.parse::<UserId>().ok()?.bytes().to_vec())))
        .unzip();
    if texts.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = sqlx::query!(
        r#"select wish.id as "id!", coalesce(named.merged_into, named.id) as "user_id!",
             u.external_id as "external_id?"
         from unnest($2::text[], $3::bytea[]) as wish (id, internal)
         join users named on named.workspace_id = $1 and named.id = wish.internal
         left join users u
             on u.workspace_id = $1 and u.id = coalesce(named.merged_into, named.id) and u.deleted_at is null
         where not exists (
             select from users holder
             where holder.workspace_id = $1 and holder.external_id = wish.id
                 and (holder.deleted_at is null or holder.keeps_external_id))"#,
        workspace.uuid(),
        &texts as _,
        &internal,
    )
    .fetch_all(db)
    .await?;
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        let user = user_id(&row.user_id)?;
        found.extend(std::iter::once(row.id).chain(row.external_id).map(|id| (id, user)));
    }
    Ok(found)
}

/// Whether one of these ids is of a profile without being its own.
pub(crate) async fn any_further(db: &PgPool, workspace: WorkspaceId, ids: &[&str]) -> Result<bool> {
    let found = sqlx::query_scalar!(
        r#"select exists (
             select from unnest($2::text[]) as wish (id)
             where exists (select from identity i
                 where i.workspace_id = $1 and i.id = wish.id
                     and i.type in ('external', 'internal', 'alias', 'anonymous'))
         ) as "found!""#,
        workspace.uuid(),
        ids as _,
    )
    .fetch_one(db)
    .await?;
    Ok(found)
}

/// The profiles to which these ids of users are linked as anonymous ids. Ids that a profile has as its own are missing.
pub(crate) async fn linked_users(
    db: &PgPool,
    workspace: WorkspaceId,
    ids: &[&str],
) -> Result<HashMap<String, UserId>> {
    let rows = sqlx::query!(
        r#"select i.id, i.user_id as "user_id!"
           from unnest($2::text[]) as wish (id)
           join identity i on i.workspace_id = $1 and i.type = 'anonymous' and i.id = wish.id and i.names_users
           join users u on u.workspace_id = $1 and u.id = i.user_id and u.deleted_at is null
           where not exists (
               select from users named
               where named.workspace_id = $1 and named.external_id = wish.id
                   and (named.deleted_at is null or named.keeps_external_id))"#,
        workspace.uuid(),
        ids as _,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(|row| Ok((row.id, user_id(&row.user_id)?))).collect()
}

/// An active profile that an id stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResolvedProfile {
    pub(crate) user: UserId,
    /// Whether the id is that of a profile that was merged into it.
    pub(crate) is_merged: bool,
}

/// The identifiers of an active profile: its own, then the others by the time of their link.
pub(crate) async fn of_profile(
    db: &PgPool,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Vec<Identity>> {
    let rows = sqlx::query!(
        r#"select kind as "kind!", id as "id!", linked_at as "linked_at!", source as "source!"
           from (
               select 0 as place, 'internal' as kind, encode(id, 'hex') as id, created_at as linked_at,
                   'profile' as source
               from users
               where workspace_id = $1 and id = $2 and deleted_at is null
               union all
               select 1, 'external', external_id, created_at, 'profile'
               from users
               where workspace_id = $1 and id = $2 and deleted_at is null and external_id is not null
               union all
               select 2, type, id, linked_at, source
               from identity
               where workspace_id = $1 and user_id = $2
           ) identities
           order by place, linked_at, kind, id
           limit $3"#,
        workspace.uuid(),
        &user.bytes()[..],
        i64::try_from(IDENTIFIERS_MAX).unwrap_or(i64::MAX),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let unknown = || Error::internal("an identifier of no known type or source");
            Ok(Identity {
                kind: IdentifierType::named(&row.kind).ok_or_else(unknown)?,
                id: row.id,
                linked_at: row.linked_at.into(),
                source: LinkSource::named(&row.source).ok_or_else(unknown)?,
            })
        })
        .collect()
}

//! The SQL of the keys of calls that changed a profile.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use kernel::{OrganizationId, Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgPool};

use super::{bytes_of, user_id};
use crate::users::model::CallKey;

/// Those of the keys that are stored, and when their calls were applied.
pub(in crate::users) async fn known(
    db: &PgPool,
    workspace: WorkspaceId,
    keys: &[CallKey],
) -> Result<HashMap<CallKey, Timestamp>> {
    let keys = bytes(keys);
    let rows = sqlx::query!(
        "select key, applied_at from profile_call where workspace_id = $1 and key = any($2)",
        workspace.uuid(),
        &keys,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let key = row.key.as_slice().try_into().map_err(anyhow::Error::from)?;
            Ok((CallKey(key), row.applied_at.into()))
        })
        .collect()
}

/// Stores keys; returns how many were not stored before.
pub(in crate::users) async fn claim(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    keys: &[CallKey],
    at: DateTime<Utc>,
) -> Result<u64> {
    let keys = bytes(keys);
    // Ordered, so that two statements cannot deadlock.
    let done = sqlx::query!(
        "insert into profile_call (workspace_id, key, applied_at)
         select $1, key, $3 from unnest($2::bytea[]) key order by key
         on conflict do nothing",
        workspace.uuid(),
        &keys,
        at,
    )
    .execute(tx)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes keys that were stored before; returns how many.
pub(in crate::users) async fn forget(db: &PgPool, before: DateTime<Utc>, max: i64) -> Result<u64> {
    let done = sqlx::query!(
        "delete from profile_call where (workspace_id, key) in (
             select workspace_id, key from profile_call where applied_at < $1 order by applied_at limit $2)",
        before,
        max,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// The organization of a workspace.
pub(in crate::users) async fn organization(
    db: &PgPool,
    workspace: WorkspaceId,
) -> Result<Option<OrganizationId>> {
    let id = sqlx::query_scalar!(
        "select organization_id from workspace where id = $1",
        workspace.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(OrganizationId::new))
}

/// Attributes for a profile, of which it keeps those it has.
#[derive(Debug, Clone, Copy)]
pub(in crate::users) struct Missing<'m> {
    pub(in crate::users) user: UserId,
    pub(in crate::users) attributes: &'m str,
}

/// Of attributes for locked profiles, the ones that each does not have.
pub(in crate::users) async fn missing(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    wishes: &[Missing<'_>],
) -> Result<HashMap<UserId, String>> {
    let ids = bytes_of(wishes.iter().map(|wish| wish.user));
    let attributes: Vec<&str> = wishes.iter().map(|wish| wish.attributes).collect();
    let rows = sqlx::query!(
        r#"select u.id, (wish.attributes::jsonb - array(select jsonb_object_keys(u.attributes)))::text as "missing!"
           from unnest($2::bytea[], $3::text[]) as wish (id, attributes)
           join users u on u.workspace_id = $1 and u.id = wish.id"#,
        workspace.uuid(),
        &ids,
        &attributes as &[&str],
    )
    .fetch_all(tx)
    .await?;
    rows.into_iter().map(|row| Ok((user_id(&row.id)?, row.missing))).collect()
}

/// The group of which a locked profile is from now on.
#[derive(Debug, Clone, Copy)]
pub(in crate::users) struct NextGroup<'g> {
    pub(in crate::users) user: UserId,
    pub(in crate::users) group_id: &'g str,
}

/// The profiles that have traits of another group than their next one.
pub(in crate::users) async fn of_other_groups(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    next: &[NextGroup<'_>],
) -> Result<HashSet<UserId>> {
    let ids = bytes_of(next.iter().map(|it| it.user));
    let group_ids: Vec<&str> = next.iter().map(|it| it.group_id).collect();
    let found = sqlx::query_scalar!(
        "select u.id
         from unnest($2::bytea[], $3::text[]) as wish (id, group_id)
         join users u on u.workspace_id = $1 and u.id = wish.id
         where u.attributes ->> 'groupId' <> wish.group_id and jsonb_typeof(u.attributes -> 'group') = 'object'",
        workspace.uuid(),
        &ids,
        &group_ids as &[&str],
    )
    .fetch_all(tx)
    .await?;
    found.iter().map(|id| user_id(id)).collect()
}

fn bytes(keys: &[CallKey]) -> Vec<Vec<u8>> {
    keys.iter().map(|key| key.0.to_vec()).collect()
}

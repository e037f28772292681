//! Locks of profiles by ids that may be those of merged ones.

use std::collections::{HashMap, HashSet};

use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgConnection;

use super::user_id;

/// Locks the profiles that these ids stand for, in the order of their ids. Returns the profile of each id; one that
/// was merged or deleted meanwhile is missing.
pub(in crate::users) async fn lock_survivors(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<HashMap<UserId, UserId>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    let rows = sqlx::query!(
        r#"select named.id as "id!", u.id as survivor
           from users named
           join users u on u.workspace_id = $1 and u.id = coalesce(named.merged_into, named.id)
           where named.workspace_id = $1 and named.id = any($2) and u.deleted_at is null
           order by u.id
           for no key update of u"#,
        workspace.uuid(),
        &ids as _,
    )
    .fetch_all(tx)
    .await?;
    rows.into_iter().map(|row| Ok((user_id(&row.id)?, user_id(&row.survivor)?))).collect()
}

/// The active profiles that these ids stand for, without locks.
pub(in crate::users) async fn survivors(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
) -> Result<HashMap<UserId, UserId>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    let rows = sqlx::query!(
        r#"select named.id as "id!", u.id as survivor
           from users named
           join users u on u.workspace_id = $1 and u.id = coalesce(named.merged_into, named.id)
           where named.workspace_id = $1 and named.id = any($2) and u.deleted_at is null"#,
        workspace.uuid(),
        &ids as _,
    )
    .fetch_all(tx)
    .await?;
    rows.into_iter().map(|row| Ok((user_id(&row.id)?, user_id(&row.survivor)?))).collect()
}

/// Locks the profiles that these ids stand for, and those that were merged into the profile of `ended`, all in the order of
/// their ids. Returns which were locked, active or not.
pub(in crate::users) async fn lock_ended(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    users: &[UserId],
    ended: UserId,
) -> Result<HashSet<UserId>> {
    let ids: Vec<&[u8]> = users.iter().map(|user| user.bytes().as_slice()).collect();
    let rows = sqlx::query_scalar!(
        "with wanted as (
             select coalesce(merged_into, id) as id from users where workspace_id = $1 and id = any($2)
             union
             select id from users where workspace_id = $1 and merged_into = survivor_of($1, $3)
         )
         select u.id
         from wanted
         join users u on u.workspace_id = $1 and u.id = wanted.id
         order by u.id
         for no key update of u",
        workspace.uuid(),
        &ids as _,
        &ended.bytes()[..],
    )
    .fetch_all(tx)
    .await?;
    rows.iter().map(|id| user_id(id)).collect()
}

/// The profiles that were merged into this one.
pub(in crate::users) async fn merged_into(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    survivor: UserId,
) -> Result<Vec<UserId>> {
    let rows = sqlx::query_scalar!(
        "select id from users where workspace_id = $1 and merged_into = $2",
        workspace.uuid(),
        &survivor.bytes()[..],
    )
    .fetch_all(tx)
    .await?;
    rows.iter().map(|id| user_id(id)).collect()
}

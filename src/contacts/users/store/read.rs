//! Reading active profiles.

use kernel::{Result, UserId, WorkspaceId};
use sqlx::{PgExecutor, PgPool};

use super::Row;
use crate::users::model::User;

/// The active profile with this internal id, or into which the one with this id was merged.
pub(in crate::users) async fn by_id(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    id: UserId,
) -> Result<Option<User>> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, external_id, email, phone, attributes::text as "attributes!", created_at, updated_at
         from users
         where workspace_id = $1 and id = survivor_of($1, $2) and deleted_at is null"#,
        workspace.uuid(),
        &id.bytes()[..],
    )
    .fetch_optional(db)
    .await?;
    row.map(User::try_from).transpose()
}

/// The active profile with this external id, or into which the one with this id was merged.
pub(in crate::users) async fn by_external_id(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    external_id: &str,
) -> Result<Option<User>> {
    let row = sqlx::query_as!(
        Row,
        r#"select u.id, u.external_id, u.email, u.phone, u.attributes::text as "attributes!", u.created_at,
             u.updated_at
         from users named
         join users u on u.workspace_id = $1 and u.id = coalesce(named.merged_into, named.id)
         where named.workspace_id = $1 and named.external_id = $2
             and (named.deleted_at is null or named.keeps_external_id) and u.deleted_at is null"#,
        workspace.uuid(),
        external_id,
    )
    .fetch_optional(db)
    .await?;
    row.map(User::try_from).transpose()
}

/// The internal id of the active profile that this external id, otherwise this internal id, stands for.
pub(in crate::users) async fn id_of(
    db: impl PgExecutor<'_>,
    workspace: WorkspaceId,
    text: &str,
) -> Result<Option<UserId>> {
    let internal = text.parse::<UserId>().ok().map(|id| id.bytes().to_vec());
    let id = sqlx::query_scalar!(
        "select u.id
         from users named
         join users u on u.workspace_id = $1 and u.id = coalesce(named.merged_into, named.id)
         where named.workspace_id = $1 and u.deleted_at is null
             and (named.external_id = $2 and (named.deleted_at is null or named.keeps_external_id)
                 or named.id = $3)
         order by named.external_id = $2 desc nulls last
         limit 1",
        workspace.uuid(),
        text,
        internal,
    )
    .fetch_optional(db)
    .await?;
    id.map(|id| super::user_id(&id)).transpose()
}

/// A page of active profiles, latest change first.
pub(in crate::users) async fn page(
    db: &PgPool,
    workspace: WorkspaceId,
    limit: u32,
    offset: u64,
) -> Result<Vec<User>> {
    // The page is found in the index alone; only its rows are read from the table.
    let rows = sqlx::query_as!(
        Row,
        r#"select u.id, u.external_id, u.email, u.phone, u.attributes::text as "attributes!",
             u.created_at, u.updated_at
         from (
             select id
             from users
             where workspace_id = $1 and deleted_at is null
             order by updated_at desc, id desc
             limit $2 offset $3
         ) page
         join users u on u.workspace_id = $1 and u.id = page.id
         order by u.updated_at desc, u.id desc"#,
        workspace.uuid(),
        i64::from(limit),
        i64::try_from(offset).unwrap_or(i64::MAX),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(User::try_from).collect()
}

/// How many active profiles there are.
pub(in crate::users) async fn count(db: &PgPool, workspace: WorkspaceId) -> Result<u64> {
    let count = sqlx::query_scalar!(
        r#"select coalesce(sum(active), 0)::bigint as "count!" from user_tally where workspace_id = $1"#,
        workspace.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(count.unsigned_abs())
}

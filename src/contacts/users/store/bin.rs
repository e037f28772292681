//! The recycle bin.

use kernel::{Error, Result, Timestamp, UserId, WorkspaceId};
use sqlx::{PgConnection, PgPool};

use super::user_id;
use crate::users::model::{DeletedUser, Deletion, typed::Typed};
use kernel::page::PageWindow;

/// Deletes an active profile, which is locked with those that were merged into it.
pub(in crate::users) async fn delete(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    now: Timestamp,
    id: UserId,
    deletion: &Deletion<'_>,
) -> Result<()> {
    sqlx::query!(
        "update users
         set deleted_at = $3, deleted_by = $4, deleted_via = 'api', deleted_reason = $5
         where workspace_id = $1 and id = $2 and deleted_at is null",
        workspace.uuid(),
        &id.bytes()[..],
        now.utc(),
        deletion.by,
        deletion.reason,
    )
    .execute(&mut *tx)
    .await?;
    // A deleted profile leaves its identifiers to new ones, also those of profiles that were merged into it.
    sqlx::query!(
        "update users set keeps_external_id = false
         where workspace_id = $1 and merged_into = $2 and keeps_external_id",
        workspace.uuid(),
        &id.bytes()[..],
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// A row of a deleted profile.
struct Row {
    id: Vec<u8>,
    external_id: Option<String>,
    email: Option<String>,
    phone: Option<String>,
    deleted_at: chrono::DateTime<chrono::Utc>,
    deleted_by: String,
    deleted_via: String,
    deleted_reason: Option<String>,
    restored_at: Option<chrono::DateTime<chrono::Utc>>,
}

impl TryFrom<Row> for DeletedUser {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            id: user_id(&row.id)?,
            external_id: row.external_id,
            email: row.email,
            phone: row.phone,
            deleted_at: Timestamp::from(row.deleted_at),
            deleted_by: row.deleted_by,
            deleted_via: row.deleted_via,
            deleted_reason: row.deleted_reason,
            restored_at: row.restored_at.map(Timestamp::from),
        })
    }
}

/// A page of the recycle bin, latest deletion first, and the number of profiles in it.
pub(in crate::users) async fn page(
    db: &PgPool,
    workspace: WorkspaceId,
    window: PageWindow,
) -> Result<(Vec<DeletedUser>, u64)> {
    let rows = sqlx::query_as!(
        Row,
        r#"select id, external_id, email, phone, deleted_at as "deleted_at!", deleted_by as "deleted_by!",
             deleted_via as "deleted_via!", deleted_reason, restored_at
         from users
         where workspace_id = $1 and deleted_at is not null and merged_into is null
         order by deleted_at desc, id desc
         limit $2 offset $3"#,
        workspace.uuid(),
        window.limit(),
        window.offset(),
    )
    .fetch_all(db)
    .await?;
    let total = sqlx::query_scalar!(
        r#"select coalesce(sum(deleted), 0)::bigint as "total!" from user_tally where workspace_id = $1"#,
        workspace.uuid(),
    )
    .fetch_one(db)
    .await?;
    let users = rows.into_iter().map(DeletedUser::try_from).collect::<Result<_>>()?;
    Ok((users, total.unsigned_abs()))
}

/// A page of matching profiles in the recycle bin, latest deletion first, and their number: by internal id, by
/// the beginning of an email or external id, or by phone number.
pub(in crate::users) async fn matching(
    db: &PgPool,
    workspace: WorkspaceId,
    typed: &Typed,
    window: PageWindow,
) -> Result<(Vec<DeletedUser>, u64)> {
    let mut tx = web::db::begin_by_index(db).await?;
    let found = sqlx::query!(
        r#"with found as (
             select id, deleted_at from users
             where workspace_id = $1 and deleted_at is not null and merged_into is null and id = $2
             union
             select id, deleted_at from users
             where workspace_id = $1 and deleted_at is not null and merged_into is null and email like lower($3)
             union
             select id, deleted_at from users
             where workspace_id = $1 and deleted_at is not null and merged_into is null and lower(external_id) like lower($3)
             union
             select id, deleted_at from users
             where workspace_id = $1 and deleted_at is not null and merged_into is null
                 and (coalesce(phone_normal, phone) = any($4) or coalesce(phone_normal, phone) = $5)
         )
         select (select count(*) from found) as "total!",
             array(select id from found order by deleted_at desc, id desc limit $6 offset $7) as "page!""#,
        workspace.uuid(),
        typed.id.map(|id| id.bytes().to_vec()),
        typed.beginning,
        &typed.phones,
        typed.text,
        window.limit(),
        window.offset(),
    )
    .fetch_one(&mut *tx)
    .await?;
    let rows = sqlx::query_as!(
        Row,
        r#"select id, external_id, email, phone, deleted_at as "deleted_at!", deleted_by as "deleted_by!",
             deleted_via as "deleted_via!", deleted_reason, restored_at
         from users
         where workspace_id = $1 and id = any($2) and deleted_at is not null
         order by deleted_at desc, id desc"#,
        workspace.uuid(),
        &found.page,
    )
    .fetch_all(&mut *tx)
    .await?;
    tx.commit().await?;
    let users = rows.into_iter().map(DeletedUser::try_from).collect::<Result<_>>()?;
    Ok((users, found.total.unsigned_abs()))
}

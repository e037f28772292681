//! Ends a profile that is merged into another, and completes that one.

use chrono::{DateTime, Utc};
use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgConnection;

/// The attributes of a survivor after a merge: their text and their number of keys.
pub(in crate::users) async fn attributes(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    from: UserId,
    into: UserId,
) -> Result<(String, usize)> {
    let row = sqlx::query!(
        r#"select merged::text as "printed!",
             (select count(*) from jsonb_object_keys(merged)) as "keys!"
         from (
             select f.attributes || u.attributes as merged
             from users f
             join users u on u.workspace_id = $1 and u.id = $3
             where f.workspace_id = $1 and f.id = $2
         ) both_profiles"#,
        workspace.uuid(),
        &from.bytes()[..],
        &into.bytes()[..],
    )
    .fetch_one(tx)
    .await?;
    Ok((row.printed, usize::try_from(row.keys).unwrap_or(usize::MAX)))
}

/// A profile that is merged into another.
#[derive(Debug, Clone, Copy)]
pub(in crate::users) struct EndedProfile<'e> {
    pub(in crate::users) from: UserId,
    pub(in crate::users) into: UserId,
    /// Whether its external id stays with it; otherwise it is removed, so that the survivor can have it.
    pub(in crate::users) keeps_external_id: bool,
    pub(in crate::users) at: DateTime<Utc>,
    pub(in crate::users) actor: &'e str,
}

/// Ends a locked profile, and lets the profiles that were merged into it stand for the survivor.
pub(in crate::users) async fn end(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    ended: &EndedProfile<'_>,
) -> Result<()> {
    sqlx::query!(
        "update users
         set deleted_at = $4, deleted_by = $5, deleted_via = 'system', deleted_reason = 'merged',
             merged_into = $3, keeps_external_id = $6,
             external_id = case when $6 then external_id end
         where workspace_id = $1 and id = $2",
        workspace.uuid(),
        &ended.from.bytes()[..],
        &ended.into.bytes()[..],
        ended.at,
        ended.actor,
        ended.keeps_external_id,
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "update users set merged_into = $3 where workspace_id = $1 and merged_into = $2",
        workspace.uuid(),
        &ended.from.bytes()[..],
        &ended.into.bytes()[..],
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Gives a locked survivor the values of the ended profile that it has none of.
pub(in crate::users) async fn complete(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    ended: &EndedProfile<'_>,
    external_id: Option<&str>,
) -> Result<()> {
    sqlx::query!(
        "update users u
         set external_id = coalesce(u.external_id, $4),
             email = coalesce(u.email, f.email),
             phone = coalesce(u.phone, f.phone),
             phone_read = case when u.phone is null then f.phone_normal end,
             attributes = f.attributes || u.attributes,
             dates = (f.dates - array(select jsonb_object_keys(u.attributes))) || u.dates,
             updated_at = greatest(u.updated_at, $5)
         from users f
         where u.workspace_id = $1 and u.id = $3 and f.workspace_id = $1 and f.id = $2",
        workspace.uuid(),
        &ended.from.bytes()[..],
        &ended.into.bytes()[..],
        external_id,
        ended.at,
    )
    .execute(tx)
    .await?;
    Ok(())
}

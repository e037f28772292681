//! Ends a profile that is merged into another, and completes that one.

use chrono::{DateTime, Utc};
use kernel::{Result, UserId, WorkspaceId};
use sqlx::PgConnection;

use crate::model::ProfilePair;

/// Ids and addresses that a locked profile has.
#[derive(Debug)]
pub(crate) struct OwnValues {
    pub(crate) external_id: Option<String>,
    pub(crate) email: Option<String>,
}

pub(crate) async fn own(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<OwnValues> {
    let row = sqlx::query_as!(
        OwnValues,
        "select external_id, email from users where workspace_id = $1 and id = $2",
        workspace.uuid(),
        &user.bytes()[..],
    )
    .fetch_one(tx)
    .await?;
    Ok(row)
}

/// Attributes as they would be stored.
#[derive(Debug)]
pub(crate) struct MergedAttributes {
    pub(crate) printed: String,
    pub(crate) keys: usize,
}

/// The attributes of a survivor after a merge.
pub(crate) async fn attributes(
    tx: &mut PgConnection,
    workspace: WorkspaceId,
    pair: ProfilePair,
) -> Result<MergedAttributes> {
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
        &pair.from.bytes()[..],
        &pair.into.bytes()[..],
    )
    .fetch_one(tx)
    .await?;
    let keys = usize::try_from(row.keys).unwrap_or(usize::MAX);
    Ok(MergedAttributes { printed: row.printed, keys })
}

/// A profile that is merged into another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedProfile<'e> {
    pub(crate) pair: ProfilePair,
    /// Whether its external id stays with it; otherwise it is removed, so that the survivor can have it.
    pub(crate) keeps_external_id: bool,
    pub(crate) at: DateTime<Utc>,
    pub(crate) actor: &'e str,
}

/// Ends a locked profile, and lets the profiles that were merged into it stand for the survivor.
pub(crate) async fn end(
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
        &ended.pair.from.bytes()[..],
        &ended.pair.into.bytes()[..],
        ended.at,
        ended.actor,
        ended.keeps_external_id,
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "update users set merged_into = $3 where workspace_id = $1 and merged_into = $2",
        workspace.uuid(),
        &ended.pair.from.bytes()[..],
        &ended.pair.into.bytes()[..],
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Gives a locked survivor the values of the ended profile that it has none of.
pub(crate) async fn complete(
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
        &ended.pair.from.bytes()[..],
        &ended.pair.into.bytes()[..],
        external_id,
        ended.at,
    )
    .execute(tx)
    .await?;
    Ok(())
}

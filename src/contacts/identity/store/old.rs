//! Profiles that were deleted long ago.

use kernel::{Result, Timestamp, WorkspaceId};
use sqlx::PgPool;

/// Tables with rows of a profile that stay when it is deleted. Messages and what counts them are kept for days of their
/// own.
const TABLES: [&str; 7] = [
    "channel_consent",
    "list_membership",
    "pending_membership",
    "subscription_history",
    "identity",
    "send_tally",
    "campaign_exposure",
];

/// What was removed from the ledgers of the profiles' addresses and numbers is kept as long as the history of consent. What an
/// active profile shares stays.
const REMOVED_SUPPRESSIONS: &str = "
    delete from suppression_removal s
    using users u, (values ('email'), ('sms'), ('whatsapp')) as c (channel)
    where u.workspace_id = $1 and u.id = any($2) and s.workspace_id = $1 and s.channel = c.channel
        and s.identifier = case c.channel when 'email' then u.email else u.phone_normal end
        and not exists (
            select from users o where o.workspace_id = $1 and o.deleted_at is null and o.email = s.identifier)
        and not exists (
            select from users o where o.workspace_id = $1 and o.deleted_at is null and o.phone_normal = s.identifier)";

/// Deletes a page of profiles that were deleted before a moment, with those that were merged into them; returns how
/// many were deleted profiles.
pub(crate) async fn delete(
    db: &PgPool,
    workspace: WorkspaceId,
    before: Timestamp,
    limit: i64,
) -> Result<u64> {
    let mut tx = db.begin().await?;
    let old: Vec<Vec<u8>> = sqlx::query_scalar(
        "select id from users
         where workspace_id = $1 and deleted_at < $2 and merged_into is null
         order by deleted_at, id
         limit $3
         for update skip locked",
    )
    .bind(workspace.uuid())
    .bind(before.utc())
    .bind(limit)
    .fetch_all(&mut *tx)
    .await?;
    if old.is_empty() {
        return Ok(0);
    }
    let merged: Vec<Vec<u8>> = sqlx::query_scalar(
        "select id from users where workspace_id = $1 and merged_into = any($2) for update",
    )
    .bind(workspace.uuid())
    .bind(&old)
    .fetch_all(&mut *tx)
    .await?;
    let all: Vec<&[u8]> = merged.iter().chain(&old).map(Vec::as_slice).collect();
    for table in TABLES {
        let statement =
            format!("delete from {table} where workspace_id = $1 and user_id = any($2)");
        sqlx::query(sqlx::AssertSqlSafe(statement))
            .bind(workspace.uuid())
            .bind(&all)
            .execute(&mut *tx)
            .await?;
    }
    sqlx::query(REMOVED_SUPPRESSIONS).bind(workspace.uuid()).bind(&all).execute(&mut *tx).await?;
    for profiles in [&merged, &old] {
        sqlx::query("delete from users where workspace_id = $1 and id = any($2)")
            .bind(workspace.uuid())
            .bind(profiles)
            .execute(&mut *tx)
            .await?;
    }
    tx.commit().await?;
    Ok(old.len() as u64)
}

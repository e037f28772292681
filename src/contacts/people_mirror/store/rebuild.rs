//! A copy of everything: how far it is.

use kernel::Result;
use sqlx::{PgConnection, PgExecutor, PgPool};

use super::user_id;
use crate::model::{ProfileKey, Rebuild};

/// Asks for a copy of everything; one that is under way begins anew.
pub(crate) async fn request(db: impl PgExecutor<'_>) -> Result<()> {
    sqlx::query!(
        "insert into people_rebuild default values
         on conflict (id) do update set first_version = null, workspace_id = default, user_id = default"
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Whether one is under way.
pub(crate) async fn is_under_way(db: &PgPool) -> Result<bool> {
    let is_under_way =
        sqlx::query_scalar!(r#"select exists (select from people_rebuild) as "exists!""#)
            .fetch_one(db)
            .await?;
    Ok(is_under_way)
}

/// The one that is under way. A new request waits until this transaction ends.
pub(crate) async fn locked(tx: &mut PgConnection) -> Result<Option<Rebuild>> {
    let row =
        sqlx::query!("select first_version, workspace_id, user_id from people_rebuild for update")
            .fetch_optional(tx)
            .await?;
    Ok(row.map(|row| Rebuild {
        first_version: row.first_version.map(i64::unsigned_abs),
        workspace: row.workspace_id,
        user: row.user_id,
    }))
}

/// Notes the version from which on everything is copied, and that all campaigns are to be.
pub(crate) async fn begin(tx: &mut PgConnection, first_version: u64) -> Result<()> {
    sqlx::query!(
        "update people_rebuild set first_version = $1",
        i64::try_from(first_version).unwrap_or(i64::MAX),
    )
    .execute(&mut *tx)
    .await?;
    sqlx::query!(
        "insert into campaign_change (workspace_id, campaign_id) select workspace_id, id from campaign"
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// The next profiles, deleted ones included.
pub(crate) async fn page(
    tx: &mut PgConnection,
    rebuild: &Rebuild,
    limit: i64,
) -> Result<Vec<ProfileKey>> {
    let rows = sqlx::query!(
        "select workspace_id, id from users
         where (workspace_id, id) > ($1, $2)
         order by workspace_id, id
         limit $3",
        rebuild.workspace,
        &rebuild.user[..],
        limit,
    )
    .fetch_all(tx)
    .await?;
    rows.into_iter()
        .map(|row| Ok(ProfileKey { workspace: row.workspace_id, user: user_id(&row.id)? }))
        .collect()
}

/// Notes the last profile that is copied.
pub(crate) async fn advance(tx: &mut PgConnection, last: ProfileKey) -> Result<()> {
    sqlx::query!(
        "update people_rebuild set workspace_id = $1, user_id = $2",
        last.workspace,
        &last.user[..],
    )
    .execute(tx)
    .await?;
    Ok(())
}

/// Notes that everything is copied.
pub(crate) async fn end(tx: &mut PgConnection) -> Result<()> {
    sqlx::query!("delete from people_rebuild").execute(tx).await?;
    Ok(())
}

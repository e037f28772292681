//! Identifiers that ClickHouse does not have yet as they are.

use analytics::identities::IdentityRow;
use kernel::Result;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;
use web::db;

use super::user_id;

/// A page of identifiers to be copied.
#[derive(Debug)]
pub(crate) struct Unmirrored {
    pub(crate) rows: Vec<IdentityRow>,
    /// How long the oldest of them waits.
    pub(crate) seconds_behind: f64,
}

/// Identifiers of any workspace that are not copied yet, the oldest change first.
pub(crate) async fn unmirrored(db: &PgPool, limit: i64) -> Result<Unmirrored> {
    let rows = sqlx::query!(
        r#"select workspace_id, type as kind, id, user_id, names_users, version,
             extract(epoch from clock_timestamp() - changed_at)::float8 as "seconds_behind!"
           from identity
           where not mirrored
           order by version
           limit $1"#,
        limit,
    )
    .fetch_all(db)
    .await?;
    let seconds_behind = rows.iter().map(|row| row.seconds_behind).fold(0.0, f64::max);
    let rows = rows
        .into_iter()
        .map(|row| {
            Ok(IdentityRow {
                workspace: row.workspace_id,
                kind: row.kind,
                id: row.id,
                user_id: user_id(&row.user_id)?.to_string(),
                names_users: row.names_users,
                version: row.version.unsigned_abs(),
            })
        })
        .collect::<Result<_>>()?;
    Ok(Unmirrored { rows, seconds_behind })
}

/// Marks identifiers as copied that did not change meanwhile. Those that are being changed are left for the next pass, so
/// that no transaction delays the others' copies.
pub(crate) async fn mark(pool: &PgPool, rows: &[IdentityRow]) -> Result<()> {
    let workspaces: Vec<Uuid> = rows.iter().map(|row| row.workspace).collect();
    let kinds: Vec<&str> = rows.iter().map(|row| row.kind.as_str()).collect();
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let versions: Vec<i64> =
        rows.iter().map(|row| i64::try_from(row.version).unwrap_or(i64::MAX)).collect();
    let mut tx = db::begin_by_index(pool).await?;
    sqlx::query!(
        "with copied as (
             select i.workspace_id, i.type, i.id
             from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[])
                 as c (workspace_id, type, id, version)
             join identity i on i.workspace_id = c.workspace_id and i.type = c.type and i.id = c.id
                 and i.version = c.version
             order by i.workspace_id, i.type, i.id
             for no key update of i skip locked
         )
         update identity i set mirrored = true
         from copied c
         where i.workspace_id = c.workspace_id and i.type = c.type and i.id = c.id",
        &workspaces,
        &kinds as _,
        &ids as _,
        &versions,
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(())
}

/// Marks all identifiers as not copied.
pub(crate) async fn mark_none(connection: &mut PgConnection) -> Result<()> {
    sqlx::query!("update identity set mirrored = false where mirrored").execute(connection).await?;
    Ok(())
}

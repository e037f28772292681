//! Identifiers that ClickHouse does not have yet as they are.

use analytics::identities::IdentityRow;
use kernel::Result;
use sqlx::{PgConnection, PgPool};

use super::user_id;

/// A page of identifiers to be copied.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) rows: Vec<IdentityRow>,
    /// How many versions wait, those of identifiers that have another one by now among them.
    pub(crate) version_count: usize,
    /// The rows of the queue, by their largest versions.
    pub(crate) queued: Vec<i64>,
    /// How long the oldest of them waits.
    pub(crate) seconds_behind: f64,
}

/// Identifiers of any workspace that are not copied yet, the oldest change first: the rows of the queue before which there are
/// fewer than the limit.
pub(crate) async fn waiting(db: &PgPool, limit: i64) -> Result<Waiting> {
    let changes = sqlx::query!(
        r#"select version as "version!", versions,
               extract(epoch from clock_timestamp() - changed_at)::float8 as "seconds_behind!"
           from (
               select *, sum(coalesce(cardinality(versions), 1))
                   over (order by version rows between unbounded preceding and 1 preceding) as before
               from (select * from identity_change order by version limit $1) o
           ) c
           where coalesce(before, 0) < $1
           order by version"#,
        limit,
    )
    .fetch_all(db)
    .await?;
    let seconds_behind = changes.iter().map(|row| row.seconds_behind).fold(0.0, f64::max);
    let queued: Vec<i64> = changes.iter().map(|row| row.version).collect();
    let of_row = |versions: Option<Vec<i64>>, version| versions.unwrap_or_else(|| vec![version]);
    let versions: Vec<i64> =
        changes.into_iter().flat_map(|row| of_row(row.versions, row.version)).collect();
    let rows = if versions.is_empty() { Vec::new() } else { of_versions(db, &versions).await? };
    Ok(Waiting { rows, version_count: versions.len(), queued, seconds_behind })
}

/// The identifiers that have these versions now. Not joined with those that wait: a merge of the two indexes reads all
/// identifiers.
async fn of_versions(db: &PgPool, versions: &[i64]) -> Result<Vec<IdentityRow>> {
    let rows = sqlx::query!(
        "select workspace_id, type as kind, id, user_id, names_users, version
         from identity
         where version = any($1)",
        versions,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(IdentityRow {
                workspace: row.workspace_id,
                kind: row.kind,
                id: row.id,
                user_id: match &row.user_id {
                    Some(id) => user_id(id)?.to_string(),
                    None => String::new(),
                },
                names_users: row.names_users,
                version: row.version.unsigned_abs(),
            })
        })
        .collect()
}

/// Deletes rows of the queue that are copied.
pub(crate) async fn forget(db: &PgPool, queued: &[i64]) -> Result<()> {
    sqlx::query!("delete from identity_change where version = any($1)", queued).execute(db).await?;
    Ok(())
}

/// Has all identifiers wait to be copied.
pub(crate) async fn all_wait(connection: &mut PgConnection) -> Result<()> {
    sqlx::query!(
        "insert into identity_change (version, workspace_id)
         select version, workspace_id from identity
         on conflict do nothing"
    )
    .execute(connection)
    .await?;
    Ok(())
}

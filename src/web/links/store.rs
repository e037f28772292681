//! SQL of link keys, which belong to the installation and not to a workspace.

use kernel::Result;
use sqlx::PgPool;

use super::keys::Key;

/// Every key, the newest last.
pub(super) async fn list_keys(db: &PgPool) -> Result<Vec<Key>> {
    let rows = sqlx::query!("select id, secret from link_key order by id").fetch_all(db).await?;
    Ok(rows.into_iter().map(|row| Key { id: row.id, secret: row.secret.into() }).collect())
}

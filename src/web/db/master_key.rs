//! Compares the master keys of nodes that share a PostgreSQL, by values derived from them.

use sqlx::PgPool;

/// How a node's master key compares to that of the first node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MasterKey {
    Same,
    /// Secrets that other nodes sealed cannot be opened here.
    Foreign,
    /// No node of this release has started yet.
    Unrecorded,
}

/// Compares a value with the recorded one.
///
/// # Errors
/// If PostgreSQL cannot be asked, or its schema is older.
pub async fn compare(db: &PgPool, value: &[u8]) -> Result<MasterKey, sqlx::Error> {
    let recorded: Option<Vec<u8>> =
        sqlx::query_scalar("select value from master_key_check").fetch_optional(db).await?;
    Ok(match recorded {
        None => MasterKey::Unrecorded,
        Some(recorded) if recorded == value => MasterKey::Same,
        Some(_) => MasterKey::Foreign,
    })
}

/// Records the value if none is recorded, and compares.
///
/// # Errors
/// If PostgreSQL cannot be asked.
pub async fn record(db: &PgPool, value: &[u8]) -> Result<MasterKey, sqlx::Error> {
    sqlx::query("insert into master_key_check (value) values ($1) on conflict do nothing")
        .bind(value)
        .execute(db)
        .await?;
    compare(db, value).await
}

//! Versions of copies: of two rows of one key in ClickHouse the larger counts.

use kernel::Result;
use sqlx::PgPool;

/// Takes a version. It is committed at once, by a connection of its own: a version that ClickHouse has seen must not be
/// taken again after a crash of PostgreSQL.
pub(crate) async fn next(db: &PgPool) -> Result<u64> {
    let version = sqlx::query_scalar!(r#"select nextval('people_version') as "version!""#)
        .fetch_one(db)
        .await?;
    Ok(version.unsigned_abs())
}

/// Lets all later versions be larger than this one, which ClickHouse has; PostgreSQL may be an older one, restored.
pub(crate) async fn raise(db: &PgPool, above: u64) -> Result<()> {
    sqlx::query_scalar!(
        r#"select setval('people_version', greatest(nextval('people_version'), $1)) as "version!""#,
        i64::try_from(above).unwrap_or(i64::MAX - 1),
    )
    .fetch_one(db)
    .await?;
    Ok(())
}

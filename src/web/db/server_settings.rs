//! Settings and clock of a PostgreSQL server, for an operator.

use sqlx::PgPool;

/// Settings as this role and this database have them.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct ServerSettings {
    /// `server_version_num`: 180004 is 18.4.
    pub version: i32,
    pub fsync: String,
    pub full_page_writes: String,
    pub synchronous_commit: String,
    pub connections_max: i32,
    /// Of these, connections that only superusers get.
    pub connections_reserved: i32,
    /// A standby, or `default_transaction_read_only`.
    pub is_read_only: bool,
}

const READ: &str = "select
    current_setting('server_version_num')::integer as version,
    current_setting('fsync') as fsync,
    current_setting('full_page_writes') as full_page_writes,
    current_setting('synchronous_commit') as synchronous_commit,
    current_setting('max_connections')::integer as connections_max,
    current_setting('superuser_reserved_connections')::integer as connections_reserved,
    pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as is_read_only";

/// Reads the settings.
///
/// # Errors
/// If PostgreSQL cannot be asked.
pub async fn read(db: &PgPool) -> Result<ServerSettings, sqlx::Error> {
    sqlx::query_as(READ).fetch_one(db).await
}

/// The server's clock, in milliseconds since 1970.
///
/// # Errors
/// If PostgreSQL cannot be asked.
pub async fn clock_ms(db: &PgPool) -> Result<i64, sqlx::Error> {
    let sql = "select (extract(epoch from clock_timestamp()) * 1000)::bigint";
    sqlx::query_scalar(sql).fetch_one(db).await
}

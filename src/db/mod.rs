//! The PostgreSQL pool and its migrations, and how a store's fault reads as an error.

mod fault;
mod retry;

pub use self::retry::retried;

use std::time::Duration;

use sqlx::{
    Connection as _, PgPool,
    migrate::{Migrate as _, MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::kernel;

/// Every step of the schema, built into the program.
static MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");
/// How long a connection that nobody needs is kept.
const IDLE_MAX: Duration = Duration::from_mins(10);
/// Shown beside our sessions in `pg_stat_activity`.
const APPLICATION: &str = "millrace";

/// A pool that connects when it is first used, so that a server can start before its store. Who waits longer
/// than `wait_max` for a connection is told that the store is unavailable.
pub fn connect(options: PgConnectOptions, connections_max: u32, wait_max: Duration) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections_max)
        .acquire_timeout(wait_max)
        .idle_timeout(IDLE_MAX)
        .connect_lazy_with(options.application_name(APPLICATION))
}

/// Brings the schema up to this program's version. Several programs may try at once: one does it.
///
/// The connection is closed afterwards: a failed try leaves its lock with the connection, and the next try
/// would wait for that lock without end.
///
/// # Errors
/// When the store is out of reach, or its schema was made by a newer program.
pub async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    let mut connection = pool.acquire().await?.detach();
    let outcome = MIGRATIONS.run_direct(None, &mut connection, false).await;
    // What became of the schema is known; how the connection ends changes nothing.
    drop(connection.close().await);
    outcome
}

/// Whether every step of this program's schema has been taken.
///
/// # Errors
/// When the store is out of reach or has never been migrated.
pub async fn schema_is_current(pool: &PgPool) -> Result<bool, MigrateError> {
    let mut connection = pool.acquire().await?;
    let applied = connection.list_applied_migrations(&MIGRATIONS.table_name).await?;
    Ok(MIGRATIONS.iter().filter(|step| !step.migration_type.is_down_migration()).all(|step| {
        applied.iter().any(|done| done.version == step.version && done.checksum == step.checksum)
    }))
}

/// Whether the store answers.
///
/// # Errors
/// When it does not, or when no connection is free for it.
pub async fn ping(pool: &PgPool) -> Result<(), sqlx::Error> {
    pool.acquire().await?.as_mut().ping().await
}

/// Records how many connections are open, by what they do; called when metrics are read.
pub fn observe_pool(pool: &PgPool) {
    let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX);
    let used = pool.size().saturating_sub(idle);
    metrics::gauge!("postgres_connections", "state" => "idle").set(f64::from(idle));
    metrics::gauge!("postgres_connections", "state" => "used").set(f64::from(used));
}

/// Turns a named constraint into an answer for the caller.
pub trait ResultExt<T> {
    /// Answers `refusal` where the constraint `name` was violated, and what [`kernel::Error`] makes of
    /// any other failure.
    ///
    /// # Errors
    /// Whatever went wrong, in the caller's words where it was the constraint.
    fn on_constraint(
        self,
        name: &str,
        refusal: impl FnOnce() -> kernel::Error,
    ) -> kernel::Result<T>;
}

impl<T> ResultExt<T> for Result<T, sqlx::Error> {
    fn on_constraint(
        self,
        name: &str,
        refusal: impl FnOnce() -> kernel::Error,
    ) -> kernel::Result<T> {
        self.map_err(|error| {
            let violated = error.as_database_error().and_then(|answer| answer.constraint());
            if violated == Some(name) { refusal() } else { error.into() }
        })
    }
}

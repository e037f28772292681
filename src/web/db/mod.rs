//! The PostgreSQL pool and its migrations, and how a store's fault reads as an error.

mod retry;

pub use self::retry::retried;

use std::{sync::Arc, time::Duration};

use sqlx::{
    ConnectOptions as _, Connection as _, PgConnection, PgPool,
    migrate::{Migrate as _, MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};

/// Every step of the schema, built into the program.
static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/postgres");
/// How long a connection that nobody needs is kept.
const IDLE_MAX: Duration = Duration::from_mins(10);
/// Shown beside our sessions in `pg_stat_activity`.
const APPLICATION: &str = "millrace";

/// How long a statement may run, and how long it may wait for a lock.
#[derive(Debug, Clone, Copy)]
pub struct StatementLimits {
    pub run_max: Duration,
    pub lock_max: Duration,
}

/// The options with these limits for every statement of a connection.
pub fn limited(options: PgConnectOptions, limits: StatementLimits) -> PgConnectOptions {
    let ms = |limit: Duration| format!("{}ms", limit.as_millis());
    options
        .options([("statement_timeout", ms(limits.run_max)), ("lock_timeout", ms(limits.lock_max))])
}

/// A pool that connects when it is first used, so that a server can start before its store. Who waits longer
/// than `wait_max` for a connection is told that the store is unavailable.
pub fn connect(options: PgConnectOptions, connections_max: u32, wait_max: Duration) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections_max)
        .acquire_timeout(wait_max)
        .idle_timeout(IDLE_MAX)
        .before_acquire(|_, connection| {
            let is_usable = !kernel::outage::is_older_than_last(connection.age);
            Box::pin(async move { Ok(is_usable) })
        })
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
    // A step may take as long as it takes, and wait for another program's.
    sqlx::raw_sql("set statement_timeout = 0; set lock_timeout = 0")
        .execute(&mut connection)
        .await?;
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

/// Asks whether the store answers and takes writes, on a connection of its own, so that a pool that is used up does
/// not make it look away.
#[derive(Debug)]
pub struct Pinger {
    options: Arc<PgConnectOptions>,
    connection: Option<PgConnection>,
}

/// What a ping found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pinged {
    Writable,
    /// It answers and is a standby, or read-only otherwise.
    ReadOnly,
}

impl Pinger {
    /// Pings the store of a pool.
    pub fn of(pool: &PgPool) -> Self {
        Self { options: pool.connect_options(), connection: None }
    }

    /// Asks once. May be given up at any moment; the next call connects anew then.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn ping(&mut self) -> Result<Pinged, sqlx::Error> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.options.connect().await?,
        };
        let is_read_only: bool = sqlx::query_scalar(
            "select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean",
        )
        .fetch_one(&mut connection)
        .await?;
        if is_read_only {
            // The address may lead to another server by now.
            return Ok(Pinged::ReadOnly);
        }
        self.connection = Some(connection);
        Ok(Pinged::Writable)
    }
}

/// Records how many connections are open, by what they do; called when metrics are read.
pub fn observe_pool(pool: &PgPool) {
    let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX);
    let used = pool.size().saturating_sub(idle);
    metrics_catalogue::POSTGRES_CONNECTIONS.with(["idle"]).set(f64::from(idle));
    metrics_catalogue::POSTGRES_CONNECTIONS.with(["used"]).set(f64::from(used));
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

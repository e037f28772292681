//! The PostgreSQL pool, its migrations, and the translation of constraint violations.

pub mod master_key;
mod retry;
pub mod server_settings;

pub use self::retry::retried;

use std::{sync::Arc, time::Duration};

use sha2::{Digest as _, Sha256};
use sqlx::{
    ConnectOptions as _, Connection as _, PgConnection, PgPool, Postgres, Transaction,
    migrate::{Migrate as _, MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};

/// The migrations, compiled into the program.
static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/postgres");
/// How long an unused connection stays open.
const IDLE_MAX: Duration = Duration::from_mins(10);
/// The application name of connections in `pg_stat_activity`.
const APPLICATION: &str = "millrace";

/// How long a statement may run, and how long it may wait for a lock.
#[derive(Debug, Clone, Copy)]
pub struct StatementLimits {
    pub run_max: Duration,
    pub lock_max: Duration,
}

/// The options with these limits for every statement of a connection. Transactions see what is committed before each
/// statement, whatever the database's default is: triggers that stand for foreign keys depend on it.
pub fn limited(options: PgConnectOptions, limits: StatementLimits) -> PgConnectOptions {
    let ms = |limit: Duration| format!("{}ms", limit.as_millis());
    options.options([
        ("statement_timeout", ms(limits.run_max)),
        ("lock_timeout", ms(limits.lock_max)),
        ("default_transaction_isolation", "read committed".to_owned()),
    ])
}

/// The options with the padded keys of the HMAC by which the database hashes identifiers of erased people. They are settings
/// of each connection, so that no key is in the database.
pub fn with_privacy_key(options: PgConnectOptions, key: &[u8; 32]) -> PgConnectOptions {
    // The pads of HMAC (RFC 2104), for a block of SHA-256.
    let padded = |pad: u8| -> String {
        let block = (0..64).map(|at| key.get(at).copied().unwrap_or(0) ^ pad);
        block.fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    };
    options.options([
        ("millrace.privacy_inner", padded(0x36)),
        ("millrace.privacy_outer", padded(0x5c)),
    ])
}

/// A pool that connects when it is first used, so that a server can start before PostgreSQL. A request that
/// waits longer than `wait_max` for a connection gets the error that the store is unavailable.
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

/// Begins a transaction whose statements use indexes, one row at a time, are planned anew for their arguments, and each of
/// which sees what was committed before it. Otherwise the planner would keep a plan that was made for a few rows, or read a
/// whole table because its statistics call it small.
///
/// # Errors
/// When PostgreSQL is unavailable.
pub async fn begin_by_index(pool: &PgPool) -> kernel::Result<Transaction<'static, Postgres>> {
    let by_index = "begin isolation level read committed;
        set local plan_cache_mode = force_custom_plan;
        set local enable_hashjoin = off;
        set local enable_mergejoin = off;
        set local enable_seqscan = off;
        set local jit = off";
    Ok(pool.begin_with(by_index).await?)
}

/// Applies the migrations. Several processes may try at the same time: one does it.
///
/// The connection is closed afterwards: a failed attempt leaves its lock with the connection, and the next
/// attempt would wait for it forever.
///
/// # Errors
/// When PostgreSQL cannot be reached, or its schema is that of a newer program.
pub async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    let mut connection = pool.acquire().await?.detach();
    // A migration may take long, and wait for another process.
    sqlx::raw_sql("set statement_timeout = 0; set lock_timeout = 0")
        .execute(&mut connection)
        .await?;
    let outcome = MIGRATIONS.run_direct(None, &mut connection, false).await;
    // The result is known; an error of closing does not matter.
    drop(connection.close().await);
    outcome
}

/// Whether all migrations of this program have been applied.
///
/// # Errors
/// When PostgreSQL cannot be reached or has never been migrated.
pub async fn schema_is_current(pool: &PgPool) -> Result<bool, MigrateError> {
    let mut connection = pool.acquire().await?;
    let applied = connection.list_applied_migrations(&MIGRATIONS.table_name).await?;
    Ok(MIGRATIONS.iter().filter(|step| !step.migration_type.is_down_migration()).all(|step| {
        applied.iter().any(|done| done.version == step.version && done.checksum == step.checksum)
    }))
}

/// The number of the last migration of this program, and a checksum of all of them.
pub fn schema_version() -> String {
    let steps = MIGRATIONS.iter().filter(|step| !step.migration_type.is_down_migration());
    let mut hash = Sha256::new();
    let mut last = 0;
    for step in steps {
        hash.update(&step.checksum);
        last = step.version;
    }
    format!("{last}-{}", hex::encode(&hash.finalize()[..8]))
}

/// Checks whether PostgreSQL answers and accepts writes. It uses its own connection, so an exhausted pool does
/// not look like an outage.
#[derive(Debug)]
pub struct Pinger {
    options: Arc<PgConnectOptions>,
    connection: Option<PgConnection>,
}

/// The result of a ping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pinged {
    Writable,
    /// It answers, and is a standby or otherwise read-only.
    ReadOnly,
}

impl Pinger {
    /// Pings the server of a pool.
    pub fn of(pool: &PgPool) -> Self {
        Self { options: pool.connect_options(), connection: None }
    }

    /// Pings once. May be cancelled at any time; the next call connects anew then.
    ///
    /// # Errors
    /// When PostgreSQL does not answer.
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
            // The address may lead to another server by now, so the next ping connects anew.
            return Ok(Pinged::ReadOnly);
        }
        self.connection = Some(connection);
        Ok(Pinged::Writable)
    }
}

/// Records the number of open connections by state. Called when metrics are read.
pub fn observe_pool(pool: &PgPool) {
    let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX);
    let used = pool.size().saturating_sub(idle);
    metrics_catalogue::POSTGRES_CONNECTIONS.with(["idle"]).set(f64::from(idle));
    metrics_catalogue::POSTGRES_CONNECTIONS.with(["used"]).set(f64::from(used));
}

/// Turns a violated constraint into an answer for the caller.
pub trait ResultExt<T> {
    /// Returns `refusal` if the constraint `name` was violated, otherwise the usual [`kernel::Error`].
    ///
    /// # Errors
    /// The refusal, or the error of any other failure.
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

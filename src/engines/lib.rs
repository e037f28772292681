//! Starts and supervises the embedded PostgreSQL and ClickHouse, or provides the addresses of external ones.
//!
//! Both run as child processes of `serve`: restarted when they die, stopped with it, and ended by the kernel
//! or by themselves when it is killed.

mod account;
mod clickhouse;
mod data_dir;
mod error;
mod existing;
mod install;
mod permissions;
mod postgres;
mod process;
pub mod vault;

use std::{
    path::{Path, PathBuf},
    str::FromStr as _,
    time::{Duration, Instant},
};

use secrecy::{ExposeSecret as _, SecretString};
use sqlx::{ConnectOptions as _, postgres::PgConnectOptions};

use self::process::Supervised;
pub use self::{
    clickhouse::{ClickHouseAddress, serve::serve as serve_clickhouse},
    data_dir::{DataDir, DataDirLock},
    error::Error,
    existing::{Installation, RunningEngines, installations},
    postgres::launch::{Launch as PostgresLaunch, launch as launch_postgres},
};
use config::Settings;

/// How long a command waits for the engines of a server that is starting.
const ATTACH_MAX: Duration = Duration::from_secs(30);
/// Polling interval of that wait.
const ATTACH_PAUSE: Duration = Duration::from_millis(100);

/// Which engines a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    pub postgres: bool,
    pub clickhouse: bool,
}

impl Needs {
    pub const BOTH: Self = Self { postgres: true, clickhouse: true };
    pub const CLICKHOUSE: Self = Self { postgres: false, clickhouse: true };
    pub const POSTGRES: Self = Self { postgres: true, clickhouse: false };
}

#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// The `millrace` program, which runs the children.
    pub executable: PathBuf,
    /// An external PostgreSQL, instead of the embedded one.
    pub database_url: Option<SecretString>,
    /// An external ClickHouse, instead of the embedded one.
    pub clickhouse_url: Option<SecretString>,
    /// The cluster of the external ClickHouse.
    pub clickhouse_cluster: Option<String>,
    pub settings: config::Engines,
    pub needs: Needs,
}

impl EngineOptions {
    /// Both engines as configured, run by the current program.
    pub fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let executable = std::env::current_exe().map_err(|error| {
            Error::Setting(format!("the path of this program is not known: {error}"))
        })?;
        Ok(Self {
            executable,
            database_url: settings.database_url.clone(),
            clickhouse_url: settings.clickhouse_url.clone(),
            clickhouse_cluster: settings.clickhouse.cluster.clone(),
            settings: config::Engines {
                // Callers who ask in SQL take no place of anyone else.
                clickhouse_connections: settings.engines.clickhouse_connections
                    + settings.sql.queries,
                ..settings.engines.clone()
            },
            needs: Needs::BOTH,
        })
    }
}

#[derive(Debug)]
pub struct Engines {
    postgres: Option<PgConnectOptions>,
    clickhouse: Option<ClickHouseAddress>,
    /// Engines that stop with this process.
    children: Vec<Supervised>,
    /// Held for as long as a command runs its own engines.
    lock: Option<DataDirLock>,
}

impl Engines {
    /// Installs and starts the required engines that are not external; returns when all answer. The caller
    /// holds the lock of the data directory; the supervising tasks live in the caller's runtime.
    pub async fn start(options: &EngineOptions, data: &DataDir) -> Result<Self, Error> {
        let mut engines = Self::given(options)?;
        let (postgres, clickhouse) = tokio::join!(
            async {
                if !options.needs.postgres || engines.postgres.is_some() {
                    return Ok(None);
                }
                let folder = data.path().join("postgres");
                let child =
                    postgres::start(&options.executable, folder.clone(), &options.settings).await?;
                Ok::<_, Error>(Some((child, postgres::connect_options(&folder)?)))
            },
            async {
                if !options.needs.clickhouse || engines.clickhouse.is_some() {
                    return Ok(None);
                }
                clickhouse::start(&options.executable, data, &options.settings).await.map(Some)
            },
        );
        let mut failure = None;
        match postgres {
            Ok(Some((child, address))) => {
                engines.children.push(child);
                engines.postgres = Some(address);
            }
            Ok(None) => {}
            Err(error) => failure = Some(error),
        }
        match clickhouse {
            Ok(Some((child, address))) => {
                engines.children.push(child);
                engines.clickhouse = Some(address);
            }
            Ok(None) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
        match failure {
            None => Ok(engines),
            Some(error) => {
                engines.stop().await;
                Err(error)
            }
        }
    }

    /// For a command: the configured engines, else those of the server that runs on this data directory, else
    /// own engines for the duration of the command.
    pub async fn attach_or_start(options: &EngineOptions, data_dir: &Path) -> Result<Self, Error> {
        let given = Self::given(options)?;
        if given.satisfies(options.needs) {
            return Ok(given);
        }
        let data = &DataDir::open(data_dir)?;
        if let Some(lock) = data.lock_for_command().await? {
            let mut engines = Self::start(options, data).await?;
            engines.lock = Some(lock);
            return Ok(engines);
        }
        given.attach(options.needs, data).await
    }

    /// The engines that the settings name by URL.
    fn given(options: &EngineOptions) -> Result<Self, Error> {
        let postgres = match &options.database_url {
            Some(url) => {
                Some(PgConnectOptions::from_str(url.expose_secret()).map_err(|error| {
                    Error::Setting(format!(
                        "DATABASE_URL must be like postgres://user:pass@host/db: {error}"
                    ))
                })?)
            }
            None => None,
        };
        let clickhouse = match &options.clickhouse_url {
            Some(url) => Some(ClickHouseAddress {
                cluster: options.clickhouse_cluster.clone(),
                ..ClickHouseAddress::parse(url.expose_secret())?
            }),
            None => None,
        };
        Ok(Self { postgres, clickhouse, children: Vec::new(), lock: None })
    }

    fn satisfies(&self, needs: Needs) -> bool {
        (self.postgres.is_some() || !needs.postgres)
            && (self.clickhouse.is_some() || !needs.clickhouse)
    }

    /// Finds the engines of a running or starting server.
    async fn attach(mut self, needs: Needs, data: &DataDir) -> Result<Self, Error> {
        let deadline = Instant::now() + ATTACH_MAX;
        loop {
            // An error means that the folder does not exist yet.
            if self.postgres.is_none()
                && needs.postgres
                && let Ok(options) = postgres::connect_options(&data.path().join("postgres"))
                && postgres::answers(&options).await
            {
                self.postgres = Some(options);
            }
            if self.clickhouse.is_none()
                && needs.clickhouse
                && let Some(address) = clickhouse::published(data)
                && clickhouse::answers(&address).await
                // Still published: then the server still held the port when it was called.
                && clickhouse::published(data).is_some_and(|again| again.url == address.url)
            {
                self.clickhouse = Some(address);
            }
            if self.satisfies(needs) {
                return Ok(self);
            }
            if Instant::now() >= deadline {
                return Err(Error::Setting(format!(
                    "the server that uses {} runs no engine that answers: set DATABASE_URL and CLICKHOUSE_URL as they are set for it",
                    data.path().display()
                )));
            }
            tokio::time::sleep(ATTACH_PAUSE).await;
        }
    }

    /// The address of PostgreSQL. Panics if it was not requested.
    pub fn postgres_options(&self) -> PgConnectOptions {
        self.postgres.clone().expect("PostgreSQL was among the engines asked for")
    }

    /// The same as a URL.
    pub fn postgres_url(&self) -> SecretString {
        self.postgres_options().to_url_lossy().to_string().into()
    }

    /// The address of ClickHouse. Panics if it was not requested.
    pub fn clickhouse(&self) -> &ClickHouseAddress {
        self.clickhouse.as_ref().expect("ClickHouse was among the engines asked for")
    }

    /// Stops the own engines, and returns when they have ended.
    pub async fn stop(self) {
        let stops: Vec<_> =
            self.children.into_iter().map(|child| tokio::spawn(child.stop())).collect();
        for stop in stops {
            // A task that panicked has dropped its child, which kills it.
            let _ = stop.await;
        }
        drop(self.lock);
    }
}

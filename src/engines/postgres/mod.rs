//! The embedded PostgreSQL: a cluster in the data directory, reached by a Unix socket only.
//!
//! Files: `<data_dir>/postgres/<major>` is the cluster, `<data_dir>/postgres/.s.PGSQL.5432` the socket. The
//! folder belongs to the account that runs PostgreSQL; only it and root have access. [`launch`] describes how
//! that works when Millrace runs as root and the account has no access to the data directory.

mod cluster;
pub(super) mod launch;
mod orphan;
mod programs;
mod socket;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use sqlx::{
    ConnectOptions as _, Connection as _, PgConnection, Postgres,
    migrate::MigrateDatabase as _,
    postgres::{PgConnectOptions, PgSslMode},
};
use tokio::process::Command;

use self::{cluster::Mark, programs::Programs};
use super::{
    Error,
    account::{self, Account},
    process::{self, Engine as _, Launch, Running, Supervised},
};

/// The superuser of the cluster, and the only user.
const USER: &str = "millrace";
const DATABASE: &str = "millrace";
/// Part of the socket's name; there is no TCP.
const PORT: u16 = 5432;
/// Polling interval while the server starts.
const CONNECT_PAUSE: Duration = Duration::from_millis(25);
/// Timeout of a start, including recovery after a crash.
const START_MAX: Duration = Duration::from_mins(5);
/// Timeout of one attempt to connect.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// The connection options of the server whose files are in `folder`.
pub(super) fn connect_options(folder: &Path) -> Result<PgConnectOptions, Error> {
    Ok(PgConnectOptions::new_without_pgpass()
        .socket(socket::address(folder, PORT)?)
        .port(PORT)
        .username(USER)
        .ssl_mode(PgSslMode::Disable)
        .database(DATABASE))
}

/// Whether a server answers there, and has the database.
pub(super) async fn answers(options: &PgConnectOptions) -> bool {
    let attempt = async {
        let connection = PgConnection::connect_with(options).await?;
        connection.close().await
    };
    matches!(tokio::time::timeout(CONNECT_MAX, attempt).await, Ok(Ok(())))
}

/// Installs PostgreSQL if needed, starts it on the files in `folder` and waits until it answers.
pub(super) async fn start(
    executable: &Path,
    folder: PathBuf,
    settings: &config::Engines,
) -> Result<Supervised, Error> {
    let account = account::choose(&folder, settings.postgres_user.as_deref())?;
    cluster::give_to(&folder, &account)?;
    let programs = {
        let (settings, account) = (settings.clone(), account.clone());
        let made_by = cluster::made_by(&folder).map_err(Error::file("read", &folder))?;
        tokio::task::spawn_blocking(move || Programs::find(&settings, &account, made_by))
            .await
            .map_err(|error| Error::Install(error.to_string()))??
    };
    tracing::info!(version = %programs.version, user = %account.name, "starting PostgreSQL");
    let options = connect_options(&folder)?;
    let mark = Mark::of(&folder)?;
    let server =
        Server { executable: executable.to_owned(), folder, account, programs, mark, options };
    Supervised::start(server).await
}

/// The version of the programs that a start would use without installing any.
pub(super) fn existing_version(folder: &Path, settings: &config::Engines) -> Option<String> {
    let account = account::choose(folder, settings.postgres_user.as_deref()).ok()?;
    let made_by = cluster::made_by(folder).ok().flatten();
    Programs::existing(settings, &account, made_by).map(|programs| programs.version)
}

struct Server {
    executable: PathBuf,
    folder: PathBuf,
    account: Account,
    programs: Programs,
    mark: Mark,
    options: PgConnectOptions,
}

impl process::Engine for Server {
    const NAME: &'static str = "PostgreSQL";
    const STOP_MAX: Duration = Duration::from_secs(15);

    async fn prepare(&mut self) -> Result<Launch, Error> {
        orphan::end(&self.folder.join(self.programs.major.to_string()), &self.mark).await?;
        let mut command = Command::new(&self.executable);
        command
            .args(["engine", "postgres", "--folder"])
            .arg(&self.folder)
            .arg("--programs")
            .arg(&self.programs.folder)
            .args(["--major", &self.programs.major.to_string()])
            .args(["--user", &self.account.name])
            .args(["--mark", self.mark.text()])
            .args(["--parent", &std::process::id().to_string()]);
        Ok(Launch::piped(command))
    }

    async fn ready(&mut self, child: &mut Running) -> Result<(), Error> {
        tokio::select! {
            reason = child.died() => Err(Error::Start { engine: Self::NAME, reason }),
            opened = self.open() => opened,
        }
    }

    fn ask_to_stop(child: &mut Running) {
        child.signal(Signal::SIGINT); // "fast shutdown": ends the sessions, then stops cleanly
    }
}

impl Server {
    /// Waits until the server accepts connections; creates the database if it is missing.
    async fn open(&self) -> Result<(), Error> {
        let deadline = Instant::now() + START_MAX;
        let failed = |reason: String| Error::Start { engine: Self::NAME, reason };
        loop {
            let reason = match PgConnection::connect_with(&self.options).await {
                Ok(connection) => {
                    // The server answered; an error while closing does not matter.
                    let _ = connection.close().await;
                    return Ok(());
                }
                Err(error) if code(&error).as_deref() == Some(NO_SUCH_DATABASE) => {
                    let url = self.options.to_url_lossy();
                    return match Postgres::create_database(url.as_str()).await {
                        Ok(()) => Ok(()),
                        Err(error) => Err(failed(error.to_string())),
                    };
                }
                Err(error) => error.to_string(),
            };
            if Instant::now() >= deadline {
                return Err(failed(reason));
            }
            tokio::time::sleep(CONNECT_PAUSE).await;
        }
    }
}

/// PostgreSQL's code for a missing database (`invalid_catalog_name`).
const NO_SUCH_DATABASE: &str = "3D000";

fn code(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

//! The embedded ClickHouse: a process of our own around the library, reached over loopback with a secret.

pub(super) mod serve;

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use tokio::{io::AsyncWriteExt as _, process::Command};
use url::Url;

use super::{
    DataDir, Error,
    data_dir::{make_private, private_file, write_private},
    install::{CLICKHOUSE, Installer},
    process::{self, Engine as _, Running, Supervised},
};
use crate::config;

/// The one user of the embedded engine, and its database.
const USER: &str = "millrace";
const DATABASE: &str = "millrace";
/// Holds the address with its secret, for programs of the same user.
const URL_FILE: &str = "clickhouse.url";
/// Held by the process that has the files open; says which.
const LOCK_FILE: &str = "engine.lock";
/// How long a start may take, the loading of a large store included.
const START_MAX: Duration = Duration::from_mins(5);
/// How long an earlier run's process may take to end by itself.
const ORPHAN_MAX: Duration = Duration::from_secs(15);
/// Pause between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// How to reach a ClickHouse over HTTP.
#[derive(Debug, Clone)]
pub struct ClickHouseAddress {
    /// Scheme, host and port; no credentials.
    pub url: Url,
    /// The user.
    pub user: String,
    /// Their password; may be empty.
    pub password: SecretString,
    /// The database that requests mean when they name none.
    pub database: String,
}

impl ClickHouseAddress {
    /// Reads `http://user:pass@host:8123/db`; user and database default to `default`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refused = |reason: &str| {
            Error::Setting(format!(
                "CLICKHOUSE_URL must be like http://user:pass@host:8123/db: {reason}"
            ))
        };
        let mut url = Url::parse(text).map_err(|error| refused(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("it must start with http:// or https://"));
        }
        let decoded = |part: &str| {
            url::form_urlencoded::parse(format!("v={}", part.replace('+', "%2B")).as_bytes())
                .next()
                .map(|(_, value)| value.into_owned())
                .unwrap_or_default()
        };
        let or_default = |part: String| if part.is_empty() { "default".to_owned() } else { part };
        let user = or_default(decoded(url.username()));
        let password = decoded(url.password().unwrap_or_default()).into();
        let database = or_default(decoded(url.path().trim_matches('/')));
        if url.port().is_none() && !has_port(text) {
            let port = if url.scheme() == "https" { 8443 } else { 8123 };
            url.set_port(Some(port)).map_err(|()| refused("it has no host"))?;
        }
        url.set_username("")
            .and_then(|()| url.set_password(None))
            .map_err(|()| refused("it has no host"))?;
        url.set_path("/");
        url.set_query(None);
        Ok(Self { url, user, password, database })
    }

    /// The same, as the analytics crate takes it.
    pub fn for_analytics(&self) -> analytics::ClickHouseAddress {
        analytics::ClickHouseAddress {
            url: self.url.to_string(),
            user: self.user.clone(),
            password: self.password.expose_secret().to_owned(),
            database: self.database.clone(),
            cluster: None,
        }
    }

    /// The whole address in one text, credentials included.
    pub fn to_secret(&self) -> SecretString {
        let mut url = self.url.clone();
        url.set_path(&self.database);
        // Neither fails on a URL with a host, which this is.
        let _ = url.set_username(&self.user);
        let _ = url.set_password(Some(self.password.expose_secret()));
        url.to_string().into()
    }
}

/// Whether a port is written out; the `url` crate hides a scheme's own (80, 443).
fn has_port(text: &str) -> bool {
    let authority = text.split("://").nth(1).unwrap_or_default();
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.rsplit(']').next().unwrap_or_default().contains(':')
}

/// The address a running server left in the data directory.
pub(super) fn published(data: &DataDir) -> Option<ClickHouseAddress> {
    let text = fs::read_to_string(data.path().join(URL_FILE)).ok()?;
    ClickHouseAddress::parse(text.trim()).ok()
}

/// Whether something answers there; who it is shows with the first query.
pub(super) async fn answers(address: &ClickHouseAddress) -> bool {
    let Ok(addresses) = address.url.socket_addrs(|| None) else { return false };
    match addresses.first() {
        Some(address) => tokio::net::TcpStream::connect(address).await.is_ok(),
        None => false,
    }
}

/// What the child is told, on its standard input: secrets are not for command lines.
#[derive(Serialize, Deserialize)]
struct Orders {
    library: PathBuf,
    folder: PathBuf,
    listen: SocketAddr,
    user: String,
    password: String,
    database: String,
    memory_bytes: u64,
    connections: usize,
}

/// What the child answers, on its standard output.
#[derive(Debug, Serialize, Deserialize)]
struct Listening {
    port: u16,
}

/// Installs ClickHouse where needed, starts it and waits until it answers.
pub(super) async fn start(
    executable: &Path,
    data: &DataDir,
    settings: &config::Engines,
) -> Result<(Supervised, ClickHouseAddress), Error> {
    let library = {
        let settings = settings.clone();
        tokio::task::spawn_blocking(move || library(&settings))
            .await
            .map_err(|error| Error::Install(error.to_string()))??
    };
    let folder = data.path().join("clickhouse");
    make_private(&folder)?;
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port(data)?));
    let password = data.secret("clickhouse")?;
    let server = Server {
        executable: executable.to_owned(),
        orders: Orders {
            library,
            folder,
            listen,
            user: USER.to_owned(),
            password: password.expose_secret().to_owned(),
            database: DATABASE.to_owned(),
            memory_bytes: settings.clickhouse_memory_bytes,
            connections: settings.clickhouse_connections,
        },
    };
    tracing::info!(%listen, "starting ClickHouse");
    let supervised = Supervised::start(server).await?;
    let address = ClickHouseAddress {
        url: Url::parse(&format!("http://{listen}/"))
            .expect("a socket address is a valid authority"),
        user: USER.to_owned(),
        password,
        database: DATABASE.to_owned(),
    };
    write_private(&data.path().join(URL_FILE), address.to_secret().expose_secret())?;
    Ok((supervised, address))
}

/// The library: the one that was set, else the installed one. Blocks.
fn library(settings: &config::Engines) -> Result<PathBuf, Error> {
    if let Some(library) = &settings.libchdb {
        return fs::canonicalize(library).map_err(Error::file("read MILLRACE_LIBCHDB", library));
    }
    let installer = Installer::new(settings.cache_dir.clone(), None)?;
    let package = installer.install(&CLICKHOUSE).map_err(|error| {
        Error::Install(format!(
            "{error}: install Node.js for npm, or set MILLRACE_LIBCHDB to a libchdb.so, or CLICKHOUSE_URL to a running ClickHouse"
        ))
    })?;
    Ok(package.join("libchdb.so"))
}

/// The port of the last run where it is free, so that noted addresses stay valid; else any.
/// The child binds it anew after each death, so it is settled here, before the first start.
fn free_port(data: &DataDir) -> Result<u16, Error> {
    let last = published(data).and_then(|address| address.url.port()).unwrap_or(0);
    let bind = |port| std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let listener = bind(last).or_else(|_| bind(0));
    listener
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| Error::Start { engine: Server::NAME, reason: error.to_string() })
}

/// What it takes to run the server.
struct Server {
    executable: PathBuf,
    orders: Orders,
}

impl process::Engine for Server {
    const NAME: &'static str = "ClickHouse";
    const STOP_MAX: Duration = Duration::from_secs(15);

    async fn prepare(&mut self) -> Result<Command, Error> {
        end_orphan(&self.orders.folder.join(LOCK_FILE)).await?;
        let mut command = Command::new(&self.executable);
        command.args(["engine", "clickhouse"]);
        Ok(command)
    }

    async fn ready(&mut self, child: &mut Running) -> Result<(), Error> {
        let failed = |reason: String| Error::Start { engine: Self::NAME, reason };
        let mut orders =
            serde_json::to_vec(&self.orders).map_err(|error| failed(error.to_string()))?;
        orders.push(b'\n');
        if let Some(stdin) = &mut child.stdin {
            stdin.write_all(&orders).await.map_err(|error| failed(error.to_string()))?;
        }
        let Some(mut stdout) = child.stdout.take() else {
            return Err(failed("its output is not connected".to_owned()));
        };
        let line = tokio::time::timeout(START_MAX, stdout.next_line()).await;
        child.stdout = Some(stdout);
        let listening: Option<Listening> = match line {
            Ok(Ok(Some(line))) => serde_json::from_str(&line).ok(),
            Ok(Ok(None) | Err(_)) => return Err(failed(child.died().await)),
            Err(_) => return Err(failed(format!("it did not answer within {START_MAX:?}"))),
        };
        match listening {
            Some(listening) if listening.port == self.orders.listen.port() => Ok(()),
            other => Err(failed(format!("it answered {other:?}"))),
        }
    }

    fn ask_to_stop(child: &mut Running) {
        child.stdin = None;
    }
}

/// Waits for the process of an earlier run to let go of the files; ends it when it does not.
async fn end_orphan(lock: &Path) -> Result<(), Error> {
    let file = private_file(lock).map_err(Error::file("open", lock))?;
    let waited = tokio::time::timeout(ORPHAN_MAX, until_free(&file)).await;
    if waited.is_ok() {
        return Ok(());
    }
    // Whoever holds the lock wrote its number there: it lives, and it is ours.
    let text = fs::read_to_string(lock).map_err(Error::file("read", lock))?;
    if let Some(pid) = text.trim().parse().ok().filter(|pid| *pid > 1) {
        tracing::warn!(pid, "ending a ClickHouse that an earlier run left behind");
        match kill(Pid::from_raw(pid), Signal::SIGKILL) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => {
                return Err(Error::file("end the process that holds", lock)(error.into()));
            }
        }
    }
    tokio::time::timeout(ORPHAN_MAX, until_free(&file)).await.map_err(|_| {
        Error::file("take", lock)(io::Error::other("a process that does not end holds it"))
    })
}

async fn until_free(file: &fs::File) {
    while file.try_lock().is_err() {
        tokio::time::sleep(LOOK).await;
    }
    // Freed for the child by closing the file.
}

#[cfg(test)]
mod tests;

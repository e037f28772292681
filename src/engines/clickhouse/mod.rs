//! The embedded ClickHouse: the library in a child process, reached over loopback with a password.

pub(super) mod serve;

use std::{
    fs, io,
    net::{Ipv4Addr, TcpListener},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, kill},
        socket::{Backlog, listen},
    },
    unistd::Pid,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _},
    process::Command,
};
use url::Url;

use super::{
    DataDir, Error,
    data_dir::{make_private, private_file, write_private},
    install::{self, CLICKHOUSE, Installer},
    permissions::CLICKHOUSE_URL_FILE,
    process::{self, Engine as _, Launch, Running, Supervised},
};

/// The only user of the embedded engine, and its database.
const USER: &str = "millrace";
const DATABASE: &str = "millrace";
/// Holds the port of the last run, in the engine's folder: the published address is removed with its server.
const PORT_FILE: &str = "port";
/// Connections that wait while the child starts or restarts.
const BACKLOG: i32 = 1024;
/// Locked by the process that has the files open; holds its pid.
const LOCK_FILE: &str = "engine.lock";
/// Timeout of a start, including loading of a large store.
const START_MAX: Duration = Duration::from_mins(5);
/// How long a process of an earlier run may take to end by itself.
const ORPHAN_MAX: Duration = Duration::from_secs(15);
/// Polling interval while waiting for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The HTTP address of a ClickHouse.
#[derive(Debug, Clone)]
pub struct ClickHouseAddress {
    /// Scheme, host and port; no credentials.
    pub url: Url,
    pub user: String,
    /// Empty if the user has none.
    pub password: SecretString,
    pub database: String,
    /// The cluster; none: a single server.
    pub cluster: Option<String>,
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
        Ok(Self { url, user, password, database, cluster: None })
    }

    pub fn for_analytics(&self) -> analytics::ClickHouseAddress {
        analytics::ClickHouseAddress {
            url: self.url.to_string(),
            user: self.user.clone(),
            password: self.password.expose_secret().to_owned(),
            database: self.database.clone(),
            cluster: self.cluster.clone(),
        }
    }

    /// The whole address as text, including credentials.
    pub fn to_secret(&self) -> SecretString {
        let mut url = self.url.clone();
        url.set_path(&self.database);
        // Neither fails on a URL with a host.
        let _ = url.set_username(&self.user);
        let _ = url.set_password(Some(self.password.expose_secret()));
        url.to_string().into()
    }
}

/// Whether the text names a port; the `url` crate hides a scheme's default (80, 443).
fn has_port(text: &str) -> bool {
    let authority = text.split("://").nth(1).unwrap_or_default();
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.rsplit(']').next().unwrap_or_default().contains(':')
}

/// The address that a running server wrote into the data directory.
pub(super) fn published(data: &DataDir) -> Option<ClickHouseAddress> {
    let text = fs::read_to_string(data.path().join(CLICKHOUSE_URL_FILE)).ok()?;
    ClickHouseAddress::parse(text.trim()).ok()
}

/// Whether a server answers there; its identity shows with the first query.
pub(super) async fn answers(address: &ClickHouseAddress) -> bool {
    let Ok(addresses) = address.url.socket_addrs(|| None) else { return false };
    match addresses.first() {
        Some(address) => tokio::net::TcpStream::connect(address).await.is_ok(),
        None => false,
    }
}

/// Sent to the child over the stream: secrets do not belong on command lines.
#[derive(Serialize, Deserialize)]
struct ServeRequest {
    library: PathBuf,
    folder: PathBuf,
    user: String,
    password: String,
    database: String,
    memory_bytes: u64,
    connections: usize,
}

/// What the child answers once it listens.
#[derive(Debug, Serialize, Deserialize)]
struct Listening {
    port: u16,
    /// The library's version, if it is newer than the tested one.
    untested_version: Option<String>,
}

/// Installs ClickHouse if needed, starts it and waits until it answers.
///
/// This process binds the port and keeps it for its whole life; each child inherits the socket. While the
/// child is down no other process can take the port: connections wait for the next child.
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
    let published = Published { path: data.path().join(CLICKHOUSE_URL_FILE) };
    // A process of an earlier run may hold the port.
    end_orphan(&folder.join(LOCK_FILE)).await?;
    let port_file = folder.join(PORT_FILE);
    let socket = bind(read_port(&port_file))?;
    let failed =
        |error: io::Error| Error::Start { engine: Server::NAME, reason: error.to_string() };
    let listen = socket.local_addr().map_err(failed)?;
    write_private(&port_file, &listen.port().to_string())?;
    let password = data.secret("clickhouse")?;
    let address = ClickHouseAddress {
        url: Url::parse(&format!("http://{listen}/"))
            .expect("a socket address is a valid authority"),
        user: USER.to_owned(),
        password: password.clone(),
        database: DATABASE.to_owned(),
        cluster: None,
    };
    let url_file = published.path.clone();
    let server = Server {
        executable: executable.to_owned(),
        _published: published,
        socket,
        orders: ServeRequest {
            library,
            folder,
            user: USER.to_owned(),
            password: password.expose_secret().to_owned(),
            database: DATABASE.to_owned(),
            memory_bytes: settings.clickhouse_memory_bytes,
            connections: settings.clickhouse_connections,
        },
    };
    tracing::info!(%listen, "starting ClickHouse");
    let supervised = Supervised::start(server).await?;
    write_private(&url_file, address.to_secret().expose_secret())?;
    Ok((supervised, address))
}

/// The file with the address. It exists while a server holds the port; one left by a killed server is removed
/// by the next holder of the directory's lock.
struct Published {
    path: PathBuf,
}

impl Drop for Published {
    fn drop(&mut self) {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, path = %self.path.display(), "the published address cannot be removed");
            }
            _ => {}
        }
    }
}

/// The library: the configured one, else the installed one. Blocks.
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

/// The library that a start would use without installing one.
pub(super) fn existing_library(settings: &config::Engines) -> Option<PathBuf> {
    match &settings.libchdb {
        Some(library) => library.is_file().then(|| library.clone()),
        None => install::installed(settings.cache_dir.clone(), None, &CLICKHOUSE)
            .map(|package| package.join("libchdb.so")),
    }
}

fn read_port(path: &Path) -> Option<u16> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Listens on the port of the last run if it is free, so that noted addresses stay valid; else on any.
fn bind(last: Option<u16>) -> Result<TcpListener, Error> {
    let bind = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let bound = bind(last.unwrap_or(0)).or_else(|_| bind(0)).and_then(|socket| {
        listen(&socket, Backlog::new(BACKLOG)?)?;
        Ok(socket)
    });
    bound.map_err(|error| Error::Start { engine: Server::NAME, reason: error.to_string() })
}

/// Fields drop in this order: the published address is removed before the socket closes.
struct Server {
    _published: Published,
    executable: PathBuf,
    /// Open as long as this process lives; only children accept connections from it.
    socket: TcpListener,
    orders: ServeRequest,
}

impl process::Engine for Server {
    const NAME: &'static str = "ClickHouse";
    const STOP_MAX: Duration = Duration::from_secs(15);

    async fn prepare(&mut self) -> Result<Launch, Error> {
        end_orphan(&self.orders.folder.join(LOCK_FILE)).await?;
        let mut command = Command::new(&self.executable);
        command.args(["engine", "clickhouse"]);
        let socket = self.socket.try_clone().map(OwnedFd::from);
        socket
            .and_then(|socket| Launch::with_socket(command, socket))
            .map_err(|error| Error::Start { engine: Self::NAME, reason: error.to_string() })
    }

    async fn ready(&mut self, child: &mut Running) -> Result<(), Error> {
        let failed = |reason: String| Error::Start { engine: Self::NAME, reason };
        let mut orders =
            serde_json::to_vec(&self.orders).map_err(|error| failed(error.to_string()))?;
        orders.push(b'\n');
        let Some(channel) = &mut child.channel else {
            return Err(failed("its output is not connected".to_owned()));
        };
        let mut line = String::new();
        let exchange = async {
            channel.write_all(&orders).await?;
            channel.flush().await?;
            channel.read_line(&mut line).await
        };
        match tokio::time::timeout(START_MAX, exchange).await {
            Ok(Ok(1..)) => {}
            Ok(Ok(0) | Err(_)) => return Err(failed(child.died().await)),
            Err(_) => return Err(failed(format!("it did not answer within {START_MAX:?}"))),
        }
        let expected = self.socket.local_addr().map_err(|error| failed(error.to_string()))?.port();
        match serde_json::from_str::<Listening>(&line) {
            Ok(listening) if listening.port == expected => {
                if let Some(version) = listening.untested_version {
                    tracing::warn!(version, "the ClickHouse library is newer than the tested one");
                }
                Ok(())
            }
            _ => Err(failed(format!("it answered {:?}", line.trim_end()))),
        }
    }

    fn ask_to_stop(child: &mut Running) {
        child.channel = None;
    }
}

/// Waits for the process of an earlier run to release the files; kills it after a timeout.
async fn end_orphan(lock: &Path) -> Result<(), Error> {
    let file = private_file(lock).map_err(Error::file("open", lock))?;
    let waited = tokio::time::timeout(ORPHAN_MAX, until_free(&file)).await;
    if waited.is_ok() {
        return Ok(());
    }
    // The holder of the lock wrote its pid there, so it is alive and an engine of this directory.
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
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    // Closing the file releases the lock for the child.
}

#[cfg(test)]
mod tests;

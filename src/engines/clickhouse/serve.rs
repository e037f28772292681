//! `millrace engine clickhouse`: the library in a process of its own.
//!
//! Its standard input is the listening socket, as from `inetd`: the parent keeps it open, so that no other
//! process takes the port while this process restarts. Its standard output is a stream to and from the
//! parent. The parent sends the request to serve; this process answers when it is ready, and ends when the
//! stream closes, which the death of the parent does in any case.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    os::{fd::AsFd as _, unix::net::UnixStream},
    sync::mpsc,
    time::Duration,
};

use analytics::sql_access;
use anyhow::Context as _;
use nix::{
    sys::stat::{Mode, umask},
    unistd::{dup2_stdin, dup2_stdout},
};
use tokio::sync::oneshot;

use super::{super::data_dir::private_file, LOCK_FILE, Listening, ServeRequest};

/// How long the engine may take to close its files.
const STOP_MAX: Duration = Duration::from_secs(12);
/// The error for a user who runs the command by hand.
const BY_HAND: &str = "this command is started by `millrace serve`, which sends its parameters";
const REQUEST_BYTES_MAX: u64 = 64 * 1024;

/// Serves until the parent closes the stream.
pub async fn serve() -> anyhow::Result<()> {
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    let (listener, mut parent) = take_sockets()?;
    let (request, stop) = watch_parent(parent.try_clone()?)?;
    let request = tokio::task::spawn_blocking(move || request.recv()).await?.context(BY_HAND)?;
    let lock_path = request.folder.join(LOCK_FILE);
    let mut lock = private_file(&lock_path).context("open the engine's lock file")?;
    lock.try_lock().context("another process has this ClickHouse's files open")?;
    lock.set_len(0)?;
    writeln!(lock, "{}", std::process::id())?;
    let options = clickhouse_embedded::Options {
        library: request.library,
        data_dir: request.folder.join("files"),
        listener,
        user: request.user,
        row_access: Some(row_access(&request.database, &request.password)),
        password: request.password,
        database: request.database,
        memory_bytes: request.memory_bytes,
        connections: request.connections,
    };
    let ready = |ready: clickhouse_embedded::Ready| {
        let answer = serde_json::to_string(&Listening {
            port: ready.address.port(),
            untested_version: ready.untested_version,
        });
        // If the parent does not read, it has closed the stream, which ends this process.
        let _ = writeln!(parent, "{}", answer.unwrap_or_default());
    };
    let stop = async {
        // A dropped sender also means that the parent has ended.
        let _ = stop.await;
    };
    clickhouse_embedded::serve(options, ready, stop).await
}

/// The role of callers who ask in SQL.
fn row_access(database: &str, password: &str) -> clickhouse_embedded::RowAccess {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    clickhouse_embedded::RowAccess {
        role: sql_access::READER_ROLE.to_owned(),
        definer: sql_access::DEFINER_USER.to_owned(),
        database: database.to_owned(),
        tables: owned(&sql_access::TABLES),
        condition: sql_access::MarkKey::of(password).rows_in_sql(),
        views: owned(&sql_access::ViewDatabases::of(database).all()),
        open_system_tables: owned(&sql_access::OPEN_SYSTEM_TABLES),
        system_tables: owned(&sql_access::VIEWED_SYSTEM_TABLES),
    }
}

/// Takes the listening socket and the stream to the parent from standard input and output, and replaces these
/// by harmless files: the library may read and print there.
fn take_sockets() -> anyhow::Result<(TcpListener, UnixStream)> {
    let listener = TcpListener::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let parent = UnixStream::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    listener.local_addr().context(BY_HAND)?;
    parent.peer_addr().context(BY_HAND)?;
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(std::io::stderr())?;
    Ok((listener, parent))
}

/// Reads the request in a thread, which then waits for the parent to close the stream.
fn watch_parent(
    parent: UnixStream,
) -> anyhow::Result<(mpsc::Receiver<ServeRequest>, oneshot::Receiver<()>)> {
    let (request, ordered) = mpsc::sync_channel(1);
    let (stop, stopped) = oneshot::channel();
    std::thread::Builder::new().name("parent-watch".to_owned()).spawn(move || {
        let mut input = BufReader::new(parent);
        let mut line = String::new();
        let read = input.by_ref().take(REQUEST_BYTES_MAX).read_line(&mut line);
        if let (Ok(_), Ok(order)) = (read, serde_json::from_str(&line)) {
            // Fails only when the process is ending already.
            let _ = request.send(order);
            // An error ends the wait as well.
            let _ = std::io::copy(&mut input, &mut std::io::sink());
        }
        drop(request);
        let _ = stop.send(());
        std::thread::park_timeout(STOP_MAX);
        // The engine hangs. Its files survive an abort; waiting would block the next start.
        std::process::abort();
    })?;
    Ok((ordered, stopped))
}

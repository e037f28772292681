//! `millrace engine clickhouse`: the library in a process of its own.
//!
//! Its standard input is the listening socket, as from `inetd`: the parent keeps it, so that nobody else
//! takes the port while this process is started again. Its standard output is a stream to and from the
//! parent. Told there what to serve, it says when it answers, and ends when the stream does: a parent
//! that dies, by whatever, closes it.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    os::{fd::AsFd as _, unix::net::UnixStream},
    sync::mpsc,
    time::Duration,
};

use anyhow::Context as _;
use nix::{
    sys::stat::{Mode, umask},
    unistd::{dup2_stdin, dup2_stdout},
};
use tokio::sync::oneshot;

use super::{super::data_dir::private_file, LOCK_FILE, Listening, Orders};

/// How long the engine may take to close its files once it is told to stop.
const STOP_MAX: Duration = Duration::from_secs(12);
/// What a person is told who runs the command.
const BY_HAND: &str = "this command is started by `millrace serve`, which tells it what to do";
/// Bytes of the orders at most.
const ORDERS_BYTES_MAX: u64 = 64 * 1024;

/// Serves until the parent wants or can no more.
pub async fn serve() -> anyhow::Result<()> {
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    let (listener, mut parent) = take_sockets()?;
    let (orders, stop) = watch_parent(parent.try_clone()?)?;
    let orders = tokio::task::spawn_blocking(move || orders.recv()).await?.context(BY_HAND)?;
    let lock_path = orders.folder.join(LOCK_FILE);
    let mut lock = private_file(&lock_path).context("open the engine's lock file")?;
    lock.try_lock().context("another process has this ClickHouse's files open")?;
    lock.set_len(0)?;
    writeln!(lock, "{}", std::process::id())?;
    let options = clickhouse_embedded::Options {
        library: orders.library,
        data_dir: orders.folder.join("files"),
        listener,
        user: orders.user,
        password: orders.password,
        database: orders.database,
        memory_bytes: orders.memory_bytes,
        connections: orders.connections,
    };
    let ready = |ready: clickhouse_embedded::Ready| {
        let answer = serde_json::to_string(&Listening {
            port: ready.address.port(),
            untested_version: ready.untested_version,
        });
        // A parent that no longer listens has closed the stream, which ends this process.
        let _ = writeln!(parent, "{}", answer.unwrap_or_default());
    };
    let stop = async {
        // A sender that is gone means the same as its word.
        let _ = stop.await;
    };
    clickhouse_embedded::serve(options, ready, stop).await
}

/// Takes the listening socket and the stream to the parent from standard input and output, and puts
/// harmless files there: what the library reads or prints must not touch them.
fn take_sockets() -> anyhow::Result<(TcpListener, UnixStream)> {
    let listener = TcpListener::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let parent = UnixStream::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    listener.local_addr().context(BY_HAND)?;
    parent.peer_addr().context(BY_HAND)?;
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(std::io::stderr())?;
    Ok((listener, parent))
}

/// Reads the orders in a thread, which then waits for the parent to close the stream.
fn watch_parent(
    parent: UnixStream,
) -> anyhow::Result<(mpsc::Receiver<Orders>, oneshot::Receiver<()>)> {
    let (orders, ordered) = mpsc::sync_channel(1);
    let (stop, stopped) = oneshot::channel();
    std::thread::Builder::new().name("parent-watch".to_owned()).spawn(move || {
        let mut input = BufReader::new(parent);
        let mut line = String::new();
        let read = input.by_ref().take(ORDERS_BYTES_MAX).read_line(&mut line);
        if let (Ok(_), Ok(order)) = (read, serde_json::from_str(&line)) {
            // Refused only when the process ends already.
            let _ = orders.send(order);
            // An error is an end as well.
            let _ = std::io::copy(&mut input, &mut std::io::sink());
        }
        drop(orders);
        let _ = stop.send(());
        std::thread::park_timeout(STOP_MAX);
        // The engine hangs. Its files are made to survive this; waiting would block the next start.
        std::process::abort();
    })?;
    Ok((ordered, stopped))
}

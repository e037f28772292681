//! `millrace engine clickhouse`: the library in a process of its own.
//!
//! Told on standard input what to serve, it says on standard output where, and ends when its standard
//! input does: a parent that dies, by whatever, closes it.

use std::{
    io::{BufRead as _, Read as _, Write as _},
    sync::mpsc,
    time::Duration,
};

use anyhow::Context as _;
use tokio::sync::oneshot;

use super::{super::data_dir::private_file, LOCK_FILE, Listening, Orders};

/// How long the engine may take to close its files once it is told to stop.
const STOP_MAX: Duration = Duration::from_secs(12);
/// Bytes of the orders at most.
const ORDERS_BYTES_MAX: u64 = 64 * 1024;

/// Serves until the parent wants or can no more.
pub async fn serve() -> anyhow::Result<()> {
    let (orders, stop) = watch_parent()?;
    let orders = tokio::task::spawn_blocking(move || orders.recv())
        .await?
        .context("no orders on standard input: this command is started by `millrace serve`")?;
    let lock_path = orders.folder.join(LOCK_FILE);
    let mut lock = private_file(&lock_path).context("open the engine's lock file")?;
    lock.try_lock().context("another process has this ClickHouse's files open")?;
    lock.set_len(0)?;
    writeln!(lock, "{}", std::process::id())?;
    let options = clickhouse_embedded::Options {
        library: orders.library,
        data_dir: orders.folder.join("files"),
        listen: orders.listen,
        user: orders.user,
        password: orders.password,
        database: orders.database,
        memory_bytes: orders.memory_bytes,
        connections: orders.connections,
    };
    let ready = |address: std::net::SocketAddr| {
        let answer = serde_json::to_string(&Listening { port: address.port() });
        // A parent that no longer listens has closed our input too.
        let _ = writeln!(std::io::stdout(), "{}", answer.unwrap_or_default());
    };
    let stop = async {
        // A sender that is gone means the same as its word.
        let _ = stop.await;
    };
    clickhouse_embedded::serve(options, ready, stop).await
}

/// Reads the orders in a thread, which then waits for the parent to close our input.
fn watch_parent() -> anyhow::Result<(mpsc::Receiver<Orders>, oneshot::Receiver<()>)> {
    let (orders, ordered) = mpsc::sync_channel(1);
    let (stop, stopped) = oneshot::channel();
    std::thread::Builder::new().name("parent-watch".to_owned()).spawn(move || {
        let mut input = std::io::stdin().lock();
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

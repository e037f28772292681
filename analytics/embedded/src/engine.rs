//! The engine behind a bounded queue: a few threads, each with a fresh session for every statement.
//!
//! Every call into the library blocks, so it happens on these threads only. A session is opened per statement (0.3 ms,
//! measured) and thrown away behind it: settings, `USE`, temporary tables and a `readonly` that could not be taken back
//! never reach the next request. One more session stays open as long as the process, because the library shuts its
//! engine down with the last one; through it statements are killed whose client has gone.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use anyhow::Context as _;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};

use crate::{
    confirmed_reads::ConfirmedReads,
    fault::{Fault, code},
    ffi::{Connection, Library},
    statement::quoted_text,
};

/// Statements waiting for a thread, for each thread.
const WAITING_PER_CONNECTION: usize = 64;
/// Statements waiting to be killed.
const KILLS_WAITING_MAX: usize = 1024;
/// A kill is repeated this often until the statement has ended: it may not have begun when it is killed first.
const KILL_REPEAT: Duration = Duration::from_millis(100);

type Job = Box<dyn FnOnce(Result<Connection, Fault>) + Send>;

/// One statement's life, shared by the request that waits for it and the thread that runs it.
#[derive(Debug, Default)]
pub(crate) struct Ticket {
    /// The id the client gave or was given.
    id: String,
    /// What the engine sees as the statement's `log_comment`.
    mark: String,
    /// Its client has gone.
    abandoned: AtomicBool,
    /// It may be killed without harm: it changes nothing.
    reading: AtomicBool,
    ended: AtomicBool,
}

impl Ticket {
    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }

    /// Says that the statement only reads.
    pub(crate) fn mark_reading(&self) {
        self.reading.store(true, Ordering::Release);
    }
}

/// Held by the request: when it goes before the statement has ended, the statement is killed if it only reads.
/// One that writes goes on, as in ClickHouse.
pub(crate) struct Waiting {
    ticket: Arc<Ticket>,
    engine: Arc<Engine>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.ticket.abandoned.store(true, Ordering::Release);
        if !self.ticket.ended.load(Ordering::Acquire)
            && self.engine.kills.try_send(Arc::clone(&self.ticket)).is_err()
        {
            tracing::warn!(query_id = %self.ticket.id, "too many statements to kill at once, one runs on");
        }
    }
}

/// The engine's threads and the way to them.
pub(crate) struct Engine {
    jobs: Sender<Job>,
    kills: Sender<Arc<Ticket>>,
    running: Mutex<HashSet<String>>,
    pub(crate) confirmed_reads: ConfirmedReads,
    /// What `SELECT version()` says.
    pub(crate) version: String,
}

/// The threads themselves, to be joined at the end.
pub(crate) struct Threads {
    library: Arc<Library>,
    workers: Vec<JoinHandle<()>>,
    keeper: JoinHandle<()>,
}

impl Engine {
    /// Starts the engine on its files and opens `connections` threads on it. Blocks for some hundred milliseconds.
    pub(crate) fn start(
        library: Arc<Library>,
        arguments: &Arc<[String]>,
        database: &str,
        connections: usize,
    ) -> anyhow::Result<(Arc<Self>, Threads)> {
        let mut first = Connection::open(&library, arguments)?;
        let create =
            format!("CREATE DATABASE IF NOT EXISTS {}", crate::statement::quoted_name(database));
        first.query(create.as_bytes(), "TabSeparated", &[]).context("create the database")?;
        let mut ask = |sql: &str| -> anyhow::Result<String> {
            let (answer, _) = first.query(sql.as_bytes(), "TabSeparated", &[])?;
            Ok(String::from_utf8_lossy(&answer).trim_end().to_owned())
        };
        let version = ask("SELECT version()")?;
        let zone = ask("SELECT serverTimezone()")?;
        if !matches!(zone.as_str(), "UTC" | "Etc/UTC" | "Zulu" | "Etc/Zulu") {
            tracing::warn!(
                zone,
                "the engine's own time zone is not UTC, statements run in UTC all the same"
            );
        }
        let connections = connections.max(1);
        let (jobs, jobs_in) = bounded(connections * WAITING_PER_CONNECTION);
        let (kills, kills_in) = bounded(KILLS_WAITING_MAX);
        let keeper = spawn("clickhouse-keeper", move || keep(first, &kills_in))?;
        let workers = (0..connections)
            .map(|at| {
                let (library, jobs) = (Arc::clone(&library), jobs_in.clone());
                let (arguments, database) = (Arc::clone(arguments), database.to_owned());
                spawn(&format!("clickhouse-{at}"), move || {
                    work(&jobs, || open_session(&library, &arguments, &database));
                })
            })
            .collect::<anyhow::Result<_>>()?;
        let engine = Self {
            jobs,
            kills,
            running: Mutex::default(),
            confirmed_reads: ConfirmedReads::new(),
            version,
        };
        Ok((Arc::new(engine), Threads { library, workers, keeper }))
    }

    /// Registers a statement under its id, which no running statement may have.
    pub(crate) fn admit(
        self: &Arc<Self>,
        id: String,
        mark: String,
    ) -> Result<(Arc<Ticket>, Waiting), Fault> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.insert(id.clone()) {
            return Err(Fault::new(
                code::QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING,
                "QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING",
                format_args!("Query with id = {id} is already running"),
            ));
        }
        let ticket = Arc::new(Ticket { id, mark, ..Ticket::default() });
        Ok((Arc::clone(&ticket), Waiting { ticket, engine: Arc::clone(self) }))
    }

    /// Puts a statement in the queue. It gets a session of its own, or the reason why there is none.
    pub(crate) fn run(
        self: &Arc<Self>,
        ticket: &Arc<Ticket>,
        job: impl FnOnce(Result<Connection, Fault>) + Send + 'static,
    ) -> Result<(), Fault> {
        let ended = Ended { ticket: Arc::clone(ticket), engine: Arc::clone(self) };
        let job: Job = Box::new(move |connection| {
            let ended = ended;
            job(if ended.ticket.is_abandoned() { Err(abandoned()) } else { connection });
        });
        self.jobs.try_send(job).map_err(|refused| {
            let reason = match refused {
                TrySendError::Full(_) => "Too many simultaneous queries: the queue is full",
                TrySendError::Disconnected(_) => "The engine is shutting down",
            };
            Fault::new(code::TOO_MANY_SIMULTANEOUS_QUERIES, "TOO_MANY_SIMULTANEOUS_QUERIES", reason)
        })
    }
}

/// Marks a statement's end, whichever way it ends, a panic included.
struct Ended {
    ticket: Arc<Ticket>,
    engine: Arc<Engine>,
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.ticket.ended.store(true, Ordering::Release);
        self.engine.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.ticket.id);
    }
}

impl Threads {
    /// Waits for the last statements, closes every connection and stops the engine. Blocks; the [`Engine`] must be gone.
    pub(crate) fn join(self) -> anyhow::Result<()> {
        for worker in self.workers {
            worker.join().map_err(|_| anyhow::anyhow!("an engine thread panicked"))?;
        }
        self.keeper.join().map_err(|_| anyhow::anyhow!("the engine's keeper panicked"))?;
        // The last connection has closed the files; a thread of the library that is left ends with the process.
        if !self.library.shut_down() {
            tracing::debug!("the library keeps a thread");
        }
        Ok(())
    }
}

pub(crate) fn abandoned() -> Fault {
    Fault::new(
        code::QUERY_WAS_CANCELLED,
        "QUERY_WAS_CANCELLED",
        "Query was cancelled: its client has gone",
    )
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> anyhow::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body).context("start an engine thread")
}

fn open_session(
    library: &Arc<Library>,
    arguments: &[String],
    database: &str,
) -> Result<Connection, Fault> {
    let mut connection = Connection::open(library, arguments)?;
    if let Err(fault) = connection.use_database(database) {
        // Someone dropped it. A statement that needs it will fail.
        tracing::debug!(error = %fault, "the usual database is not there");
    }
    Ok(connection)
}

fn work(jobs: &Receiver<Job>, open: impl Fn() -> Result<Connection, Fault>) {
    // Sessions are opened ahead, so that a statement does not wait for one. A failure is tried again then.
    let mut next = open().ok();
    while let Ok(job) = jobs.recv() {
        let connection = next.take().map_or_else(&open, Ok);
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(connection))).is_err() {
            tracing::error!("a statement's thread panicked");
        }
        next = open().ok();
    }
}

/// Keeps the engine up and kills statements whose client has gone.
fn keep(mut connection: Connection, kills: &Receiver<Arc<Ticket>>) {
    let mut doomed: Vec<Arc<Ticket>> = Vec::new();
    loop {
        match if doomed.is_empty() {
            kills.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            kills.recv_timeout(KILL_REPEAT)
        } {
            Ok(ticket) => doomed.push(ticket),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        doomed.retain(|ticket| !ticket.ended.load(Ordering::Acquire));
        for ticket in doomed.iter().filter(|ticket| ticket.reading.load(Ordering::Acquire)) {
            let kill = format!(
                "KILL QUERY WHERE Settings['log_comment'] = {} ASYNC",
                quoted_text(&ticket.mark)
            );
            if let Err(fault) = connection.query(kill.as_bytes(), "Null", &[]) {
                tracing::warn!(query_id = %ticket.id, error = %fault, "an abandoned statement could not be killed");
            }
        }
    }
}

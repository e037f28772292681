//! Supervision of a child process: started, watched, restarted when it dies, stopped with this process.

use std::{
    collections::VecDeque,
    fmt,
    io::ErrorKind,
    os::fd::OwnedFd,
    process::Stdio,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use parking_lot::Mutex;
use supervisor::Backoff;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader, BufStream},
    net::UnixStream,
    process::{Child, ChildStdin, Command},
    runtime::Handle,
    sync::{oneshot, watch},
    task::JoinHandle,
};

use super::Error;

/// Pause before the first restart after a death.
const BACKOFF_MIN: Duration = Duration::from_millis(200);
/// Longest pause between restarts that fail.
const BACKOFF_MAX: Duration = Duration::from_secs(15);
/// After this uptime the pause starts from the minimum again.
const STEADY: Duration = Duration::from_mins(1);
/// Lines of a child's output kept for the error message.
const TAIL_LINES: usize = 20;
/// Bytes of one such line that are kept.
const TAIL_LINE_BYTES_MAX: usize = 1024;
/// Words that mark an error line in a child's log.
const ERROR_WORDS: [&str; 6] = ["PANIC", "ERROR", "WARN", "<Fatal>", "<Error>", "millrace: "];
/// PostgreSQL also logs the end of a session with this word, so it marks an error only in the last lines of a
/// server.
const SESSION_ENDED: &str = "FATAL";
const SPAWNS_WAITING: usize = 8;

/// An engine that can be supervised.
pub(super) trait Engine: Send + 'static {
    /// Its name in logs and messages.
    const NAME: &'static str;
    /// Timeout of an orderly stop.
    const STOP_MAX: Duration;
    /// Ends the process of an earlier run, and returns the command.
    fn prepare(&mut self) -> impl Future<Output = Result<Launch, Error>> + Send;
    /// Waits until the child answers.
    fn ready(&mut self, child: &mut Running) -> impl Future<Output = Result<(), Error>> + Send;
    fn ask_to_stop(child: &mut Running);
}

/// The command, and how the child learns of its parent's end.
pub(super) struct Launch {
    command: Command,
    channel: Option<std::os::unix::net::UnixStream>,
}

impl Launch {
    /// A child whose standard input closes with its parent.
    pub(super) fn piped(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        Self { command, channel: None }
    }

    /// A child that gets a socket as its standard input, as from `inetd`. Its standard output is a stream to
    /// and from its parent.
    pub(super) fn with_socket(mut command: Command, socket: OwnedFd) -> std::io::Result<Self> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        command.stdin(socket).stdout(OwnedFd::from(theirs));
        Ok(Self { command, channel: Some(ours) })
    }
}

pub(super) struct Running {
    child: Child,
    /// Held open: its closing signals the end of the parent.
    _stdin: Option<ChildStdin>,
    /// To and from the child. Closing it signals the end of the parent.
    pub(super) channel: Option<BufStream<UnixStream>>,
    log: Arc<Log>,
}

/// The output of a child.
#[derive(Default)]
struct Log {
    tail: Mutex<VecDeque<String>>,
    /// Whether the child has answered: errors before that are reported by the failed start.
    ready: AtomicBool,
}

impl Running {
    /// Sends a signal, unless the child has been reaped.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) {
            // It may have ended meanwhile, which is the purpose of the signal.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// Waits for the end, and describes it with the child's last output.
    pub(super) async fn died(&mut self) -> String {
        let status = match self.child.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        // Its last output may still be in the pipe.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let tail = self.log.tail.lock();
        let last =
            tail.iter().rev().find(|line| is_error_line(line) || line.contains(SESSION_ENDED));
        match last.or(tail.back()) {
            Some(line) => {
                let line = line.strip_prefix("millrace: ").unwrap_or(line);
                format!("{line} ({status})")
            }
            None => status,
        }
    }

    /// Asks the child to stop, and kills it after a timeout.
    async fn stop<E: Engine>(mut self) {
        E::ask_to_stop(&mut self);
        if tokio::time::timeout(E::STOP_MAX, self.child.wait()).await.is_err() {
            tracing::warn!(engine = E::NAME, "{} did not stop in time and is killed", E::NAME);
            // A child that has ended cannot be killed.
            let _ = self.child.kill().await;
        }
    }
}

/// A child process supervised by a task.
pub(super) struct Supervised {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl fmt::Debug for Supervised {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Supervised").finish_non_exhaustive()
    }
}

impl Supervised {
    /// Starts the child, waits until it answers, and supervises it from then on.
    pub(super) async fn start<E: Engine>(mut engine: E) -> Result<Self, Error> {
        let running = start(&mut engine).await?;
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(keep_alive(engine, running, stopped));
        Ok(Self { stop, task })
    }

    /// Stops the child and waits for its end.
    pub(super) async fn stop(self) {
        // If the task is gone with its runtime, so is the child.
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

async fn keep_alive<E: Engine>(
    mut engine: E,
    mut running: Running,
    mut stop: watch::Receiver<bool>,
) {
    let mut backoff = Backoff::new(BACKOFF_MIN, BACKOFF_MAX);
    loop {
        let started = Instant::now();
        tokio::select! {
            why = running.died() => tracing::error!(engine = E::NAME, "{} died: {why}", E::NAME),
            _ = stop.changed() => return running.stop::<E>().await,
        }
        if started.elapsed() >= STEADY {
            backoff.reset();
        }
        running = loop {
            tokio::select! {
                () = tokio::time::sleep(backoff.pause()) => {}
                _ = stop.changed() => return,
            }
            // Resolved here: engines start before anything records.
            metrics_catalogue::ENGINE_RESTARTS.with([E::NAME]).increment(1);
            tokio::select! {
                started = start(&mut engine) => match started {
                    Ok(running) => break running,
                    Err(error) => tracing::error!(engine = E::NAME, "{error}"),
                },
                _ = stop.changed() => return,
            }
        };
        tracing::info!(engine = E::NAME, "{} runs again", E::NAME);
    }
}

async fn start<E: Engine>(engine: &mut E) -> Result<Running, Error> {
    let launch = engine.prepare().await?;
    let mut running = spawn(launch)
        .await
        .map_err(|error| Error::Start { engine: E::NAME, reason: error.to_string() })?;
    if let Some(stderr) = running.child.stderr.take() {
        tokio::spawn(relay(E::NAME, stderr, Arc::clone(&running.log)));
    }
    match engine.ready(&mut running).await {
        Ok(()) => {
            running.log.ready.store(true, Ordering::Relaxed);
            running.log.tail.lock().clear();
            Ok(running)
        }
        Err(error) => {
            running.stop::<E>().await;
            Err(error)
        }
    }
}

/// Spawns in a thread that lives as long as the process: on Linux a child is signalled when the *thread* that
/// spawned it ends.
async fn spawn(launch: Launch) -> std::io::Result<Running> {
    let Launch { mut command, channel } = launch;
    let channel = channel.map(UnixStream::from_std).transpose()?.map(BufStream::new);
    // An own process group: Ctrl-C on the terminal is for this process, which stops the engines last.
    command.process_group(0).kill_on_drop(true);
    command.stderr(Stdio::piped());
    let (answer, answered) = oneshot::channel();
    let request = Spawn { command, handle: Handle::current(), answer };
    let gone = || std::io::Error::other("the spawning thread is gone");
    spawner().send(request).map_err(|_| gone())?;
    let mut child = answered.await.map_err(|_| gone())??;
    Ok(Running { _stdin: child.stdin.take(), channel, child, log: Arc::default() })
}

struct Spawn {
    command: Command,
    handle: Handle,
    answer: oneshot::Sender<std::io::Result<Child>>,
}

fn spawner() -> &'static mpsc::SyncSender<Spawn> {
    static SPAWNER: OnceLock<mpsc::SyncSender<Spawn>> = OnceLock::new();
    SPAWNER.get_or_init(|| {
        let (requests, received) = mpsc::sync_channel::<Spawn>(SPAWNS_WAITING);
        std::thread::Builder::new()
            .name("engine-parent".to_owned())
            .spawn(move || {
                for mut request in received {
                    let _runtime = request.handle.enter();
                    // If the caller is gone, the child is dropped, which kills it.
                    let _ = request.answer.send(request.command.spawn());
                }
            })
            .expect("a thread can be started");
        requests
    })
}

/// Forwards a child's log, and keeps its last lines.
async fn relay(engine: &'static str, output: impl AsyncRead + Unpin, log: Arc<Log>) {
    let mut lines = BufReader::new(output).lines();
    loop {
        let mut line = match lines.next_line().await {
            Ok(Some(line)) => line,
            Err(error) if error.kind() == ErrorKind::InvalidData => continue, // a line that is not UTF-8
            Ok(None) | Err(_) => return,
        };
        if line.len() > TAIL_LINE_BYTES_MAX {
            let end = line.floor_char_boundary(TAIL_LINE_BYTES_MAX);
            line.truncate(end);
        }
        if log.ready.load(Ordering::Relaxed) && is_error_line(&line) {
            tracing::warn!(engine, "{line}");
        } else {
            tracing::debug!(engine, "{line}");
        }
        let mut tail = log.tail.lock();
        if tail.len() == TAIL_LINES {
            tail.pop_front();
        }
        tail.push_back(line);
    }
}

fn is_error_line(line: &str) -> bool {
    ERROR_WORDS.iter().any(|word| line.contains(word))
}

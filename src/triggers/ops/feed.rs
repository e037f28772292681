//! Reads the spool and has what comes in judged, on a thread of its own.

use std::{
    io,
    time::{Duration, Instant},
};

use bytes::Bytes;
use ingest::{
    record::{Batch, BatchKind},
    spool::{ConsumeError, Consumer, Mark, Spool, SpoolError},
};
use tokio::{runtime::Handle, sync::watch};

use super::{
    catalogue::{Catalogue, SetOff},
    entering, telling,
};
use crate::app::App;

/// The name among the spool's consumers.
const CONSUMER: &str = "triggers";
/// How long a wait for events may last before the flag is looked at again.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// How long a round waits for more events after its first: as often PostgreSQL is asked who waits.
const LINGER: Duration = Duration::from_millis(50);
/// Bytes of events after which a round ends.
const ROUND_BYTES_MAX: usize = 4 << 20;
/// How often the cursor is written. What was judged since is judged again after a crash, and has its
/// entries then.
const COMMIT_EVERY: Duration = Duration::from_secs(1);
/// How often entries are looked for that nobody could be told of.
const RETELL_EVERY: Duration = Duration::from_secs(5);
/// Pause after a failure, of PostgreSQL or of the spool.
const PAUSE: Duration = Duration::from_secs(1);

/// The running consumer.
#[derive(Debug)]
pub struct Triggers {
    stopping: watch::Sender<bool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Why it did not start.
#[derive(Debug, thiserror::Error)]
pub enum TriggersError {
    /// The spool's consumer could not be opened.
    #[error("could not open the spool's consumer of triggers")]
    Spool(#[from] SpoolError),
    /// There is no thread.
    #[error("could not start the thread of triggers")]
    Io(#[from] io::Error),
}

impl Triggers {
    /// Starts judging what comes in. Call it inside a tokio runtime.
    ///
    /// # Errors
    /// When the spool or the system refuse.
    pub fn start(app: App, spool: &Spool) -> Result<Self, TriggersError> {
        let consumer = spool.consumer(CONSUMER)?;
        let (stopping, stopped) = watch::channel(false);
        let judged = consumer.next();
        let feed = Feed {
            app,
            consumer,
            catalogue: Catalogue::default(),
            stopped,
            judged,
            committed: Instant::now(),
            retold: Instant::now(),
        };
        let runtime = Handle::current();
        let thread = std::thread::Builder::new()
            .name("triggers".to_owned())
            .spawn(move || feed.run(&runtime))?;
        Ok(Self { stopping, thread: Some(thread) })
    }

    /// Stops. What was not judged by then is judged after the next start.
    pub async fn stop(mut self) {
        self.stopping.send_replace(true);
        let Some(thread) = self.thread.take() else { return };
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the thread of triggers failed");
        }
    }
}

impl Drop for Triggers {
    fn drop(&mut self) {
        self.stopping.send_replace(true);
    }
}

struct Feed {
    app: App,
    consumer: Consumer,
    catalogue: Catalogue,
    stopped: watch::Receiver<bool>,
    /// Everything before it was judged.
    judged: Mark,
    committed: Instant,
    retold: Instant,
}

/// Events that are judged together.
struct Round {
    payloads: Vec<Bytes>,
    bytes: usize,
    end: Mark,
}

impl Feed {
    fn run(mut self, runtime: &Handle) {
        while !*self.stopped.borrow() {
            match self.gather() {
                Ok(Some(round)) => {
                    let end = round.end;
                    if !runtime.block_on(self.judge(round)) {
                        break;
                    }
                    self.judged = end;
                }
                Ok(None) => {}
                Err(ConsumeError::Closed) => break,
                Err(ConsumeError::Io(error)) => {
                    tracing::error!(%error, "triggers cannot read the spool, trying again");
                    std::thread::sleep(PAUSE);
                }
            }
            if self.committed.elapsed() >= COMMIT_EVERY {
                self.commit();
            }
            if self.retold.elapsed() >= RETELL_EVERY {
                self.retold = Instant::now();
                // A store that is away is asked again before long.
                drop(runtime.block_on(telling::untold(&self.app)));
            }
        }
        self.commit();
    }

    /// What came in since the last round, soon after the first of it; none where nothing did.
    fn gather(&mut self) -> Result<Option<Round>, ConsumeError> {
        let mut round: Option<Round> = None;
        let mut timeout = WAIT_MAX;
        let mut since = None;
        while let Some(frame) = self.consumer.receive(timeout)? {
            let end = frame.end();
            let round = round.get_or_insert_with(|| Round { payloads: Vec::new(), bytes: 0, end });
            round.end = end;
            // What happened to messages sets nothing off.
            let header = Batch::header_of(&frame.payload);
            if header.is_ok_and(|header| header.kind == BatchKind::Events) {
                round.bytes += frame.payload.len();
                round.payloads.push(frame.payload);
            }
            let since: &Instant = since.get_or_insert_with(Instant::now);
            timeout = LINGER.saturating_sub(since.elapsed());
            if round.bytes >= ROUND_BYTES_MAX || timeout.is_zero() {
                break;
            }
        }
        Ok(round)
    }

    /// Judges a round; false when it was told to stop before all was kept.
    async fn judge(&mut self, round: Round) -> bool {
        if round.payloads.is_empty() {
            return true;
        }
        let mut stopped = self.stopped.clone();
        tokio::select! {
            biased;
            // An error means that the server is gone, which is a stop as well.
            _ = stopped.wait_for(|stopped| *stopped) => false,
            () = judge(&self.app, &mut self.catalogue, round) => true,
        }
    }

    fn commit(&mut self) {
        self.committed = Instant::now();
        let cursor = self.consumer.cursor();
        if let Err(error) = cursor.commit(self.judged) {
            tracing::warn!(%error, "the cursor of triggers could not be written");
        }
        #[expect(clippy::cast_precision_loss, reason = "a gauge")]
        metrics::gauge!("trigger_backlog_events").set(cursor.behind().events as f64);
    }
}

async fn judge(app: &App, catalogue: &mut Catalogue, round: Round) {
    let mut said = false;
    while let Err(error) = catalogue.refresh(app).await {
        // As before the schema is there, or while the store is away.
        if !std::mem::replace(&mut said, true) {
            tracing::warn!(%error, "it cannot be asked which campaigns wait for events, trying on");
        }
        tokio::time::sleep(PAUSE).await;
    }
    let mut set_off = SetOff::new();
    for payload in &round.payloads {
        catalogue.look_into(payload, &mut set_off);
    }
    drop(round);
    for (waiting, events) in set_off.into_values() {
        entering::enter(app, &waiting, &events).await;
    }
}

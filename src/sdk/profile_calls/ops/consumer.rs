//! Reads profile calls from the spool, on a thread of its own.
//!
//! While PostgreSQL is unavailable calls wait in the spool: they were acknowledged and nothing else holds them. Frames
//! without calls pass, so that without calls this consumer keeps nothing.

use std::{
    collections::HashMap,
    io,
    time::{Duration, Instant},
};

use contacts::users::ops::calls;
use ingest::{
    record::{Batch, BatchKind, ProfileCall},
    spool::{ConsumeError, Consumer, Cursor, Mark, Progress, Reopener, Spool, SpoolError},
};
use kernel::WorkspaceId;
use supervisor::{Heartbeat, Suspects};
use tokio::{runtime::Handle, sync::watch};
use web::Services;

use super::apply::apply;

/// The name among the spool's consumers.
const CONSUMER: &str = "profile-calls";
/// The name among the workers.
const WORKER: &str = "profile-calls";
/// The longest time between heartbeats. Waiting for PostgreSQL counts as a heartbeat.
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// The longest wait for calls, after which the consumer checks whether it is stopping.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// How long a batch waits for more calls after its first.
const LINGER: Duration = Duration::from_millis(20);
/// Bytes of calls after which a batch ends.
const BATCH_BYTES_MAX: usize = 4 << 20;
/// How often the cursor is written. Later calls are read again after a crash, and find their keys.
const COMMIT_EVERY: Duration = Duration::from_secs(1);
/// How often keys are deleted that no repeat needs any more.
const FORGET_EVERY: Duration = Duration::from_mins(10);
/// Pause after the spool could not be read.
const PAUSE: Duration = Duration::from_secs(1);

/// The consumer that applies profile calls.
#[derive(Debug)]
pub struct ProfileCalls {
    stopping: watch::Sender<bool>,
    thread: Option<std::thread::JoinHandle<()>>,
    progress: Progress,
}

/// The reason why the consumer did not start.
#[derive(Debug, thiserror::Error)]
pub enum ProfileCallsError {
    /// The consumer of the spool could not be opened.
    #[error("could not open the spool's consumer of profile calls")]
    Spool(#[from] SpoolError),
    /// The thread could not be started.
    #[error("could not start the thread of profile calls")]
    Io(#[from] io::Error),
}

impl ProfileCalls {
    /// Starts applying calls. Call it inside a tokio runtime.
    ///
    /// # Errors
    /// When the spool or the system refuse.
    pub fn start(app: Services, spool: &Spool) -> Result<Self, ProfileCallsError> {
        let consumer = spool.consumer(CONSUMER)?;
        let progress = consumer.cursor().progress();
        let (stopping, stopped) = watch::channel(false);
        let heartbeat = app.readiness().workers().register(WORKER, SILENCE_MAX);
        let task = CallConsumer {
            app,
            processed: consumer.next(),
            cursor: consumer.cursor(),
            reopener: consumer.reopener(),
            consumer: Some(consumer),
            stopped,
            heartbeat,
            suspects: Suspects::default(),
            in_progress: InProgress::default(),
            committed: Instant::now(),
            forgotten: Instant::now(),
        };
        let runtime = Handle::current();
        let thread = std::thread::Builder::new()
            .name(WORKER.to_owned())
            .spawn(move || task.keep_running(&runtime))?;
        Ok(Self { stopping, thread: Some(thread), progress })
    }

    /// How far it is in the spool: calls before it were applied.
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// Stops. What was not applied by then is applied after the next start.
    pub async fn stop(mut self) {
        self.stopping.send_replace(true);
        let Some(thread) = self.thread.take() else { return };
        let joined = tokio::task::spawn_blocking(move || thread.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the thread of profile calls failed");
        }
    }
}

impl Drop for ProfileCalls {
    fn drop(&mut self) {
        self.stopping.send_replace(true);
    }
}

/// The frames of a batch that is being applied.
#[derive(Debug, Clone, Copy, Default)]
struct InProgress {
    first: u64,
    frames: u64,
}

struct CallConsumer {
    app: Services,
    cursor: Cursor,
    reopener: Reopener,
    /// None between a panic and the next run.
    consumer: Option<Consumer>,
    stopped: watch::Receiver<bool>,
    heartbeat: Heartbeat,
    /// Frames at which it panicked.
    suspects: Suspects,
    in_progress: InProgress,
    /// Everything before it was applied.
    processed: Mark,
    committed: Instant,
    forgotten: Instant,
}

/// Calls that are applied together.
#[derive(Debug)]
struct CallBatch {
    batches: Vec<Batch>,
    end: Mark,
}

impl CallConsumer {
    /// Runs until it is stopped, or the spool is closed and read; again after a panic.
    fn keep_running(mut self, runtime: &Handle) {
        let heartbeat = self.heartbeat.clone();
        while heartbeat.attempt(|| self.run(runtime)).is_err() {
            let InProgress { first, frames } = std::mem::take(&mut self.in_progress);
            self.suspects.panicked(first, frames);
            self.commit();
            self.consumer = None;
            std::thread::sleep(heartbeat.pause());
        }
        heartbeat.ended();
    }

    fn run(&mut self, runtime: &Handle) {
        while !*self.stopped.borrow() {
            self.heartbeat.beat();
            match self.next_batch() {
                Ok(Some(batch)) => {
                    if !runtime.block_on(self.apply(&batch)) {
                        break;
                    }
                    self.processed = batch.end;
                    self.cursor.reach(batch.end);
                    self.suspects.passed(batch.end.position.get());
                    self.in_progress = InProgress::default();
                }
                Ok(None) => {}
                Err(ConsumeError::Closed) => break,
                Err(ConsumeError::Io(error)) => {
                    tracing::error!(%error, "profile calls cannot be read from the spool, trying again");
                    std::thread::sleep(PAUSE);
                }
            }
            if self.committed.elapsed() >= COMMIT_EVERY {
                self.commit();
            }
            if self.forgotten.elapsed() >= FORGET_EVERY {
                self.forgotten = Instant::now();
                runtime.block_on(self.forget());
            }
        }
        self.commit();
    }

    /// The next batch; none without frames. A batch may have no calls.
    fn next_batch(&mut self) -> Result<Option<CallBatch>, ConsumeError> {
        let consumer = match &mut self.consumer {
            Some(consumer) => consumer,
            none => {
                let consumer = self.reopener.open().map_err(io::Error::other)?;
                self.processed = consumer.next();
                none.insert(consumer)
            }
        };
        let mut batch: Option<CallBatch> = None;
        let (mut timeout, mut bytes, mut since) = (WAIT_MAX, 0, None);
        loop {
            let frame = match consumer.receive(timeout) {
                Ok(Some(frame)) => frame,
                Err(error) if batch.is_none() => return Err(error),
                // The next call returns an error again, unless it was temporary.
                Ok(None) | Err(_) => return Ok(batch),
            };
            let (position, end) = (frame.position.get(), frame.end());
            if batch.is_none() {
                self.in_progress = InProgress { first: position, frames: 0 };
            }
            self.in_progress.frames += 1;
            let batch = batch.get_or_insert_with(|| CallBatch { batches: Vec::new(), end });
            batch.end = end;
            let header = Batch::header_of(&frame.payload);
            if header.is_ok_and(|header| header.kind == BatchKind::Profiles) {
                if self.suspects.is_left_out(position) {
                    tracing::error!(
                        position,
                        "a frame of profile calls is left out: applying it panicked each time"
                    );
                } else if let Ok(calls) = Batch::from_bytes(frame.payload) {
                    bytes += calls.as_bytes().len();
                    batch.batches.push(calls);
                }
            }
            let since: &Instant = since.get_or_insert_with(Instant::now);
            timeout = LINGER.saturating_sub(since.elapsed());
            let is_full = bytes >= BATCH_BYTES_MAX
                || self.in_progress.frames >= self.suspects.together(self.in_progress.first);
            if is_full || timeout.is_zero() {
                return Ok(Some(CallBatch { batches: std::mem::take(&mut batch.batches), end }));
            }
        }
    }

    /// Applies a batch; false when the consumer is stopping.
    async fn apply(&mut self, batch: &CallBatch) -> bool {
        let mut workspaces: HashMap<WorkspaceId, Vec<ProfileCall<'_>>> = HashMap::new();
        for batch in &batch.batches {
            let workspace = WorkspaceId::new(batch.header().workspace_id);
            workspaces.entry(workspace).or_default().extend(batch.profile_calls());
        }
        let app = &self.app;
        let applying = async {
            for (workspace, calls) in &workspaces {
                apply(app, *workspace, calls).await;
            }
        };
        let mut stopped = self.stopped.clone();
        tokio::select! {
            biased;
            () = self.heartbeat.waiting(applying) => true,
            // An error means that the server ended, which is a stop as well.
            _ = stopped.wait_for(|stopped| *stopped) => false,
        }
    }

    async fn forget(&self) {
        let forgotten =
            self.heartbeat.waiting(calls::forget(self.app.db(), self.app.clock().now()));
        if let Err(error) = forgotten.await {
            tracing::warn!(%error, "keys of old profile calls could not be deleted, trying again later");
        }
    }

    fn commit(&mut self) {
        self.committed = Instant::now();
        if let Err(error) = self.cursor.commit(self.processed) {
            tracing::warn!(%error, "the cursor of profile calls could not be written");
        }
        #[expect(clippy::cast_precision_loss, reason = "a gauge")]
        metrics_catalogue::PROFILE_CALLS_BEHIND_BYTES.set(self.cursor.behind().bytes as f64);
    }
}

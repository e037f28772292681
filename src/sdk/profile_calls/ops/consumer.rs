//! Reads profile calls from the spool, on a thread of its own.
//!
//! While PostgreSQL is unavailable calls wait in the spool: they were acknowledged and nothing else holds them. Frames
//! without calls pass, so that without calls this consumer keeps nothing.
//!
//! Where a workspace has very many calls, the first reader goes on without them, and a reader of their backlog applies them
//! (see `model/deferral.rs`): a batch of the first reader and a slice of each backlog take turns. The cursor on disk is where the last of the readers is. After a restart one reader begins there, and finds the
//! keys of what was applied behind it.

use std::{
    io,
    time::{Duration, Instant},
};

use contacts::users::ops::calls;
use ingest::{
    profile_progress::{Progress, ProgressSender},
    record::{Batch, BatchKind},
    spool::{ConsumeError, Consumer, Cursor, Frame, Mark, Reopener, Spool, SpoolError},
};
use kernel::WorkspaceId;
use supervisor::{Heartbeat, Suspects};
use tokio::{runtime::Handle, sync::watch};
use web::Services;

use super::{
    apply::apply,
    backlog::{BacklogReader, InProgress},
};
use crate::profile_calls::model::deferral::{Deferral, FirstBatch, WORK_MAX, WorkspaceCalls};

/// The name among the spool's consumers.
const CONSUMER: &str = "profile-calls";
/// The name among the workers.
const WORKER: &str = "profile-calls";
/// The longest time between heartbeats. Waiting for PostgreSQL counts as a heartbeat.
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// The longest wait for calls, after which the consumer checks whether it is stopping.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// How long a batch waits for more calls after its first, and how long it is read at most.
const LINGER: Duration = Duration::from_millis(20);
/// Bytes of calls after which a batch ends.
const BATCH_BYTES_MAX: usize = 4 << 20;
/// How often the cursor is written. Later calls are read again after a crash, and find their keys.
const COMMIT_EVERY: Duration = Duration::from_secs(1);
/// How often keys are deleted that no repeat needs any more.
const FORGET_EVERY: Duration = Duration::from_mins(10);
/// How long the first reader may go on before a slice of a backlog is applied, where it finds nothing to apply.
const AHEAD_MAX: Duration = Duration::from_secs(1);
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
        let applied = ProgressSender::begin(consumer.next().position);
        let progress = applied.progress();
        let (stopping, stopped) = watch::channel(false);
        let heartbeat = app.readiness().workers().register(WORKER, SILENCE_MAX);
        let task = CallConsumer {
            app,
            next: consumer.next(),
            cursor: consumer.cursor(),
            reopener: consumer.reopener(),
            consumer: Some(consumer),
            stopped,
            heartbeat,
            suspects: Suspects::default(),
            in_progress: InProgress::default(),
            deferral: Deferral::default(),
            working: Working::First,
            applied,
            committed: Instant::now(),
            forgotten: Instant::now(),
        };
        let runtime = Handle::current();
        let thread = std::thread::Builder::new()
            .name(WORKER.to_owned())
            .spawn(move || task.keep_running(&runtime))?;
        Ok(Self { stopping, thread: Some(thread), progress })
    }

    /// How far the calls of each workspace are applied.
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

/// Which reader's calls are being applied.
#[derive(Debug, Clone, Copy)]
enum Working {
    First,
    /// The reader of the backlog in this place.
    Backlog(usize),
}

/// What became of a batch of the first reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// There was no frame.
    Idle,
    /// Its frames had no calls to be applied by this reader, and more frames may wait.
    Passed,
    /// Its calls are applied, if it had some.
    Applied,
    /// The consumer is stopping.
    Stopped,
}

struct CallConsumer {
    app: Services,
    cursor: Cursor,
    reopener: Reopener,
    /// The first reader. None between a panic and the next run.
    consumer: Option<Consumer>,
    stopped: watch::Receiver<bool>,
    heartbeat: Heartbeat,
    /// Frames at which the first reader's calls panicked.
    suspects: Suspects,
    in_progress: InProgress,
    working: Working,
    /// Where the first reader is: everything before it was applied, or belongs to a backlog.
    next: Mark,
    deferral: Deferral<BacklogReader>,
    applied: ProgressSender,
    committed: Instant,
    forgotten: Instant,
}

/// Calls of the first reader that are applied together.
#[derive(Debug)]
struct CallBatch {
    calls: FirstBatch,
    end: Mark,
    /// Frames after it may be there already.
    is_cut: bool,
}

impl CallConsumer {
    /// Runs until it is stopped, or the spool is closed and read; again after a panic.
    fn keep_running(mut self, runtime: &Handle) {
        let heartbeat = self.heartbeat.clone();
        while heartbeat.attempt(|| self.run(runtime)).is_err() {
            self.panicked();
            self.commit();
            std::thread::sleep(heartbeat.pause());
        }
        heartbeat.ended();
    }

    /// Suspects the frames that were being applied. Their reader begins again where it was before them; the others go on.
    fn panicked(&mut self) {
        match self.working {
            Working::First => {
                let InProgress { first, frames } = std::mem::take(&mut self.in_progress);
                self.suspects.panicked(first, frames);
                self.consumer = None;
            }
            Working::Backlog(place) => {
                if let Some(backlog) = self.deferral.backlogs().get_mut(place) {
                    backlog.reader.panicked(&self.cursor);
                }
            }
        }
    }

    fn run(&mut self, runtime: &Handle) {
        while !*self.stopped.borrow() {
            self.heartbeat.beat();
            if !self.go_ahead(runtime) || !self.apply_backlogs(runtime) {
                break;
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

    /// Applies a batch of the first reader, after those without calls for it; false when the consumer ends.
    fn go_ahead(&mut self, runtime: &Handle) -> bool {
        let since = Instant::now();
        loop {
            self.working = Working::First;
            match self.first_turn(runtime) {
                Ok(Turn::Passed) if self.has_backlog() && since.elapsed() < AHEAD_MAX => {}
                Ok(Turn::Idle | Turn::Passed | Turn::Applied) => return true,
                Ok(Turn::Stopped) => return false,
                Err(ConsumeError::Closed) => return self.has_backlog(),
                Err(ConsumeError::Io(error)) => {
                    cannot_read(&error);
                    return true;
                }
            }
        }
    }

    fn first_turn(&mut self, runtime: &Handle) -> Result<Turn, ConsumeError> {
        let Some(batch) = self.next_batch()? else { return Ok(Turn::Idle) };
        let calls = batch.calls.calls();
        if !runtime.block_on(self.apply(&calls)) {
            return Ok(Turn::Stopped);
        }
        self.next = batch.end;
        self.suspects.passed(batch.end.position.get());
        self.in_progress = InProgress::default();
        self.publish();
        Ok(if calls.is_empty() && batch.is_cut { Turn::Passed } else { Turn::Applied })
    }

    /// The next batch of the first reader; none without frames. A batch may have no calls.
    fn next_batch(&mut self) -> Result<Option<CallBatch>, ConsumeError> {
        // Calls of a backlog do not wait for others.
        let has_backlog = self.has_backlog();
        let wait = |max: Duration| if has_backlog { Duration::ZERO } else { max };
        let mut batch: Option<CallBatch> = None;
        let (mut timeout, mut since) = (wait(WAIT_MAX), None);
        loop {
            let frame = match self.consumer()?.receive(timeout) {
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
            let calls = FirstBatch::at(self.next.position.get());
            let batch = batch.get_or_insert(CallBatch { calls, end, is_cut: false });
            batch.end = end;
            self.take(frame, &mut batch.calls);
            let since: &Instant = since.get_or_insert_with(Instant::now);
            let left = LINGER.saturating_sub(since.elapsed());
            timeout = wait(left);
            let is_full = batch.calls.bytes() >= BATCH_BYTES_MAX
                || self.in_progress.frames >= self.suspects.together(self.in_progress.first);
            if is_full || left.is_zero() {
                let calls = std::mem::replace(&mut batch.calls, FirstBatch::at(end.position.get()));
                return Ok(Some(CallBatch { calls, end, is_cut: true }));
            }
        }
    }

    fn has_backlog(&self) -> bool {
        !self.deferral.is_empty()
    }

    fn consumer(&mut self) -> Result<&mut Consumer, ConsumeError> {
        match &mut self.consumer {
            Some(consumer) => Ok(consumer),
            none => {
                let consumer = self.reopener.open_at(self.next).map_err(io::Error::other)?;
                Ok(none.insert(consumer))
            }
        }
    }

    /// Adds the calls of a frame to a batch of the first reader, or leaves them to a backlog.
    fn take(&mut self, frame: Frame, batch: &mut FirstBatch) {
        let (position, end) = (frame.position.get(), frame.end().position.get());
        let Ok(header) = Batch::header_of(&frame.payload) else { return };
        let workspace = WorkspaceId::new(header.workspace_id);
        if header.kind != BatchKind::Profiles || self.deferral.leaves_out(workspace, end) {
            return;
        }
        if self.suspects.is_left_out(position) {
            tracing::error!(
                position,
                "a frame of profile calls is left out: applying it panicked each time"
            );
            return;
        }
        let has_room = u64::from(header.count) <= WORK_MAX
            && Batch::from_bytes(frame.payload).map_or(true, |calls| batch.add(calls));
        if !has_room {
            let left_out = batch.leave_out(workspace, end);
            let (cursor, next) = (&self.cursor, self.next);
            self.deferral.defer(workspace, left_out, || BacklogReader::at(cursor, next));
            tracing::debug!(%workspace, "its profile calls are applied beside those of others");
        }
    }

    /// Applies a slice of each backlog; false when the consumer is stopping.
    fn apply_backlogs(&mut self, runtime: &Handle) -> bool {
        for place in 0..self.deferral.backlogs().len() {
            self.working = Working::Backlog(place);
            self.heartbeat.beat();
            match self.backlog_turn(runtime, place) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) => cannot_read(&error),
            }
        }
        self.working = Working::First;
        self.deferral.remove_done();
        self.publish();
        true
    }

    fn backlog_turn(&mut self, runtime: &Handle, place: usize) -> io::Result<bool> {
        let Some(backlog) = self.deferral.backlogs().get_mut(place) else { return Ok(true) };
        BacklogReader::fill(backlog, self.next)?;
        let Some(backlog) = self.deferral.backlog(place) else { return Ok(true) };
        let slice = backlog.reader.pending.slice();
        if !runtime.block_on(self.apply(&slice.calls)) {
            return Ok(false);
        }
        let slice_end = slice.end;
        if let Some(backlog) = self.deferral.backlogs().get_mut(place) {
            BacklogReader::advance(backlog, slice_end);
        }
        Ok(true)
    }

    /// Applies calls; false when the consumer is stopping.
    async fn apply(&self, workspaces: &[WorkspaceCalls<'_>]) -> bool {
        let app = &self.app;
        let applying = async {
            for WorkspaceCalls { workspace, calls } in workspaces {
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

    fn publish(&self) {
        self.applied.set(self.deferral.applied(self.next.position.get()));
    }

    fn commit(&mut self) {
        self.committed = Instant::now();
        let of_backlogs = self.deferral.backlogs().iter().map(|backlog| backlog.reader.next());
        let readers = of_backlogs.chain([self.next]);
        let last = readers.min_by_key(|mark| mark.position).unwrap_or(self.next);
        if let Err(error) = self.cursor.commit(last) {
            tracing::warn!(%error, "the cursor of profile calls could not be written");
        }
        #[expect(clippy::cast_precision_loss, reason = "a gauge")]
        metrics_catalogue::PROFILE_CALLS_BEHIND_BYTES.set(self.cursor.behind().bytes as f64);
    }
}

fn cannot_read(error: &io::Error) {
    tracing::error!(%error, "profile calls cannot be read from the spool, trying again");
    std::thread::sleep(PAUSE);
}

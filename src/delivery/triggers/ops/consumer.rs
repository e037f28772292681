//! Matches incoming events against triggered campaigns, on a thread of its own.
//!
//! While PostgreSQL is unavailable: without a known live trigger, batches pass unprocessed, so that this consumer does
//! not keep the spool full. With one, or while it is unknown, batches wait; but this consumer alone may hold no more
//! than its budget of the spool. Beyond it the oldest events are shed: ingestion has precedence over processing.

use std::{
    io,
    time::{Duration, Instant},
};

use bytes::Bytes;
use ingest::{
    profile_progress::Progress,
    record::Batch,
    spool::{ConsumeError, Cursor, Mark, Reopener, Spool, SpoolError},
};
use supervisor::{Heartbeat, Suspects};
use tokio::{runtime::Handle, sync::watch, time::timeout};

use super::{
    batches::{EventBatch, EventBatches},
    catalogue::Matches,
    matching::Matching,
    publish,
};
use crate::DeliveryState;

/// The name among the spool's consumers.
const CONSUMER: &str = "triggers";
/// The name among the workers.
const WORKER: &str = "triggers";
/// The longest time between heartbeats. Waiting for PostgreSQL counts as a heartbeat.
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// How often the cursor is written. Later events are processed again after a crash, and find their entries.
const COMMIT_EVERY: Duration = Duration::from_secs(1);
/// How often unpublished entries are looked for.
const REPUBLISH_EVERY: Duration = Duration::from_secs(5);
/// The longest time for publishing them: a store that hangs must not delay events.
const REPUBLISH_MAX: Duration = Duration::from_secs(10);
/// Pause after a failure of the spool, and between looks at the budget.
const PAUSE: Duration = Duration::from_secs(1);
/// How long PostgreSQL is not queried again after an outage, without a known live trigger.
const AWAY_REST: Duration = Duration::from_secs(1);
/// How long a batch is tried before the budget is checked, so that slow batches are not shed.
const TRIED_MIN: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Triggers {
    stopping: watch::Sender<bool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// The reason why triggers did not start.
#[derive(Debug, thiserror::Error)]
pub enum TriggersError {
    /// The consumer of the spool could not be opened.
    #[error("could not open the spool's consumer of triggers")]
    Spool(#[from] SpoolError),
    /// The thread could not be started.
    #[error("could not start the thread of triggers")]
    Io(#[from] io::Error),
}

impl Triggers {
    /// Starts matching incoming events, each after the profile calls before it were applied, as `profile_calls` says. Call it
    /// inside a tokio runtime. Alone it keeps at most `backlog_bytes` of the
    /// spool from being freed, and never more than half of its limit.
    ///
    /// # Errors
    /// When the spool or the system refuse.
    pub fn start(
        app: DeliveryState,
        spool: &Spool,
        profile_calls: Progress,
        backlog_bytes: u64,
    ) -> Result<Self, TriggersError> {
        let consumer = spool.consumer(CONSUMER)?;
        let (stopping, stopped) = watch::channel(false);
        let (_, limit_bytes) = spool.used_and_limit_bytes();
        let heartbeat = app.readiness().workers().register(WORKER, SILENCE_MAX);
        let consumer_task = TriggerConsumer {
            app,
            processed: consumer.next(),
            matching: Matching::new(profile_calls, consumer.next().position),
            cursor: consumer.cursor(),
            reopener: consumer.reopener(),
            batches: Some(EventBatches::of(consumer)),
            stopped,
            heartbeat,
            suspects: Suspects::default(),
            in_progress: (0, 0),
            backlog_bytes: backlog_bytes.min(limit_bytes / 2),
            shed: None,
            away_until: None,
            committed: Instant::now(),
            republished: Instant::now(),
        };
        let runtime = Handle::current();
        let thread = std::thread::Builder::new()
            .name(WORKER.to_owned())
            .spawn(move || consumer_task.keep_running(&runtime))?;
        Ok(Self { stopping, thread: Some(thread) })
    }

    /// Stops. What was not processed by then is processed after the next start.
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

struct TriggerConsumer {
    app: DeliveryState,
    cursor: Cursor,
    reopener: Reopener,
    /// None between a panic and the next run.
    batches: Option<EventBatches>,
    matching: Matching,
    stopped: watch::Receiver<bool>,
    heartbeat: Heartbeat,
    /// Frames at which it panicked.
    suspects: Suspects,
    /// The first frame of the batch in progress, and the number of its frames.
    in_progress: (u64, u64),
    /// Bytes of the spool that this consumer alone may hold.
    backlog_bytes: u64,
    /// The number of events shed, while events are shed.
    shed: Option<u64>,
    /// PostgreSQL is not queried before, unless there is a known live trigger.
    away_until: Option<Instant>,
    /// Everything before it was processed.
    processed: Mark,
    committed: Instant,
    republished: Instant,
}

/// The outcome of a batch.
enum BatchOutcome {
    /// All its entries are stored, or its events wait for profile calls that are applied later than others.
    Stored,
    /// PostgreSQL is unavailable, and there was no live trigger when it was last queried.
    Passed,
    /// The consumer_task is stopping.
    Stopped,
    /// It was tried long enough, and the backlog is over the budget.
    OverBudget,
}

impl TriggerConsumer {
    /// Runs until it is stopped, or the spool is closed and read; again after a panic.
    fn keep_running(mut self, runtime: &Handle) {
        let heartbeat = self.heartbeat.clone();
        while heartbeat.attempt(|| self.run(runtime)).is_err() {
            let (first, count) = std::mem::take(&mut self.in_progress);
            self.suspects.panicked(first, count);
            self.commit();
            self.batches = None;
            self.matching.begin_again();
            self.processed = self.cursor.committed();
            std::thread::sleep(heartbeat.pause());
        }
        heartbeat.ended();
    }

    fn run(&mut self, runtime: &Handle) {
        while !*self.stopped.borrow() {
            self.heartbeat.beat();
            if !self.enter_due(runtime) {
                break;
            }
            match self.gather() {
                Ok(Some(batch)) => {
                    if !self.take(runtime, &batch) {
                        break;
                    }
                    self.processed = batch.end;
                    self.suspects.passed(batch.end.position.get());
                    self.in_progress = (0, 0);
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
            if self.republished.elapsed() >= REPUBLISH_EVERY {
                self.republished = Instant::now();
                // An unavailable store is retried with the next batch.
                let republishing = self.heartbeat.waiting(publish::publish_unpublished(&self.app));
                // Made inside the runtime: a timer needs it.
                drop(runtime.block_on(async { timeout(REPUBLISH_MAX, republishing).await }));
            }
        }
        self.commit();
    }

    fn gather(&mut self) -> Result<Option<EventBatch>, ConsumeError> {
        let batches = match &mut self.batches {
            Some(batches) => batches,
            none => {
                let consumer = self.reopener.open().map_err(io::Error::other)?;
                self.processed = consumer.next();
                none.insert(EventBatches::of(consumer))
            }
        };
        let batch = batches.next(&self.suspects)?;
        if let Some(batch) = &batch {
            self.matching.note(batch);
            self.in_progress = (batch.first, batch.frames);
            if batch.left_out > 0 {
                tracing::error!(
                    position = batch.first,
                    frames = batch.left_out,
                    "triggers panicked at a frame each time, its events trigger nothing"
                );
                metrics_catalogue::TRIGGER_FAULTS.with(["panic"]).increment(batch.left_out);
            }
        }
        Ok(batch)
    }

    /// Processes a batch or sheds it; false when the consumer is stopping.
    fn take(&mut self, runtime: &Handle, batch: &EventBatch) -> bool {
        if batch.payloads.is_empty() {
            return true;
        }
        if self.shed.is_some() {
            if self.is_over_budget() {
                self.shed(&batch.payloads, batch.events);
                return true;
            }
            self.end_shedding();
        }
        let is_resting = self.away_until.is_some_and(|until| Instant::now() < until);
        if is_resting && self.matching.catalogue().is_known_empty() {
            return true;
        }
        match runtime.block_on(self.process(batch)) {
            BatchOutcome::Stored => true,
            BatchOutcome::Passed => {
                self.away_until = Some(Instant::now() + AWAY_REST);
                true
            }
            BatchOutcome::Stopped => false,
            BatchOutcome::OverBudget => {
                self.over_budget();
                self.shed(&batch.payloads, batch.events);
                true
            }
        }
    }

    /// Enters events that waited for profile calls; false when the consumer is stopping.
    fn enter_due(&mut self, runtime: &Handle) -> bool {
        let due = self.matching.due();
        if due.is_empty() {
            return true;
        }
        match runtime.block_on(self.process_due(&due)) {
            BatchOutcome::Stored | BatchOutcome::Passed => {}
            BatchOutcome::Stopped => return false,
            BatchOutcome::OverBudget => {
                self.over_budget();
                let headers = due.iter().filter_map(|payload| Batch::header_of(payload).ok());
                let events = headers.map(|header| u64::from(header.count)).sum();
                self.shed(&due, events);
            }
        }
        self.matching.let_go();
        true
    }

    async fn process_due(&mut self, due: &[Bytes]) -> BatchOutcome {
        let stopped = self.stopped.clone();
        let done = self.matching.done_before(self.processed);
        let over_budget = over_budget(&self.cursor, done, self.backlog_bytes);
        let entering = Box::pin(self.heartbeat.waiting(self.matching.enter_due(&self.app, due)));
        processed(entering, stopped, over_budget).await
    }

    async fn process(&mut self, batch: &EventBatch) -> BatchOutcome {
        let stopped = self.stopped.clone();
        let done = self.matching.done_before(self.processed);
        let over_budget = over_budget(&self.cursor, done, self.backlog_bytes);
        let entering = self.matching.enter(&self.app, batch, self.processed);
        let entering = Box::pin(self.heartbeat.waiting(entering));
        processed(entering, stopped, over_budget).await
    }

    fn over_budget(&self) {
        tracing::error!(
            backlog_bytes = self.backlog_bytes,
            "triggers hold more of the spool than their budget, their oldest events are shed"
        );
    }

    fn is_over_budget(&self) -> bool {
        let done = self.matching.done_before(self.processed);
        self.cursor.held_alone_bytes(&done) > self.backlog_bytes
    }

    /// Sheds events, so many in all. Counts those that match a known live trigger; all, while live triggers are unknown.
    fn shed(&mut self, payloads: &[Bytes], all: u64) {
        let catalogue = self.matching.catalogue();
        let events = if catalogue.is_known() {
            let mut matches = Matches::new();
            for payload in payloads {
                catalogue.match_batch(payload, &mut matches);
            }
            matches.values().map(|it| it.events.len() as u64).sum()
        } else {
            all
        };
        metrics_catalogue::TRIGGER_SHED_EVENTS.increment(events);
        *self.shed.get_or_insert(0) += events;
    }

    fn end_shedding(&mut self) {
        if let Some(events) = self.shed.take() {
            tracing::warn!(
                events,
                "triggers hold less of the spool than their budget again; the shed events trigger nothing"
            );
        }
    }

    fn commit(&mut self) {
        self.committed = Instant::now();
        if let Err(error) = self.cursor.commit(self.matching.done_before(self.processed)) {
            tracing::warn!(%error, "the cursor of triggers could not be written");
        }
        #[expect(clippy::cast_precision_loss, reason = "a gauge")]
        metrics_catalogue::TRIGGER_BACKLOG_EVENTS.set(self.cursor.behind().events as f64);
    }
}

/// Waits for entries, unless the consumer is stopping or they were tried long enough.
async fn processed(
    entering: impl Future<Output = bool>,
    mut stopped: watch::Receiver<bool>,
    over_budget: impl Future<Output = ()>,
) -> BatchOutcome {
    tokio::select! {
        biased;
        // An error means that the server ended, which is a stop as well.
        _ = stopped.wait_for(|stopped| *stopped) => BatchOutcome::Stopped,
        are_entered = entering => if are_entered { BatchOutcome::Stored } else { BatchOutcome::Passed },
        () = over_budget => BatchOutcome::OverBudget,
    }
}

/// Returns when a batch was tried long enough and the backlog is over the budget.
async fn over_budget(cursor: &Cursor, processed: Mark, backlog_bytes: u64) {
    tokio::time::sleep(TRIED_MIN).await;
    while cursor.held_alone_bytes(&processed) <= backlog_bytes {
        tokio::time::sleep(PAUSE).await;
    }
}

//! Matches incoming events against triggered campaigns, on a thread of its own.
//!
//! What holds while PostgreSQL is away: without a triggered campaign that is known to be live, rounds pass unprocessed, so
//! that the spool is not kept full by this consumer. With one, or while it is not known, rounds wait; but this consumer
//! alone may keep no more than its budget of the spool. Beyond it the oldest events are passed over (shed): taking
//! events goes before processing them.

use std::{
    io,
    time::{Duration, Instant},
};

use ingest::spool::{ConsumeError, Cursor, Mark, Reopener, Spool, SpoolError};
use kernel::{Error, Result};
use supervisor::{Heartbeat, Suspects};
use tokio::{runtime::Handle, sync::watch, time::timeout};

use super::{
    batches::{Round, Rounds},
    catalogue::{Catalogue, SetOff},
    entries, publish,
};
use crate::DeliveryState;

/// The name among the spool's consumers.
const CONSUMER: &str = "triggers";
/// The name among the workers.
const WORKER: &str = "triggers";
/// How long it may not beat before it counts as hung. PostgreSQL being away is waited for, and is no silence.
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// How often the cursor is written. What was processed since is processed again after a crash, and has its
/// entries then.
const COMMIT_EVERY: Duration = Duration::from_secs(1);
/// How often unpublished entries are looked for.
const REPUBLISH_EVERY: Duration = Duration::from_secs(5);
/// Longest time for publish of them: a store that hangs must not hold up the events.
const RETELL_MAX: Duration = Duration::from_secs(10);
/// Longest time for asking who waits, for the same reason.
const REFRESH_MAX: Duration = Duration::from_secs(10);
/// Pause after a failure, of PostgreSQL or of the spool.
const PAUSE: Duration = Duration::from_secs(1);
/// How long PostgreSQL is not asked again after it was away, where no campaign is known to wait for events.
const AWAY_REST: Duration = Duration::from_secs(1);
/// How long a round is tried before the budget is looked at: what is merely slow is not shed.
const TRIED_MIN: Duration = Duration::from_secs(5);

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
    /// Starts matching incoming events. Call it inside a tokio runtime. Alone it keeps at most `backlog_bytes` of the
    /// spool from being freed, and never more than half of its limit.
    ///
    /// # Errors
    /// When the spool or the system refuse.
    pub fn start(
        app: DeliveryState,
        spool: &Spool,
        backlog_bytes: u64,
    ) -> Result<Self, TriggersError> {
        let consumer = spool.consumer(CONSUMER)?;
        let (stopping, stopped) = watch::channel(false);
        let (_, limit_bytes) = spool.used_and_limit_bytes();
        let heartbeat = app.readiness().workers().register(WORKER, SILENCE_MAX);
        let feed = Feed {
            app,
            processed: consumer.next(),
            cursor: consumer.cursor(),
            reopener: consumer.reopener(),
            rounds: Some(Rounds::of(consumer)),
            catalogue: Catalogue::default(),
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
            .spawn(move || feed.keep_running(&runtime))?;
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

struct Feed {
    app: DeliveryState,
    cursor: Cursor,
    reopener: Reopener,
    /// None between a panic and the next run.
    rounds: Option<Rounds>,
    catalogue: Catalogue,
    stopped: watch::Receiver<bool>,
    heartbeat: Heartbeat,
    /// Frames at which it panicked.
    suspects: Suspects,
    /// The first frame of the round in progress, and how many there are.
    in_progress: (u64, u64),
    /// Bytes of the spool that this consumer alone may keep.
    backlog_bytes: u64,
    /// While the oldest events are passed over: how many were.
    shed: Option<u64>,
    /// PostgreSQL is not asked before, unless a campaign is known to wait.
    away_until: Option<Instant>,
    /// Everything before it was processed.
    processed: Mark,
    committed: Instant,
    republished: Instant,
}

/// What became of a round.
enum RoundOutcome {
    /// Everything that it sets off is kept.
    Kept,
    /// PostgreSQL is away, and no campaign waited for events when it was last asked.
    Passed,
    /// The feed is stopping.
    Stopped,
    /// It was tried long enough, and too much waits behind it.
    OverBudget,
}

impl Feed {
    /// Runs until it is stopped, or the spool is closed and read; again after a panic.
    fn keep_running(mut self, runtime: &Handle) {
        let heartbeat = self.heartbeat.clone();
        while heartbeat.attempt(|| self.run(runtime)).is_err() {
            let (first, count) = std::mem::take(&mut self.in_progress);
            self.suspects.panicked(first, count);
            self.commit();
            self.rounds = None;
            // It may have been left half read.
            self.catalogue = Catalogue::default();
            std::thread::sleep(heartbeat.pause());
        }
        heartbeat.ended();
    }

    fn run(&mut self, runtime: &Handle) {
        while !*self.stopped.borrow() {
            self.heartbeat.beat();
            match self.gather() {
                Ok(Some(round)) => {
                    if !self.take(runtime, &round) {
                        break;
                    }
                    self.processed = round.end;
                    self.suspects.passed(round.end.position.get());
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
                // A store that is away is asked again before long.
                let retelling = self.heartbeat.waiting(publish::publish_unpublished(&self.app));
                // Made inside the runtime: a timer needs it.
                drop(runtime.block_on(async { timeout(RETELL_MAX, retelling).await }));
            }
        }
        self.commit();
    }

    fn gather(&mut self) -> Result<Option<Round>, ConsumeError> {
        let rounds = match &mut self.rounds {
            Some(rounds) => rounds,
            none => {
                let consumer = self.reopener.open().map_err(io::Error::other)?;
                self.processed = consumer.next();
                none.insert(Rounds::of(consumer))
            }
        };
        let round = rounds.next(&self.suspects)?;
        if let Some(round) = &round {
            self.in_progress = (round.first, round.frames);
            if round.left_out > 0 {
                tracing::error!(
                    position = round.first,
                    frames = round.left_out,
                    "triggers panicked at a frame each time, its events set nothing off"
                );
                metrics_catalogue::TRIGGER_FAULTS.with(["panic"]).increment(round.left_out);
            }
        }
        Ok(round)
    }

    /// Processes a round or sheds it; false when the feed is stopping.
    fn take(&mut self, runtime: &Handle, round: &Round) -> bool {
        if round.payloads.is_empty() {
            return true;
        }
        if self.shed.is_some() {
            if self.is_over_budget() {
                self.shed(round);
                return true;
            }
            self.end_shedding();
        }
        let is_resting = self.away_until.is_some_and(|until| Instant::now() < until);
        if is_resting && self.catalogue.is_known_empty() {
            return true;
        }
        match runtime.block_on(self.process(round)) {
            RoundOutcome::Kept => true,
            RoundOutcome::Passed => {
                self.away_until = Some(Instant::now() + AWAY_REST);
                true
            }
            RoundOutcome::Stopped => false,
            RoundOutcome::OverBudget => {
                tracing::error!(
                    backlog_bytes = self.backlog_bytes,
                    "triggers keep more of the spool than they may, their oldest events are passed over"
                );
                self.shed(round);
                true
            }
        }
    }

    async fn process(&mut self, round: &Round) -> RoundOutcome {
        let mut stopped = self.stopped.clone();
        let over_budget = over_budget(&self.cursor, self.processed, self.backlog_bytes);
        let processing = process(&self.app, &mut self.catalogue, round);
        tokio::select! {
            biased;
            // An error means that the server is gone, which is a stop as well.
            _ = stopped.wait_for(|stopped| *stopped) => RoundOutcome::Stopped,
            outcome = self.heartbeat.waiting(processing) => outcome,
            () = over_budget => RoundOutcome::OverBudget,
        }
    }

    fn is_over_budget(&self) -> bool {
        self.cursor.held_alone_bytes(&self.processed) > self.backlog_bytes
    }

    /// Passes over a round. Counts the events that would have set off a campaign known to be live; all of them, where
    /// none could be asked for yet.
    fn shed(&mut self, round: &Round) {
        let events = if self.catalogue.is_known() {
            let mut set_off = SetOff::new();
            round.payloads.iter().for_each(|it| self.catalogue.look_into(it, &mut set_off));
            set_off.values().map(|(_, events)| events.len() as u64).sum()
        } else {
            round.events
        };
        metrics_catalogue::TRIGGER_SHED_EVENTS.increment(events);
        *self.shed.get_or_insert(0) += events;
    }

    fn end_shedding(&mut self) {
        if let Some(events) = self.shed.take() {
            tracing::warn!(
                events,
                "triggers keep within their part of the spool again; these events set nothing off"
            );
        }
    }

    fn commit(&mut self) {
        self.committed = Instant::now();
        if let Err(error) = self.cursor.commit(self.processed) {
            tracing::warn!(%error, "the cursor of triggers could not be written");
        }
        #[expect(clippy::cast_precision_loss, reason = "a gauge")]
        metrics_catalogue::TRIGGER_BACKLOG_EVENTS.set(self.cursor.behind().events as f64);
    }
}

/// Returns when a round was tried long enough and more waits than may.
async fn over_budget(cursor: &Cursor, processed: Mark, backlog_bytes: u64) {
    tokio::time::sleep(TRIED_MIN).await;
    while cursor.held_alone_bytes(&processed) <= backlog_bytes {
        tokio::time::sleep(PAUSE).await;
    }
}

async fn refresh(app: &DeliveryState, catalogue: &mut Catalogue) -> Result<()> {
    let refreshed = timeout(REFRESH_MAX, catalogue.refresh(app)).await;
    refreshed.unwrap_or_else(|_| Err(Error::store_unavailable()))
}

async fn process(app: &DeliveryState, catalogue: &mut Catalogue, round: &Round) -> RoundOutcome {
    let mut said = false;
    while let Err(error) = refresh(app, catalogue).await {
        if error.is_unavailable() && catalogue.is_known_empty() {
            tracing::debug!(%error, "no campaign waited for events when PostgreSQL was last asked, they pass");
            return RoundOutcome::Passed;
        }
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
    for (waiting, events) in set_off.into_values() {
        entries::enter(app, &waiting, &events).await;
    }
    RoundOutcome::Kept
}

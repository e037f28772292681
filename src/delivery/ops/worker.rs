//! The background tasks of delivery in one process. Any number of processes may run them; each message is claimed by
//! one.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use kernel::{Result, Severity, Timestamp};
use supervisor::{Backoff, Heartbeat};
use tokio::{sync::watch, task::JoinSet};
use web::db;

use super::{
    channels::ChannelAnnouncements,
    enqueue, experiments,
    queues::{BatchReport, SendQueue, SendQueues},
    retention,
    send::{campaign_context::CampaignContexts, dispatch},
    sweep,
    transactional::confirmation,
};
use crate::{DeliveryState, store::queues};

/// Longest interval between two queries for due messages.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Shortest interval, however often a notification comes.
const POLL_INTERVAL_MIN: Duration = Duration::from_millis(10);
/// Interval between two searches for expired leases and finished runs.
const SWEEP_INTERVAL: Duration = Duration::from_millis(500);
/// Interval between two measurements of the backlog.
const MEASURE_INTERVAL: Duration = Duration::from_secs(5);
/// Interval between two evaluations of A/B tests and learning campaigns.
const EVALUATE_INTERVAL: Duration = Duration::from_secs(2);
/// Interval between two retention runs.
const RETENTION_INTERVAL: Duration = Duration::from_mins(1);
/// Interval between two deletions of expired claims and frequency counters.
const EXPIRE_INTERVAL: Duration = Duration::from_hours(1);
/// Largest backlog that is counted exactly.
const BACKLOG_COUNTED_MAX: i64 = 100_000;
/// Batches that are sent at the same time.
const SENDERS: usize = 6;
/// Audiences that are enqueued at the same time.
const ENQUEUERS: usize = 2;
/// Interval between two checks whether the schema is migrated.
const SCHEMA_INTERVAL: Duration = Duration::from_millis(100);
/// A task without a heartbeat for this long counts as hung.
const SILENCE_MAX: Duration = Duration::from_mins(2);
/// Likewise a sender: in the worst case its batch waits for a provider message by message.
const SENDING_SILENCE_MAX: Duration = Duration::from_mins(10);
/// Pause of a task that has nothing to do.
const IDLE_PAUSE: Duration = Duration::from_secs(1);
/// The first and the longest pause after failures.
const FAILED_PAUSE: Duration = Duration::from_millis(250);
const FAILED_PAUSE_MAX: Duration = Duration::from_secs(2);

/// Runs the tasks until `stop` is true and what was begun is finished.
pub async fn run(app: DeliveryState, stop: watch::Receiver<bool>) {
    let mut worker = Worker { app, queues: Arc::default(), contexts: Arc::default(), stop };
    // The server starts before its schema is migrated.
    while !worker.is_stopping() && !matches!(db::schema_is_current(worker.app.db()).await, Ok(true))
    {
        worker.pause(SCHEMA_INTERVAL).await;
    }
    let mut tasks = JoinSet::new();
    worker.spawn(&mut tasks, "delivery-look", SILENCE_MAX, Worker::poll);
    worker.spawn(&mut tasks, "delivery-sweep", SILENCE_MAX, Worker::sweep);
    worker.spawn(&mut tasks, "delivery-evaluate", SILENCE_MAX, Worker::evaluate);
    worker.spawn(&mut tasks, "delivery-confirm", SILENCE_MAX, Worker::confirm);
    worker.spawn(&mut tasks, "delivery-retain", SILENCE_MAX, Worker::retain);
    for _ in 0..ENQUEUERS {
        worker.spawn(&mut tasks, "delivery-write", SILENCE_MAX, Worker::enqueue);
    }
    for _ in 0..SENDERS {
        worker.spawn(&mut tasks, "delivery-send", SENDING_SILENCE_MAX, Worker::send);
    }
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a delivery task failed");
        }
    }
}

/// What every task needs.
#[derive(Clone)]
struct Worker {
    app: DeliveryState,
    queues: Arc<SendQueues>,
    contexts: Arc<CampaignContexts>,
    stop: watch::Receiver<bool>,
}

impl Worker {
    fn spawn<F: Future<Output = ()> + Send + 'static>(
        &self,
        tasks: &mut JoinSet<()>,
        name: &'static str,
        silence_max: Duration,
        task: fn(Self, Heartbeat) -> F,
    ) {
        let worker = self.clone();
        let heartbeat = self.app.readiness().workers().register(name, silence_max);
        tasks.spawn(heartbeat.run(move |heartbeat| task(worker.clone(), heartbeat)));
    }

    fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// Waits for `wake`, or for the stop.
    async fn wait(&mut self, wake: impl Future<Output = ()>) {
        tokio::select! {
            () = wake => {}
            _ = self.stop.wait_for(|stop| *stop) => {}
        }
    }

    async fn pause(&mut self, pause: Duration) {
        self.wait(tokio::time::sleep(pause)).await;
    }

    /// Finds campaigns and single messages that are due.
    async fn poll(mut self, heartbeat: Heartbeat) {
        let mut due = self.app.due_signal().listen();
        let mut announcements = ChannelAnnouncements::default();
        let mut backoff = failure_backoff();
        while !self.is_stopping() {
            heartbeat.beat();
            let announced = announcements.announce_if_due(&self.app).await;
            log_failure("the channels of this process were not announced", announced);
            if log_failure("due messages were not queried", self.poll_once().await) {
                self.pause(backoff.pause()).await;
            } else {
                backoff.reset();
            }
            self.wait(async {
                tokio::time::sleep(POLL_INTERVAL_MIN).await;
                due.wait(POLL_INTERVAL).await;
            })
            .await;
        }
    }

    async fn poll_once(&self) -> Result<()> {
        let app = &self.app;
        let now = app.clock().now();
        if queues::outbox_due(app.db()).await?.is_some_and(|due| due <= now) {
            self.queues.open(SendQueue::Outbox);
        }
        for unsettled in queues::unsettled(app.db()).await? {
            if unsettled.is_cancelled {
                sweep::cancel(app, unsettled.workspace, unsettled.campaign).await?;
            } else if unsettled.due <= now || unsettled.are_reserved {
                self.queues.open(SendQueue::Campaign(unsettled.workspace, unsettled.campaign));
            }
        }
        Ok(())
    }

    /// Settles expired leases, completes runs, measures the backlog and deletes expired rows.
    async fn sweep(mut self, heartbeat: Heartbeat) {
        let (mut measured, mut expired) = (None::<Instant>, None::<Timestamp>);
        while !self.is_stopping() {
            heartbeat.beat();
            let app = &self.app;
            log_failure("expired leases were not settled", sweep::lapse(app).await);
            log_failure("finished runs were not completed", sweep::complete(app).await);
            if measured.is_none_or(|at| at.elapsed() >= MEASURE_INTERVAL) {
                measured = Some(Instant::now());
                log_failure("the backlog was not measured", measure(app).await);
            }
            let now = app.clock().now();
            if expired.is_none_or(|at| now.duration_since(at) >= EXPIRE_INTERVAL) {
                expired = Some(now);
                log_failure("expired rows were not deleted", sweep::forget(app).await);
            }
            self.pause(SWEEP_INTERVAL).await;
        }
    }

    async fn evaluate(mut self, heartbeat: Heartbeat) {
        while !self.is_stopping() {
            heartbeat.beat();
            log_failure("A/B tests were not evaluated", experiments::end_trials(&self.app).await);
            log_failure("learning was not updated", experiments::learn(&self.app).await);
            self.pause(EVALUATE_INTERVAL).await;
        }
    }

    /// Sends the confirmations of double opt-in.
    async fn confirm(mut self, heartbeat: Heartbeat) {
        while !self.is_stopping() {
            heartbeat.beat();
            match confirmation::ask(&self.app).await {
                Ok(true) => {}
                asked => {
                    log_failure("confirmations were not enqueued", asked.map(drop));
                    self.pause(IDLE_PAUSE).await;
                }
            }
        }
    }

    /// Deletes messages whose retention has ended.
    async fn retain(mut self, heartbeat: Heartbeat) {
        let mut completed = None::<Timestamp>;
        while !self.is_stopping() {
            heartbeat.beat();
            let now = self.app.clock().now();
            if completed.is_some_and(|at| now.duration_since(at) < RETENTION_INTERVAL) {
                self.pause(IDLE_PAUSE).await;
                continue;
            }
            let deleted = retention::page(&self.app).await;
            if !matches!(deleted, Ok(true)) {
                completed = Some(now);
            }
            log_failure("messages were not deleted after their retention", deleted.map(drop));
        }
    }

    /// Enqueues the audiences of runs.
    async fn enqueue(mut self, heartbeat: Heartbeat) {
        let mut due = self.app.due_signal().listen();
        let mut backoff = failure_backoff();
        while !self.is_stopping() {
            // An audience of millions takes minutes.
            let enqueued = Box::pin(enqueue::write_one(&self.app, &self.queues));
            match heartbeat.waiting(enqueued).await {
                Ok(was_due) => {
                    backoff.reset();
                    if !was_due {
                        self.wait(due.wait(POLL_INTERVAL)).await;
                    }
                }
                Err(error) => {
                    log_failure("an audience was not enqueued", Err(error));
                    self.pause(backoff.pause()).await;
                }
            }
        }
    }

    /// Sends batch after batch of the queue that is next.
    async fn send(mut self, heartbeat: Heartbeat) {
        let queues = Arc::clone(&self.queues);
        let mut backoff = failure_backoff();
        while !self.is_stopping() {
            heartbeat.beat();
            let now = self.app.clock().now();
            let Some((queue, size)) = queues.pick(now) else {
                self.wait(queues.changed(now, POLL_INTERVAL)).await;
                continue;
            };
            let mut turn = Turn { queues: &queues, queue, report: BatchReport::default() };
            match dispatch::send_next(&self.app, &self.contexts, queue, size).await {
                Ok(report) => {
                    turn.report = report;
                    backoff.reset();
                }
                Err(error) => {
                    log_failure("a batch was not sent", Err(error));
                    drop(turn);
                    self.pause(backoff.pause()).await;
                }
            }
        }
    }
}

fn failure_backoff() -> Backoff {
    Backoff::new(FAILED_PAUSE, FAILED_PAUSE_MAX)
}

/// Logs a failure; true when there was one.
fn log_failure(what: &str, result: Result<()>) -> bool {
    let Err(error) = result else { return false };
    match error.severity() {
        Severity::Fault => tracing::error!(%error, "{what}"),
        Severity::Outage => tracing::warn!(%error, "{what}"),
        Severity::Refusal => tracing::debug!(%error, "{what}"),
    }
    true
}

async fn measure(app: &DeliveryState) -> Result<()> {
    let now = app.clock().now();
    let (waiting, oldest) = queues::depth(app.db(), now, BACKLOG_COUNTED_MAX).await?;
    metrics_catalogue::DELIVERY_DUE_MESSAGES.set(f64::from(u32::try_from(waiting).unwrap_or(0)));
    let age = oldest.map_or(Duration::ZERO, |due| now.duration_since(due));
    metrics_catalogue::DELIVERY_OLDEST_DUE_SECONDS.set(age.as_secs_f64());
    Ok(())
}

/// A queue's turn; it ends however the batch ends, also with a panic.
struct Turn<'q> {
    queues: &'q SendQueues,
    queue: SendQueue,
    report: BatchReport,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.queues.end(self.queue, &self.report);
    }
}

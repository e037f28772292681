//! The senders of a process: one that looks for what is due, some that write audiences down, some that
//! send. Any number of processes may have them; each message is in the hands of one.

use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use kernel::{Result, Severity, Timestamp};
use supervisor::Heartbeat;
use tokio::{sync::watch, task::JoinSet};
use web::db;

use super::{
    channels::CarrierNotes,
    enqueue, experiments,
    queues::{BatchReport, SendQueue, SendQueues},
    retention,
    send::{campaign_context::CampaignContexts, dispatch},
    sweep,
    transactional::confirmation,
};
use crate::{DeliveryState, store::queues};

/// Longest time between two looks for what is due.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Shortest time: however often it is notified.
const LOOK_REST: Duration = Duration::from_millis(10);
/// Time between two looks at what was left lying, and what is over.
const SWEEP_EVERY: Duration = Duration::from_millis(500);
/// Time between two looks at how much waits.
const MEASURE_EVERY: Duration = Duration::from_secs(5);
/// Time between two looks at what was tried and learnt.
const EVALUATE_EVERY: Duration = Duration::from_secs(2);
/// Milliseconds between two looks whether it is time to delete what is kept no longer.
const RETAIN_EVERY_MS: i64 = 60_000;
/// Milliseconds between two times of forgetting.
const FORGET_EVERY_MS: i64 = 3_600_000;
/// Messages counted as waiting at most.
const COUNTED_MAX: i64 = 100_000;
/// Batches under way at one time.
const SENDERS: usize = 6;
/// Audiences written down at one time.
const WRITERS: usize = 2;
/// Time between two looks whether the schema is there.
const SCHEMA_LOOK: Duration = Duration::from_millis(100);
/// How long one that looks, clears up or writes may not beat before it counts as hung.
const SILENCE_MAX: Duration = Duration::from_mins(2);
/// Likewise one that sends: its batch waits for a provider, message by message in the worst case.
const SENDING_SILENCE_MAX: Duration = Duration::from_mins(10);
/// Rest after a store was away.
const REST: Duration = Duration::from_secs(1);

/// Sends until it is told to stop; then what is under way is finished.
pub async fn run(app: DeliveryState, stop: watch::Receiver<bool>) {
    let mut stopping = stop.clone();
    // A server stands before its schema does.
    while !is_over(&stop) && !matches!(db::schema_is_current(app.db()).await, Ok(true)) {
        rest(&mut stopping, tokio::time::sleep(SCHEMA_LOOK)).await;
    }
    let (queues, contexts) =
        (Arc::new(SendQueues::default()), Arc::new(CampaignContexts::default()));
    let mut tasks = JoinSet::new();
    let workers = app.readiness().workers().clone();
    let register = |name| workers.register(name, SILENCE_MAX);
    let shared = (app, queues, stop);
    let keep = shared.clone();
    tasks.spawn(register("delivery-look").run(move |heartbeat| {
        let (app, queues, stop) = keep.clone();
        look(app, queues, stop, heartbeat)
    }));
    let keep = shared.clone();
    tasks.spawn(register("delivery-sweep").run(move |heartbeat| {
        let (app, _, stop) = keep.clone();
        sweep_periodically(app, stop, heartbeat)
    }));
    let keep = shared.clone();
    tasks.spawn(register("delivery-evaluate").run(move |heartbeat| {
        let (app, _, stop) = keep.clone();
        evaluate(app, stop, heartbeat)
    }));
    let keep = shared.clone();
    tasks.spawn(register("delivery-confirm").run(move |heartbeat| {
        let (app, _, stop) = keep.clone();
        confirm(app, stop, heartbeat)
    }));
    let keep = shared.clone();
    tasks.spawn(register("delivery-retain").run(move |heartbeat| {
        let (app, _, stop) = keep.clone();
        retain(app, stop, heartbeat)
    }));
    for _ in 0..WRITERS {
        let keep = shared.clone();
        tasks.spawn(register("delivery-write").run(move |heartbeat| {
            let (app, queues, stop) = keep.clone();
            write(app, queues, stop, heartbeat)
        }));
    }
    for _ in 0..SENDERS {
        let (keep, contexts) = (shared.clone(), Arc::clone(&contexts));
        let heartbeat = workers.register("delivery-send", SENDING_SILENCE_MAX);
        tasks.spawn(
            heartbeat.run(move |heartbeat| send(keep.clone(), Arc::clone(&contexts), heartbeat)),
        );
    }
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a sender failed");
        }
    }
}

fn is_over(stop: &watch::Receiver<bool>) -> bool {
    *stop.borrow()
}

/// Waits, but not beyond the stop.
async fn rest(stop: &mut watch::Receiver<bool>, pause: impl Future<Output = ()>) {
    tokio::select! {
        () = pause => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

/// Logs a failure; true when there was one.
fn complain(what: &str, result: Result<()>) -> bool {
    if let Err(error) = result {
        match error.severity() {
            Severity::Fault => tracing::error!(%error, "{what}"),
            Severity::Outage => tracing::warn!(%error, "{what}"),
            Severity::Refusal => tracing::debug!(%error, "{what}"),
        }
        return true;
    }
    false
}

/// Looks for what is due.
async fn look(
    app: DeliveryState,
    queues: Arc<SendQueues>,
    mut stop: watch::Receiver<bool>,
    heartbeat: Heartbeat,
) {
    let mut due = app.due_signal().listen();
    let mut carried = CarrierNotes::default();
    while !is_over(&stop) {
        heartbeat.beat();
        let noted = carried.note_if_due(&app).await;
        complain("cannot say which channels are carried", noted);
        let looked = look_once(&app, &queues).await;
        if complain("cannot look for what is due", looked) {
            rest(&mut stop, tokio::time::sleep(REST)).await;
        }
        rest(&mut stop, async {
            tokio::time::sleep(LOOK_REST).await;
            due.wait(LOOK_EVERY).await;
        })
        .await;
    }
}

async fn look_once(app: &DeliveryState, queues: &SendQueues) -> Result<()> {
    let now = app.clock().now();
    if queues::outbox_due(app.db()).await?.is_some_and(|due| due <= now) {
        queues.open(SendQueue::Outbox);
    }
    for unsettled in queues::unsettled(app.db()).await? {
        if unsettled.is_cancelled {
            sweep::cancel(app, unsettled.workspace, unsettled.campaign).await?;
        } else if unsettled.due <= now || unsettled.are_reserved {
            queues.open(SendQueue::Campaign(unsettled.workspace, unsettled.campaign));
        }
    }
    Ok(())
}

async fn sweep_periodically(
    app: DeliveryState,
    mut stop: watch::Receiver<bool>,
    heartbeat: Heartbeat,
) {
    let (mut measured, mut forgot) = (None::<Instant>, None::<Timestamp>);
    while !is_over(&stop) {
        heartbeat.beat();
        complain("cannot settle what lapsed", sweep::lapse(&app).await);
        complain("cannot end what is over", sweep::complete(&app).await);
        if measured.is_none_or(|at| at.elapsed() >= MEASURE_EVERY) {
            measured = Some(Instant::now());
            complain("cannot measure what waits", measure(&app).await);
        }
        let now = app.clock().now();
        if forgot.is_none_or(|at| now.millis() - at.millis() >= FORGET_EVERY_MS) {
            forgot = Some(now);
            complain("cannot forget what is long ago", sweep::forget(&app).await);
        }
        rest(&mut stop, tokio::time::sleep(SWEEP_EVERY)).await;
    }
}

async fn measure(app: &DeliveryState) -> Result<()> {
    let now = app.clock().now();
    let (waiting, oldest) = queues::depth(app.db(), now, COUNTED_MAX).await?;
    let late_ms = oldest.map_or(0, |due| now.millis() - due.millis());
    metrics_catalogue::DELIVERY_DUE_MESSAGES.set(f64::from(u32::try_from(waiting).unwrap_or(0)));
    let late = Duration::from_millis(u64::try_from(late_ms).unwrap_or(0));
    metrics_catalogue::DELIVERY_OLDEST_DUE_SECONDS.set(late.as_secs_f64());
    Ok(())
}

/// Looks at what was tried, and at what was learnt.
async fn evaluate(app: DeliveryState, mut stop: watch::Receiver<bool>, heartbeat: Heartbeat) {
    while !is_over(&stop) {
        heartbeat.beat();
        complain("cannot look at trials", experiments::end_trials(&app).await);
        complain("cannot look at what is learnt", experiments::learn(&app).await);
        rest(&mut stop, tokio::time::sleep(EVALUATE_EVERY)).await;
    }
}

/// Asks who waits to be asked whether they mean it.
async fn confirm(app: DeliveryState, mut stop: watch::Receiver<bool>, heartbeat: Heartbeat) {
    while !is_over(&stop) {
        heartbeat.beat();
        match confirmation::ask(&app).await {
            Ok(true) => {}
            asked => {
                complain("cannot ask for confirmations", asked.map(drop));
                rest(&mut stop, tokio::time::sleep(REST)).await;
            }
        }
    }
}

/// Deletes what is kept no longer.
async fn retain(app: DeliveryState, mut stop: watch::Receiver<bool>, heartbeat: Heartbeat) {
    let mut looked = None::<Timestamp>;
    while !is_over(&stop) {
        heartbeat.beat();
        let now = app.clock().now();
        if looked.is_some_and(|at| now.millis() - at.millis() < RETAIN_EVERY_MS) {
            rest(&mut stop, tokio::time::sleep(REST)).await;
            continue;
        }
        let done = retention::page(&app).await;
        if !matches!(done, Ok(true)) {
            looked = Some(now);
        }
        complain("cannot delete what is kept no longer", done.map(drop));
    }
}

async fn write(
    app: DeliveryState,
    queues: Arc<SendQueues>,
    mut stop: watch::Receiver<bool>,
    heartbeat: Heartbeat,
) {
    let mut due = app.due_signal().listen();
    while !is_over(&stop) {
        // An audience of millions takes minutes.
        match heartbeat.waiting(Box::pin(enqueue::write_one(&app, &queues))).await {
            Ok(true) => {}
            Ok(false) => rest(&mut stop, due.wait(LOOK_EVERY)).await,
            Err(error) => {
                complain("cannot write an audience down", Err(error));
                rest(&mut stop, tokio::time::sleep(REST)).await;
            }
        }
    }
}

/// Sends batch after batch, of whichever lane has its turn.
async fn send(
    (app, queues, mut stop): (DeliveryState, Arc<SendQueues>, watch::Receiver<bool>),
    contexts: Arc<CampaignContexts>,
    heartbeat: Heartbeat,
) {
    while !is_over(&stop) {
        heartbeat.beat();
        let Some((queue, size)) = queues.pick(app.clock().now()) else {
            rest(&mut stop, queues.changed(LOOK_EVERY)).await;
            continue;
        };
        let mut turn = Turn { queues: &queues, queue, round: BatchReport::default() };
        match dispatch::round(&app, &contexts, queue, size).await {
            Ok(round) => turn.round = round,
            Err(error) => {
                complain("cannot send a batch", Err(error));
                drop(turn);
                rest(&mut stop, tokio::time::sleep(REST)).await;
            }
        }
    }
}

/// A lane's turn; it ends however the batch ends, a panic included.
struct Turn<'l> {
    queues: &'l SendQueues,
    queue: SendQueue,
    round: BatchReport,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.queues.end(self.queue, &self.round);
    }
}

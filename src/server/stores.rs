//! Brings the stores up behind a server that already answers: connect, migrate, start the writer.

use std::{sync::Arc, time::Duration};

use analytics::{AnalyticsError, events};
use config::Settings;
use engines::DataDir;
use ingest::{
    pipeline::{Limits, Pipeline, PipelineOptions},
    spool::Spool,
    window::EventKey,
};
use parking_lot::Mutex;
use supervisor::Heartbeat;
use tokio::{task::JoinSet, time::timeout};
use web::{
    db::{Pinged, Pinger},
    http::health::{Condition, Store},
};

use super::{arrivals::Clocks, welcome::Demo};
use crate::app::App;

/// Pause between two tries to reach a store.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Pause between two looks at a store that was ready.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// Longest wait for its answer.
const LOOK_MAX: Duration = Duration::from_secs(1);
/// Looks in a row without an answer after which it counts as down: a store that is frozen is known to be within 3 s.
const SILENT_LOOKS_MAX: u32 = 2;
/// How long a watching task may not beat before it counts as hung.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Days for which server-stamped event ids are remembered to refuse duplicates.
const WINDOW_DAYS: i64 = 7;
/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What it takes to bring the stores up.
#[derive(Debug)]
pub(super) struct Stores {
    pub(super) app: App,
    pub(super) spool: Spool,
    pub(super) pipeline: Arc<Mutex<Option<Pipeline>>>,
    pub(super) pipeline_options: PipelineOptions,
    pub(super) clocks: Clocks,
    pub(super) demo: Option<Demo>,
}

pub(super) fn pipeline_options(
    settings: &Settings,
    data_dir: &DataDir,
    app: &App,
) -> PipelineOptions {
    let clock = app.clock().clone();
    PipelineOptions {
        clickhouse: app.analytics().client().clone(),
        dead_letters_dir: data_dir.dead_letters(),
        limits: Limits {
            rows_max: settings.ingest.batch_rows,
            linger: Duration::from_millis(settings.ingest.linger_ms),
            ..Limits::default()
        },
        now_ms: Arc::new(move || clock.now().millis().unsigned_abs()),
        workers: app.readiness().workers().clone(),
    }
}

impl Stores {
    /// Brings both stores up, each as soon as it can be reached, then keeps an eye on each: one task a store, so that
    /// one that hangs does not hide the other.
    pub(super) fn watch(self, tasks: &mut JoinSet<()>) {
        let Self { app, spool, pipeline, pipeline_options, clocks, demo } = self;
        let workers = app.readiness().workers().clone();
        let of_postgres = app.clone();
        let demo = Arc::new(demo);
        tasks.spawn(workers.register("postgres-watch", SILENCE_MAX).run(move |heartbeat| {
            let (app, demo) = (of_postgres.clone(), Arc::clone(&demo));
            async move {
                heartbeat.waiting(bring_up_postgres(&app, demo.as_ref().as_ref())).await;
                watch_postgres(&app, &heartbeat).await;
            }
        }));
        tasks.spawn(workers.register("clickhouse-watch", SILENCE_MAX).run(move |heartbeat| {
            let (app, spool, pipeline) = (app.clone(), spool.clone(), Arc::clone(&pipeline));
            let options = pipeline_options.clone();
            async move {
                let up = bring_up_clickhouse(&app, clocks, &spool, &options, &pipeline);
                heartbeat.waiting(up).await;
                watch_clickhouse(&app, &heartbeat).await;
            }
        }));
    }
}

/// Refuses a ClickHouse cluster that cannot be used. One that cannot be asked is asked again before anything
/// is written to it.
pub(super) async fn check_cluster(app: &App) -> anyhow::Result<()> {
    match app.analytics().check_cluster().await {
        Err(error @ AnalyticsError::Schema(_)) => Err(error.into()),
        Err(error) => {
            tracing::warn!(%error, "ClickHouse cannot be asked for its cluster yet");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

async fn bring_up_postgres(app: &App, demo: Option<&Demo>) {
    let mut tries = Tries::of(Store::Postgres);
    while let Err(error) = prepare_postgres(app, demo).await {
        tries.failed(app, &error).await;
    }
    app.readiness().set(Store::Postgres, Condition::Ready);
}

async fn bring_up_clickhouse(
    app: &App,
    clocks: Clocks,
    spool: &Spool,
    options: &PipelineOptions,
    pipeline: &Mutex<Option<Pipeline>>,
) {
    let mut tries = Tries::of(Store::Clickhouse);
    while let Err(error) = prepare_clickhouse(app, clocks).await {
        tries.failed(app, &error).await;
    }
    // After a panic of this task it runs already.
    while pipeline.lock().is_none() {
        match Pipeline::start(spool, options.clone()) {
            Ok(started) => *pipeline.lock() = Some(started),
            Err(error) => {
                let error = anyhow::Error::new(error).context("the ClickHouse writer cannot start");
                tries.failed(app, &error).await;
            }
        }
    }
    app.readiness().set(Store::Clickhouse, Condition::Ready);
}

async fn prepare_postgres(app: &App, demo: Option<&Demo>) -> anyhow::Result<()> {
    web::db::migrate(app.db()).await?;
    if let Some(demo) = demo {
        demo.make_on_first_start(app).await?;
    }
    Ok(())
}

async fn prepare_clickhouse(app: &App, clocks: Clocks) -> anyhow::Result<()> {
    app.analytics().migrate().await?;
    clocks.follow(app).await?;
    seed_window(app).await
}

/// Repeats of events that the server stamped before this start take the first one's time.
async fn seed_window(app: &App) -> anyhow::Result<()> {
    let since_ms = app.clock().now().millis() - WINDOW_DAYS * DAY_MS;
    let limit = u32::try_from(app.intake().window_entries_max()).unwrap_or(u32::MAX);
    let recent = events::recent_client_ids(app.analytics(), since_ms, limit).await?;
    tracing::info!(ids = recent.len(), "recent event ids remembered");
    for id in recent {
        let key = EventKey {
            workspace_id: id.workspace,
            event_name: &id.event_name,
            event_id: &id.event_id,
        };
        app.intake().remember(key, id.timestamp_ms);
    }
    Ok(())
}

fn down(reason: &str) -> Condition {
    Condition::Down(reason.to_owned())
}

/// Failed tries to bring a store up.
#[derive(Debug)]
struct Tries {
    store: Store,
    said: String,
}

impl Tries {
    fn of(store: Store) -> Self {
        Self { store, said: String::new() }
    }

    /// Notes a failure and waits for the next try. A reason is logged once, not every half second.
    async fn failed(&mut self, app: &App, error: &anyhow::Error) {
        app.readiness().set(self.store, down("not reachable or not migrated"));
        let reason = format!("{error:#}");
        if reason != self.said {
            tracing::warn!(store = ?self.store, %reason, "a store cannot be used yet, trying on");
            self.said = reason;
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

async fn watch_postgres(app: &App, heartbeat: &Heartbeat) {
    let mut pinger = Pinger::of(app.db());
    let mut watched = Watched::of(Store::Postgres);
    loop {
        heartbeat.beat();
        let seen = match timeout(LOOK_MAX, pinger.ping()).await {
            Ok(Ok(Pinged::Writable)) => Seen::Ready,
            Ok(Ok(Pinged::ReadOnly)) => Seen::Down("read-only"),
            Ok(Err(_)) => Seen::Down("not reachable"),
            Err(_) => Seen::Silent,
        };
        watched.note(app, seen);
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

async fn watch_clickhouse(app: &App, heartbeat: &Heartbeat) {
    let mut watched = Watched::of(Store::Clickhouse);
    loop {
        heartbeat.beat();
        let seen = match timeout(LOOK_MAX, app.analytics().ping()).await {
            Ok(Ok(())) => Seen::Ready,
            Ok(Err(_)) => Seen::Down("not reachable"),
            // It is busy, and answers others.
            Err(_) if app.analytics().since_answer().is_some_and(|age| age < LOOK_MAX) => {
                Seen::Ready
            }
            Err(_) => Seen::Silent,
        };
        watched.note(app, seen);
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

/// What one look at a store showed.
#[derive(Debug, Clone, Copy)]
enum Seen {
    Ready,
    Down(&'static str),
    /// No answer within [`LOOK_MAX`].
    Silent,
}

/// A store that is being watched.
#[derive(Debug)]
struct Watched {
    store: Store,
    /// Looks in a row without an answer.
    silent: u32,
}

impl Watched {
    fn of(store: Store) -> Self {
        Self { store, silent: 0 }
    }

    /// Notes what a look showed. One look without an answer may be a machine that is busy.
    fn note(&mut self, app: &App, seen: Seen) {
        self.silent = if matches!(seen, Seen::Silent) { self.silent + 1 } else { 0 };
        let condition = match seen {
            Seen::Ready => Condition::Ready,
            Seen::Down(reason) => down(reason),
            Seen::Silent if self.silent < SILENT_LOOKS_MAX => return,
            Seen::Silent => down("does not answer"),
        };
        app.readiness().set(self.store, condition);
    }
}

//! Brings the stores up while the server already answers: connect, migrate, start the writer.

use std::{sync::Arc, time::Duration};

use analytics::{AnalyticsError, events};
use config::Settings;
use engines::DataDir;
use ingest::{
    pipeline::dead_letters,
    pipeline::{LandedKeysOptions, Limits, Pipeline, PipelineOptions},
    spool::Spool,
    window::EventKey,
};
use kernel::time::DAY;
use parking_lot::Mutex;
use retention::RetentionOptions;
use supervisor::Heartbeat;
use tokio::{task::JoinSet, time::timeout};
use web::{
    db::{
        Pinged, Pinger,
        master_key::{self, MasterKey},
    },
    http::health::{Condition, Store},
    workspaces::DataDays,
};

use super::{arrivals::Clocks, welcome::Demo};
use crate::app::App;

/// Pause between two attempts to reach a store.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Interval of checks of a store that was ready.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Timeout of a check.
const CHECK_MAX: Duration = Duration::from_secs(1);
/// Consecutive checks without an answer after which a store counts as down: a frozen one within 3 s.
const SILENT_CHECKS_MAX: u32 = 2;
/// How long a watching task may go without a heartbeat before it counts as hung.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Interval of questions whether each event is stored once.
const UNIQUENESS_INTERVAL: Duration = Duration::from_secs(1);
/// Pause after a collapse of repeats that failed.
const COLLAPSE_RETRY_PAUSE: Duration = Duration::from_secs(10);
/// Days for which server-stamped event ids are remembered to refuse duplicates.
const WINDOW_DAYS: u32 = 7;

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
        // Others may write into an external ClickHouse.
        landed_keys: settings.clickhouse_url.is_none().then(|| LandedKeysOptions {
            dir: data_dir.landed_keys(),
            lengths_file: data_dir.spool().join("landed-keys.lengths"),
            memory_max_bytes: settings.ingest.landed_keys_bytes,
        }),
        limits: Limits {
            rows_max: settings.ingest.batch_rows,
            linger: Duration::from_millis(settings.ingest.linger_ms),
            ..Limits::default()
        },
        now_ms: Arc::new(move || clock.now().millis().unsigned_abs()),
        workers: app.readiness().workers().clone(),
    }
}

pub(super) fn retention_options(settings: &Settings) -> RetentionOptions {
    let retention = settings.retention;
    RetentionOptions {
        days: DataDays {
            events: retention.events_days,
            message_events: retention.message_events_days,
            deleted_profiles: retention.deleted_profiles_days,
        },
        every: Duration::from_mins(retention.every_minutes.into()),
    }
}

impl Stores {
    /// Brings both stores up, each as soon as it is reachable, then monitors each: one task a store, so that
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

/// Proves that each event is stored once, so that questions need no `FINAL`; for the only writer of a ClickHouse.
pub(super) fn prove_uniqueness(
    app: &App,
    pipeline: &Arc<Mutex<Option<Pipeline>>>,
    tasks: &mut JoinSet<()>,
) {
    let (app, pipeline) = (app.clone(), Arc::clone(pipeline));
    let worker = app.readiness().workers().register("uniqueness", SILENCE_MAX);
    tasks.spawn(worker.run(move |heartbeat| {
        let (app, pipeline) = (app.clone(), Arc::clone(&pipeline));
        async move {
            // Rows are compared with others from now on.
            while pipeline.lock().is_none() {
                heartbeat.beat();
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            while let Err(error) = heartbeat.waiting(app.analytics().find_repeats_possible()).await
            {
                tracing::warn!(%error, "months with repeats were not looked for, trying again");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            loop {
                let pause = match heartbeat.waiting(collapse_next(&app)).await {
                    Ok(()) => UNIQUENESS_INTERVAL,
                    Err(error) => {
                        tracing::warn!(%error, "repeats were not collapsed, trying again");
                        COLLAPSE_RETRY_PAUSE
                    }
                };
                heartbeat.waiting(tokio::time::sleep(pause)).await;
            }
        }
    }));
}

/// Asks where repeats are possible, and collapses the newest such month. While dead letters are retried, the months that
/// were marked for them are left: their rows are still to come.
async fn collapse_next(app: &App) -> kernel::Result<()> {
    let analytics = app.analytics();
    let months = analytics.refresh_uniqueness().await?;
    #[expect(clippy::cast_precision_loss, reason = "few months")]
    metrics_catalogue::CLICKHOUSE_MONTHS_NOT_UNIQUE.set(months.len() as f64);
    let Some(month) = months.last() else { return Ok(()) };
    // Asked after the months: a mark that was read was made by a retry that has the lock, or has ended.
    if dead_letters::is_retrying(app.dead_letters_dir()).map_err(kernel::Error::internal)? {
        return Ok(());
    }
    let began = std::time::Instant::now();
    analytics.collapse(*month).await?;
    let (left, seconds) = (months.len() - 1, began.elapsed().as_secs_f64());
    tracing::info!(month = month.month, left, seconds, "repeats of a month were collapsed");
    Ok(())
}

/// Refuses an unsupported ClickHouse cluster. If it cannot be checked now, it is checked again before the
/// first insert.
pub(super) async fn check_cluster(app: &App) -> anyhow::Result<()> {
    match app.analytics().check_cluster().await {
        Err(error @ AnalyticsError::Schema(_)) => Err(error.into()),
        Err(error) => {
            tracing::warn!(%error, "ClickHouse's cluster cannot be checked yet");
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
    compare_master_key(app).await?;
    if let Some(demo) = demo {
        demo.make_on_first_start(app).await?;
    }
    Ok(())
}

/// A foreign key is no reason to refuse events: what other nodes sealed fails where it is used.
async fn compare_master_key(app: &App) -> anyhow::Result<()> {
    let value = app.campaigns().vault().check_value();
    if master_key::record(app.db(), &value).await? == MasterKey::Foreign {
        tracing::error!(
            "security.master_key differs from that of the other nodes: secrets that they sealed cannot be opened here"
        );
    }
    Ok(())
}

async fn prepare_clickhouse(app: &App, clocks: Clocks) -> anyhow::Result<()> {
    app.analytics().migrate().await?;
    clocks.follow(app).await?;
    seed_window(app).await
}

/// Repeats of events that the server stamped before this start get the first one's time.
async fn seed_window(app: &App) -> anyhow::Result<()> {
    let since_ms = app.clock().now().before(DAY * WINDOW_DAYS).millis();
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

/// Failed attempts to bring a store up.
#[derive(Debug)]
struct Tries {
    store: Store,
    last_reason: String,
}

impl Tries {
    fn of(store: Store) -> Self {
        Self { store, last_reason: String::new() }
    }

    /// Records a failure and waits for the next attempt. A reason is logged once, not every half second.
    async fn failed(&mut self, app: &App, error: &anyhow::Error) {
        app.readiness().set(self.store, down("not reachable or not migrated"));
        let reason = format!("{error:#}");
        if reason != self.last_reason {
            tracing::warn!(store = ?self.store, %reason, "a store is not usable yet, will retry");
            self.last_reason = reason;
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

async fn watch_postgres(app: &App, heartbeat: &Heartbeat) {
    let mut pinger = Pinger::of(app.db());
    let mut watched = Watched::of(Store::Postgres);
    loop {
        heartbeat.beat();
        let seen = match timeout(CHECK_MAX, pinger.ping()).await {
            Ok(Ok(Pinged::Writable)) => Seen::Ready,
            Ok(Ok(Pinged::ReadOnly)) => Seen::Down("read-only"),
            Ok(Err(_)) => Seen::Down("not reachable"),
            Err(_) => Seen::Silent,
        };
        watched.note(app, seen);
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

async fn watch_clickhouse(app: &App, heartbeat: &Heartbeat) {
    let mut watched = Watched::of(Store::Clickhouse);
    loop {
        heartbeat.beat();
        let seen = match timeout(CHECK_MAX, app.analytics().ping()).await {
            Ok(Ok(())) => Seen::Ready,
            Ok(Err(_)) => Seen::Down("not reachable"),
            // It is busy, and answers others.
            Err(_) if app.analytics().since_answer().is_some_and(|age| age < CHECK_MAX) => {
                Seen::Ready
            }
            Err(_) => Seen::Silent,
        };
        watched.note(app, seen);
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// The result of a check.
#[derive(Debug, Clone, Copy)]
enum Seen {
    Ready,
    Down(&'static str),
    /// No answer within [`CHECK_MAX`].
    Silent,
}

/// A store that is monitored.
#[derive(Debug)]
struct Watched {
    store: Store,
    /// Consecutive checks without an answer.
    silent: u32,
}

impl Watched {
    fn of(store: Store) -> Self {
        Self { store, silent: 0 }
    }

    /// Records the result of a check. A single check without an answer may be due to a busy machine.
    fn note(&mut self, app: &App, seen: Seen) {
        self.silent = if matches!(seen, Seen::Silent) { self.silent + 1 } else { 0 };
        let condition = match seen {
            Seen::Ready => Condition::Ready,
            Seen::Down(reason) => down(reason),
            Seen::Silent if self.silent < SILENT_CHECKS_MAX => return,
            Seen::Silent => down("does not answer"),
        };
        app.readiness().set(self.store, condition);
    }
}

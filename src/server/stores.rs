//! Brings the stores up behind a server that already answers: connect, migrate, start the writer.

use std::{sync::Arc, time::Duration};

use analytics::{AnalyticsError, events};
use ingest::{
    pipeline::{Limits, Pipeline, PipelineOptions},
    spool::Spool,
    window::EventKey,
};
use parking_lot::Mutex;

use super::{arrivals::Clocks, welcome::Demo};
use crate::{
    app::App,
    config::Settings,
    engines::DataDir,
    http::health::{Condition, Store},
};

/// Pause between two tries to reach a store.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// How often a store that was ready is looked at again.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
/// Days of server-stamped ids that the door remembers (DECISIONS E2).
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
    }
}

impl Stores {
    /// Brings both stores up, each as soon as it can be reached, then keeps an eye on them.
    pub(super) async fn bring_up(self) {
        let Self { app, spool, pipeline, pipeline_options, clocks, demo } = self;
        tokio::join!(
            bring_up_postgres(&app, demo),
            bring_up_clickhouse(&app, clocks, &spool, pipeline_options, &pipeline),
        );
        watch(&app).await;
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

async fn bring_up_postgres(app: &App, demo: Option<Demo>) {
    let mut tries = Tries::of(Store::Postgres);
    while let Err(error) = prepare_postgres(app, demo.as_ref()).await {
        tries.failed(app, &error).await;
    }
    app.readiness().set(Store::Postgres, Condition::Ready);
}

async fn bring_up_clickhouse(
    app: &App,
    clocks: Clocks,
    spool: &Spool,
    options: PipelineOptions,
    pipeline: &Mutex<Option<Pipeline>>,
) {
    let mut tries = Tries::of(Store::Clickhouse);
    while let Err(error) = prepare_clickhouse(app, clocks).await {
        tries.failed(app, &error).await;
    }
    match Pipeline::start(spool, options) {
        Ok(started) => {
            *pipeline.lock() = Some(started);
            app.readiness().set(Store::Clickhouse, Condition::Ready);
        }
        Err(error) => {
            tracing::error!(%error, "the ClickHouse writer cannot start");
            app.readiness().set(Store::Clickhouse, down("the ClickHouse writer cannot start"));
        }
    }
}

async fn prepare_postgres(app: &App, demo: Option<&Demo>) -> anyhow::Result<()> {
    crate::db::migrate(app.db()).await?;
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

async fn watch(app: &App) {
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        let (postgres, clickhouse) =
            tokio::join!(crate::db::ping(app.db()), app.analytics().ping());
        for (store, reachable) in
            [(Store::Postgres, postgres.is_ok()), (Store::Clickhouse, clickhouse.is_ok())]
        {
            let condition = if reachable { Condition::Ready } else { down("not reachable") };
            app.readiness().set(store, condition);
        }
    }
}

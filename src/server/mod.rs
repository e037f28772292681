//! Starts and stops a server.
//!
//! Order of a start: lock the data directory, open the spool, bind the ports, start the embedded engines,
//! answer. Schemas are migrated in the background ([`stores`]): a server with unreachable external stores
//! still runs, reports that on `/readyz`, and keeps acknowledged events in the spool.

mod arrivals;
mod collector;
mod limits;
mod merges;
mod open_files;
mod openid;
mod ports;
mod stores;

mod welcome;

use std::{net::SocketAddr, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use analytics::Analytics;
use anyhow::Context as _;
use callbacks::{CallbackSources, CallbackState};
use campaigns::{CampaignParts, CampaignState, due_signal::DueSignal};
use config::{Role, Settings, SqlListen};
use contacts::{ContactState, events::ops::rejected, users::ops::phone_numbers};
use content::spam::Spamd;
use delivery::{DeliveryParts, DeliveryState, ops::worker, triggers::Triggers};
use engines::{DataDir, DataDirLock, EngineOptions, Engines, vault::Vault};
use identity::{IdentityState, ops::mirror};
use ingest::{
    intake::{self, Intake, IntakeOptions},
    pipeline::{self, Pipeline},
    record::Sequence,
    spool::Spool,
};
use insights::ops::InsightState;
use kernel::Clock;
use parking_lot::Mutex;
use people_mirror::ops::MirrorStores;
use privacy::{PrivacyParts, PrivacyState, erasures_file::ErasuresFile};
use providers::{Providers, sender_setup};
use recipient_pages::{PageState, tracking::StoredRate};
use sdk::{
    Origins, SdkParts, SdkState,
    ops::{LiveCampaigns, UserTokens},
    profile_calls::ProfileCalls,
};
use sender_domains::{SenderDomainState, dns::Dns};
use sql_listener::SqlState;
use supervisor::{Heartbeat, Panicked, Workers};
use suppressions::ops::census;
use tokio::{
    net::TcpListener,
    sync::watch,
    task::{JoinHandle, JoinSet},
};
use web::{
    ServiceParts, Services,
    auth::{Auth, Tolerance, sessions::Sessions},
    countries::Countries,
    db::{self, StatementLimits},
    http::{
        self, BodyBudget, ServeOptions, TrustedProxies,
        health::{KEY_WATCH, Readiness},
    },
    links::Links,
    telemetry::recorder::{Recorder, UPKEEP_INTERVAL},
};

use self::{
    arrivals::Clocks,
    limits::{body_limits, look_up_limit, rate_limits, read_limits, spool_options},
    ports::{Listener, Ports, serve_options},
};
pub(crate) use self::{
    limits::SPOOL_RESERVE_BYTES,
    open_files::{CONNECTIONS_MIN, OTHER_FILES},
};
use crate::{
    app::{App, SqlListener},
    router, shutdown,
};

/// How long a task may go without a heartbeat before it counts as hung.
const TASK_SILENCE_MAX: Duration = Duration::from_mins(1);

const READY_LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Options that only tests change.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The program to run again for the engines.
    pub executable: PathBuf,
    pub clock: Clock,
    /// Whether a first start creates a workspace and prints its key. Shared logs must not contain it.
    pub show_key: bool,
}

impl ServerOptions {
    /// The current program, the system's clock, and no key displayed.
    pub fn of_process() -> anyhow::Result<Self> {
        let executable = std::env::current_exe().context("cannot find this program's own file")?;
        Ok(Self { executable, clock: Clock::system(), show_key: false })
    }
}

#[derive(Debug)]
pub struct Server {
    app: App,
    api: SocketAddr,
    admin: SocketAddr,
    sql: Option<SocketAddr>,
    spool: Spool,
    pipeline: Arc<Mutex<Option<Pipeline>>>,
    triggers: Option<Triggers>,
    profile_calls: Option<ProfileCalls>,
    engines: Engines,
    stopping: watch::Sender<bool>,
    listeners: Vec<JoinHandle<Result<http::Drained, Panicked>>>,
    /// The sending tasks, if this process sends.
    senders: Option<JoinHandle<()>>,
    background: JoinSet<()>,
    mail: Option<SocketAddr>,
    _lock: DataDirLock,
}

/// Runs the service until a signal stops it; `show_key` as in [`ServerOptions`].
///
/// # Errors
/// If it cannot start, in one line with a remedy.
pub async fn serve(settings: Settings, show_key: bool) -> anyhow::Result<()> {
    for notice in &settings.notices {
        tracing::warn!("{notice}");
    }
    let has_api = settings.has_role(Role::Api);
    let mut stop = pin!(shutdown::signalled());
    let options = ServerOptions { show_key, ..ServerOptions::of_process()? };
    let traces = collector::start(&settings)?;
    let server = tokio::select! {
        started = Server::start(settings, options) => started?,
        // Nothing was accepted yet; the engines watch this process and end with it.
        signal = &mut stop => {
            tracing::info!(signal = signal?, "stopped while starting");
            return Ok(());
        }
    };
    let signal = tokio::select! {
        () = server.ready() => {
            welcome::print_ready(&server, has_api);
            stop.await?
        }
        signal = &mut stop => signal?,
    };
    let stopped = server.stop(signal).await;
    if let Some(traces) = traces {
        tokio::task::spawn_blocking(move || traces.stop(collector::STOP_MAX)).await?;
    }
    stopped
}

impl Server {
    /// Starts everything, and returns when the listeners answer; see [`Server::ready`] for the stores.
    pub async fn start(settings: Settings, options: ServerOptions) -> anyhow::Result<Self> {
        // Before all counters: one created earlier would not be exported.
        let recorder = Recorder::install()?;
        let data_dir = DataDir::open(&settings.data_dir)?;
        let lock = data_dir.lock().await?;
        let workers = Workers::default();
        let (spool, recovery) = Spool::open_with(spool_options(&settings, &data_dir), &workers)?;
        tracing::info!(?recovery, "spool opened");
        let clocks = Clocks { behind_max_seconds: settings.ingest.clock_behind_max_seconds };
        let last_arrival_number = intake::last_arrival_number(&spool)?;
        let newest_ms = Sequence::time_ms(last_arrival_number);
        clocks.check(options.clock.now(), newest_ms, "the newest event in the spool")?;
        // Before other consumers: records that only triggers have read must be retained for ClickHouse.
        spool.register(pipeline::CONSUMER)?;
        let ports = Ports::bind(&settings)?;
        let engine_options = EngineOptions {
            executable: options.executable.clone(),
            ..EngineOptions::from_settings(&settings)?
        };
        let engines = Engines::start(&engine_options, &data_dir).await?;
        // With port 0 the system chose the port, and links need the real one.
        let settings = Settings { listen: ports.api.local_addr()?, ..settings };
        let app = assemble(
            &settings,
            options.clock,
            &data_dir,
            &engines,
            IngestParts { spool: spool.clone(), workers, recorder },
        )?;
        app.intake().sequence().raise(last_arrival_number);
        stores::check_cluster(&app).await?;
        clocks.follow_at_start(&app).await?;
        let (stopping, _) = watch::channel(false);
        let mut server = Self {
            api: ports.api.local_addr()?,
            admin: ports.admin.local_addr()?,
            sql: ports.sql.as_ref().map(TcpListener::local_addr).transpose()?,
            app,
            spool,
            pipeline: Arc::default(),
            triggers: None,
            profile_calls: None,
            engines,
            stopping,
            listeners: Vec::new(),
            senders: None,
            background: JoinSet::new(),
            mail: None,
            _lock: lock,
        };
        server.listen(ports.api, ports.admin, &settings);
        if let Some(sql) = ports.sql {
            server.listen_sql(sql, &settings);
        }
        server.work_in_background(&settings, &data_dir, options.show_key);
        server.consume(settings.triggers.backlog_bytes)?;
        if let Some(mail) = ports.mail {
            server.mail = Some(mail.local_addr()?);
            let (app, mail) = (server.app.callbacks.clone(), Arc::new(mail));
            server.keep("mail-inbound", move |heartbeat| {
                callbacks::inbound::serve(app.clone(), Arc::clone(&mail), heartbeat)
            });
        }
        Ok(server)
    }

    pub fn api_address(&self) -> SocketAddr {
        self.api
    }

    pub fn admin_address(&self) -> SocketAddr {
        self.admin
    }

    /// Where tools may ask in SQL, if they may.
    pub fn sql_address(&self) -> Option<SocketAddr> {
        self.sql
    }

    /// Where bounces are accepted, if they are.
    pub fn mail_address(&self) -> Option<SocketAddr> {
        self.mail
    }

    pub fn app(&self) -> &App {
        &self.app
    }

    /// Waits until both stores are reachable and migrated.
    pub async fn ready(&self) {
        let mut look = tokio::time::interval(READY_LOOK_INTERVAL);
        while self.app.readiness().check().is_err() {
            look.tick().await;
        }
    }

    fn listen(&mut self, api: TcpListener, admin: TcpListener, settings: &Settings) {
        let front = if settings.has_role(Role::Api) { router::api } else { router::health };
        let routers = [
            ("listener-api", api, front(&self.app)),
            ("listener-admin", admin, router::admin(&self.app)),
        ];
        for (name, socket, router) in routers {
            let options = serve_options(&settings.http);
            self.answer(name, Listener { socket, router, options });
        }
    }

    /// Answers callers who ask in SQL.
    fn listen_sql(&mut self, socket: TcpListener, settings: &Settings) {
        let Some(SqlListener { state, .. }) = self.app.sql.clone() else { return };
        let options = ServeOptions {
            connections_max: open_files::connections(settings.sql.connections_max),
            ..serve_options(&settings.http)
        };
        let router = sql_listener::router(state.clone());
        self.answer("listener-sql", Listener { socket, router, options });
        self.keep("sql-views", move |heartbeat| state.clone().prepare(heartbeat));
    }

    fn answer(&mut self, name: &'static str, listener: Listener) {
        let Listener { socket, router, options } = listener;
        let front = http::front(router, self.app.clock().clone());
        let stop = stopped(self.stopping.subscribe());
        let serve = http::serve(socket, front, options, stop);
        // A listener is not restarted, since its socket is gone, but its end is reported. An idle
        // listener does not count as hung.
        let heartbeat = self.app.readiness().workers().register(name, Duration::MAX);
        self.listeners.push(tokio::spawn(async move {
            let drained = heartbeat.attempt_async(serve).await?;
            heartbeat.ended();
            Ok(drained)
        }));
    }

    /// Starts the consumers of the spool beside the pipeline into ClickHouse.
    fn consume(&mut self, triggers_backlog_bytes: u64) -> anyhow::Result<()> {
        let profile_calls = ProfileCalls::start(self.app.services().clone(), &self.spool)?;
        let progress = profile_calls.progress();
        self.profile_calls = Some(profile_calls);
        let delivery = self.app.delivery.clone();
        let triggers = Triggers::start(delivery, &self.spool, progress, triggers_backlog_bytes)?;
        self.triggers = Some(triggers);
        Ok(())
    }

    fn work_in_background(&mut self, settings: &Settings, data_dir: &DataDir, show_key: bool) {
        let stores = stores::Stores {
            app: self.app.clone(),
            spool: self.spool.clone(),
            pipeline: Arc::clone(&self.pipeline),
            pipeline_options: stores::pipeline_options(settings, data_dir, &self.app),
            clocks: Clocks { behind_max_seconds: settings.ingest.clock_behind_max_seconds },
            demo: settings.database_url.is_none().then(|| welcome::Demo::at(self.api, show_key)),
        };
        if stores.pipeline_options.landed_keys.is_some() {
            stores::prove_uniqueness(&self.app, &self.pipeline, &mut self.background);
        }
        stores.watch(&mut self.background);
        let (app, stopping) = (self.app.clone(), self.stopping.clone());
        self.keep(KEY_WATCH, move |heartbeat| {
            app.auth().clone().watch(heartbeat, stopped(stopping.subscribe()))
        });
        let app = self.app.clone();
        self.keep("suppression-census", move |heartbeat| {
            census::watch(app.db().clone(), heartbeat)
        });
        let app = self.app.clone();
        self.keep("phone-numbers", move |heartbeat| {
            phone_numbers::watch(app.services().clone(), heartbeat)
        });
        self.copy_and_erase();
        let app = self.app.clone();
        self.keep("rejected-events", move |heartbeat| {
            rejected::watch(app.services().clone(), heartbeat)
        });
        let (app, options) = (self.app.clone(), stores::retention_options(settings));
        self.keep("retention", move |heartbeat| {
            retention::watch(app.services().clone(), options, heartbeat)
        });
        let app = self.app.clone();
        self.keep("clock-watch", move |heartbeat| arrivals::watch(app.clone(), heartbeat));
        let app = self.app.clone();
        self.keep("clickhouse-parts", move |heartbeat| {
            merges::watch(app.analytics().clone(), heartbeat)
        });
        if settings.has_role(Role::Delivery) {
            let app = self.app.clone();
            self.keep("campaigns-due", move |heartbeat| {
                campaigns::ops::due::watch(app.campaigns().clone(), heartbeat)
            });
            let senders = worker::run(self.app.delivery.clone(), self.stopping.subscribe());
            self.senders = Some(tokio::spawn(senders));
            let app = self.app.clone();
            self.keep("feedback-forget", move |heartbeat| {
                delivery::ops::feedback::watch(app.delivery.clone(), heartbeat)
            });
        }
        let recorder = self.app.recorder().clone();
        self.keep("metrics-upkeep", move |heartbeat| {
            let recorder = recorder.clone();
            async move {
                let mut tick = tokio::time::interval(UPKEEP_INTERVAL);
                loop {
                    tick.tick().await;
                    heartbeat.beat();
                    recorder.upkeep();
                }
            }
        });
    }

    /// Starts what copies identities and people into ClickHouse, and what erases people.
    fn copy_and_erase(&mut self) {
        let app = self.app.clone();
        self.keep("identity-mirror", move |heartbeat| {
            mirror::watch(app.services().clone(), heartbeat)
        });
        let app = self.app.clone();
        self.keep("people-mirror", move |heartbeat| {
            let stores = MirrorStores { db: app.db().clone(), analytics: app.analytics().clone() };
            people_mirror::ops::watch(stores, heartbeat)
        });
        let app = self.app.clone();
        self.keep("privacy", move |heartbeat| privacy::ops::watch(app.privacy.clone(), heartbeat));
        let app = self.app.clone();
        self.keep("privacy-files", move |heartbeat| {
            privacy::ops::watch_files(app.privacy.clone(), heartbeat)
        });
    }

    /// Runs a background task under this name, restarted when it fails.
    fn keep<F>(&mut self, name: &'static str, work: impl FnMut(Heartbeat) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let heartbeat = self.app.readiness().workers().register(name, TASK_SILENCE_MAX);
        self.background.spawn(heartbeat.run(work));
    }

    /// Stops in order: open requests, the pipeline into ClickHouse, the spool, the engines. Rows not inserted
    /// within [`shutdown::LANDING_MAX`] stay in the spool for the next start.
    pub async fn stop(mut self, why: &str) -> anyhow::Result<()> {
        tracing::info!(why, "stopping");
        self.stopping.send_replace(true);
        // Streams of events would never finish by themselves.
        self.app.intake().live().close();
        let sent_by = tokio::time::Instant::now() + shutdown::SENDING_MAX;
        for listener in self.listeners {
            match listener.await.context("a listener failed")? {
                Ok(drained) => tracing::info!(?drained, "listener closed"),
                Err(Panicked { text }) => tracing::error!(panic = text, "a listener had failed"),
            }
        }
        if let Some(mut senders) = self.senders
            && tokio::time::timeout_at(sent_by, &mut senders).await.is_err()
        {
            tracing::warn!("messages are still being sent: their outcome will be unknown");
            senders.abort();
        }
        self.background.shutdown().await;
        let flush = rejected::flush(self.app.services());
        if tokio::time::timeout(shutdown::DISCONNECT_MAX, flush).await.is_err() {
            tracing::warn!("refused events were not stored in time");
        }
        if let Some(triggers) = self.triggers.take() {
            triggers.stop().await;
        }
        if let Some(profile_calls) = self.profile_calls.take() {
            profile_calls.stop().await;
        }
        let pipeline = self.pipeline.lock().take();
        if let Some(pipeline) = pipeline {
            pipeline.stop(shutdown::LANDING_MAX).await;
        }
        self.spool.close().await;
        if tokio::time::timeout(shutdown::DISCONNECT_MAX, self.app.db().close()).await.is_err() {
            tracing::warn!("connections to PostgreSQL are closed forcibly");
        }
        self.engines.stop().await;
        tracing::info!("stopped");
        Ok(())
    }
}

async fn stopped(mut stopping: watch::Receiver<bool>) {
    // An error means that the server is gone, which is a stop as well.
    drop(stopping.wait_for(|stopping| *stopping).await);
}

/// Parts of the ingest that start before the application state.
struct IngestParts {
    spool: Spool,
    workers: Workers,
    recorder: Recorder,
}

fn database(pool: &config::Engines, engines: &Engines, vault: &Vault) -> sqlx::PgPool {
    let wait_max = Duration::from_secs(pool.postgres_wait_seconds);
    let limits = StatementLimits {
        run_max: Duration::from_secs(pool.postgres_statement_seconds),
        lock_max: Duration::from_secs(pool.postgres_lock_seconds),
    };
    let postgres = db::limited(engines.postgres_options(), limits);
    let postgres = db::with_privacy_key(postgres, &vault.privacy_key());
    db::connect(postgres, pool.postgres_connections, wait_max)
}

fn assemble(
    settings: &Settings,
    clock: Clock,
    data_dir: &DataDir,
    engines: &Engines,
    ingest: IngestParts,
) -> anyhow::Result<App> {
    let IngestParts { spool, workers, recorder } = ingest;
    let vault = Vault::from_settings(settings, data_dir)?;
    let db = database(&settings.engines, engines, &vault);
    let sessions = sessions(settings, data_dir)?;
    let providers = Providers::from_settings(settings, vault.clone(), clock.clone())?;
    let user_tokens = UserTokens::new(db.clone(), vault.clone(), clock.clone());
    let privacy_spool = spool.clone();
    let services = Services::new(ServiceParts {
        auth: Auth::new(
            db.clone(),
            clock.clone(),
            sessions,
            tolerance(&settings.auth),
            look_up_limit(settings),
        ),
        analytics: Analytics::connect(&engines.clickhouse().for_analytics())?
            .with_limits(read_limits(settings)),
        readiness: Readiness::new().of(spool.clone(), workers),
        intake: intake(settings, spool),
        body_budget: BodyBudget::new(body_limits(&settings.http)),
        rate_limits: rate_limits(&settings.rate_limits),
        trusted_proxies: TrustedProxies::new(&settings.http.trusted_proxies),
        links: Links::new(db.clone(), settings.public_url()),
        console_url: (settings.console == config::Console::On).then(|| settings.public_url()),
        sdk_trusted_events: settings.sdk.trusted_events.iter().cloned().collect(),
        countries: Countries::new(settings.phone_numbers.country),
        data_days: stores::retention_options(settings).days,
        dead_letters_dir: data_dir.dead_letters(),
        is_only_writer: settings.clickhouse_url.is_none(),
        recorder,
        clock,
        db,
    });
    let dns = Dns::at(settings.security.resolver);
    let campaigns = CampaignState::new(CampaignParts {
        contacts: ContactState::new(services.clone()),
        sender_domains: SenderDomainState::new(services, sender_setup(settings)?, dns),
        spamd: settings.spam.spamd.as_deref().map(Spamd::at),
        due_signal: DueSignal::default(),
        delivery: settings.delivery.clone(),
        enabled_channels: settings.channels.set(),
        vault,
    });
    let delivery = DeliveryState::new(DeliveryParts {
        campaigns,
        providers,
        transactional: settings.transactional,
        retention: settings.retention,
        callbacks: settings.callbacks.clone(),
    });
    let stored = StoredRate::new(settings.limits.message_engagements_per_minute);
    Ok(App {
        callbacks: CallbackState::new(delivery.clone(), CallbackSources::from_settings(settings)?),
        pages: PageState::new(delivery.clone(), stored),
        insights: InsightState::new(delivery.contacts().clone()),
        identity: IdentityState::new(Services::clone(&delivery)),
        sql: sql_listener(settings, &delivery),
        privacy: privacy(data_dir, privacy_spool, &delivery),
        console: openid::console(settings, delivery.clock())?,
        sdk: SdkState::new(SdkParts {
            delivery: delivery.clone(),
            in_app: LiveCampaigns::default(),
            origins: Origins::new(&settings.sdk.allowed_origins),
            identity: settings.sdk.identity,
            user_tokens,
        }),
        delivery,
    })
}

fn intake(settings: &Settings, spool: Spool) -> Intake {
    let window_entries = settings.ingest.window_entries;
    Intake::new(spool, IntakeOptions { window_entries, last_arrival_number: 0 })
}

fn sessions(settings: &Settings, data_dir: &DataDir) -> anyhow::Result<Sessions> {
    Ok(match &settings.auth.session_secret {
        Some(secret) => Sessions::from_secret(secret)?,
        None => Sessions::from_data_dir(data_dir.path())?,
    })
}

/// How long keys are taken without PostgreSQL.
fn tolerance(settings: &config::Auth) -> Tolerance {
    Tolerance {
        tracking: Duration::from_secs(settings.unconfirmed_tracking_seconds),
        otherwise: Duration::from_secs(settings.unconfirmed_seconds),
    }
}

fn privacy(data_dir: &DataDir, spool: Spool, services: &Services) -> PrivacyState {
    PrivacyState::new(PrivacyParts {
        services: services.clone(),
        spool,
        erasures: ErasuresFile::of(data_dir.path()),
    })
}

/// The state of the listener for SQL, where it is on.
fn sql_listener(settings: &Settings, services: &Services) -> Option<SqlListener> {
    let SqlListen::At(address) = settings.sql_listen else { return None };
    let is_embedded = settings.clickhouse_url.is_none();
    let state = SqlState::new(services.clone(), &settings.sql, is_embedded);
    Some(SqlListener { state, port: address.port() })
}

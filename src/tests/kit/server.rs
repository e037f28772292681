//! One server for all tests of this process, in a temporary folder.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, mpsc},
};

use config::{Flags, Settings, SqlListen};
use kernel::{Clock, WorkspaceId};
use millrace::{
    app::App,
    server::{Server, ServerOptions},
};
use providers::Registry;
use secrecy::ExposeSecret as _;
use sqlx::PgPool;
use tokio::sync::oneshot;
use web::auth::{
    KeyKind, ScopeSet,
    keys::{self, NewKey},
};

use super::{client::Client, prepared, unique};
use crate::callbacks;

/// The program under test, which also runs the engines.
pub(crate) const MILLRACE: &str = env!("CARGO_BIN_EXE_millrace");

#[derive(Debug)]
pub(crate) struct TestServer {
    pub(crate) url: String,
    pub(crate) admin_url: String,
    pub(crate) sql_url: String,
    /// Where mail that comes back is taken, if it is.
    pub(crate) mail: Option<std::net::SocketAddr>,
    pub(crate) data_dir: PathBuf,
    /// Runs what must outlive a single test: the server and its database pool.
    runtime: tokio::runtime::Handle,
    db: PgPool,
    app: App,
    /// Stops the server when it is dropped.
    _running: oneshot::Sender<()>,
}

/// A folder for the data of a server of this process. Folders that processes left behind are removed.
pub(crate) fn data_dir(name: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_TARGET_TMPDIR")).join("servers");
    std::fs::create_dir_all(&tests).unwrap();
    for entry in std::fs::read_dir(&tests).unwrap().flatten() {
        let owner = entry.file_name().to_string_lossy().split('-').next().map(str::to_owned);
        let alive = owner.is_some_and(|pid| Path::new("/proc").join(pid).exists());
        if !alive {
            // Another test process may be removing it too.
            drop(std::fs::remove_dir_all(entry.path()));
        }
    }
    tests.join(format!("{}-{name}", std::process::id()))
}

/// Settings of a server on free ports, with its data in `data_dir`, and these besides by their dotted keys.
pub(crate) fn settings(data_dir: &Path, besides: &[(&'static str, String)]) -> Settings {
    let values = besides.iter().map(|(key, value)| ("--set", *key, value.clone())).collect();
    let mut settings = Settings::load(&Flags { values, ..Flags::default() }, &Registry).unwrap();
    settings.listen = "127.0.0.1:0".parse().unwrap();
    settings.admin_listen = "127.0.0.1:0".parse().unwrap();
    if !besides.iter().any(|(key, _)| *key == "sql_listen") {
        settings.sql_listen = SqlListen::Off;
    }
    data_dir.clone_into(&mut settings.data_dir);
    // Only what is away answers 503, not what a busy machine keeps waiting.
    settings.engines.postgres_wait_seconds = 60;
    // All tests are one peer, and wait for things by asking again.
    if !besides.iter().any(|(key, _)| key.starts_with("rate_limits.sdk_peer")) {
        settings.rate_limits.sdk_peer.per_second = 0;
    }
    if !besides.iter().any(|(key, _)| key.starts_with("rate_limits.failed_lookups")) {
        settings.rate_limits.failed_lookups.per_second = 0;
    }
    settings.engines.postgres_statement_seconds = 120;
    settings.engines.postgres_lock_seconds = 120;
    settings.engines.clickhouse_query_seconds = 120;
    settings.database_url = None;
    settings.clickhouse_url = None;
    settings
}

/// The server all tests share; started by the first that asks, stopped with the process.
pub(crate) fn server() -> &'static TestServer {
    &SERVER
}

static SERVER: LazyLock<Arc<TestServer>> = LazyLock::new(|| Arc::new(start()));

fn start() -> TestServer {
    let mut settings = settings(&data_dir("shared"), &[]);
    settings.sql_listen = SqlListen::At("127.0.0.1:0".parse().unwrap());
    callbacks::fixture::configure_callbacks(&mut settings);
    run(settings, Clock::system())
}

/// Starts a server in this process. It stops with what is returned, at the latest with the process: the engines watch
/// their parent.
#[must_use]
pub(crate) fn run(settings: Settings, clock: Clock) -> TestServer {
    let (send, receive) = mpsc::sync_channel(1);
    let (running, dropped) = oneshot::channel();
    let makes_stores = settings.database_url.is_none() && settings.clickhouse_url.is_none();
    if makes_stores && settings.security.master_key.is_none() {
        prepared::copy_to(&settings.data_dir);
    }
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            web::telemetry::logs::start();
            let data_dir = settings.data_dir.clone();
            let options = ServerOptions { executable: MILLRACE.into(), clock, show_key: false };
            let server = Server::start(settings, options).await.unwrap();
            server.ready().await;
            let started = TestServer {
                url: format!("http://{}", server.api_address()),
                admin_url: format!("http://{}", server.admin_address()),
                sql_url: server.sql_address().map_or_else(String::new, |it| format!("http://{it}")),
                mail: server.mail_address(),
                data_dir,
                runtime: tokio::runtime::Handle::current(),
                db: server.app().db().clone(),
                app: server.app().clone(),
                _running: running,
            };
            send.send(started).unwrap();
            // Nothing is ever sent.
            drop(dropped.await);
            server.stop("its test is over").await.unwrap();
        });
    });
    receive.recv().expect("the server starts")
}

impl TestServer {
    /// Runs something on the server's own runtime, to which its database pool belongs.
    pub(crate) async fn on<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        self.runtime.spawn(work).await.unwrap()
    }

    /// Likewise, with what its handlers reach, for questions that no endpoint asks. Its connections belong to
    /// that runtime, too: one made on a test's own would die with the test, while others still use it.
    pub(crate) async fn with<T: Send + 'static, W: Future<Output = T> + Send + 'static>(
        &self,
        work: impl FnOnce(App) -> W,
    ) -> T {
        self.on(work(self.app.clone())).await
    }

    pub(crate) fn db(&self) -> PgPool {
        self.db.clone()
    }

    /// A key of the named workspace, which is made when it is new.
    pub(crate) async fn key(&self, workspace: &str, scopes: &str) -> (String, WorkspaceId) {
        let (db, workspace, scopes) =
            (self.db(), workspace.to_owned(), scopes.parse::<ScopeSet>().unwrap());
        self.on(async move {
            let key = NewKey {
                workspace,
                organization: None,
                scopes,
                label: None,
                currency: None,
                country: None,
                kind: KeyKind::Api,
            };
            let created = keys::create(&db, Clock::system().now(), key).await.unwrap();
            (created.token.expose_secret().to_owned(), created.workspace)
        })
        .await
    }
}

/// A fresh workspace, usually on the shared server, with a key for everything.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) name: String,
    pub(crate) id: WorkspaceId,
    pub(crate) api: Client,
    pub(crate) server: Arc<TestServer>,
}

impl Workspace {
    pub(crate) async fn new() -> Self {
        Self::on(&SERVER).await
    }

    /// One on the shared server that was made before.
    pub(crate) fn known(name: String, id: WorkspaceId, api: Client) -> Self {
        Self { name, id, api, server: Arc::clone(&SERVER) }
    }

    /// A new one of another server.
    pub(crate) async fn on(server: &Arc<TestServer>) -> Self {
        let name = unique("workspace");
        let (token, id) = server.key(&name, "*").await;
        Self { id, api: Client::new(&server.url, Some(&token)), name, server: Arc::clone(server) }
    }

    /// Likewise one in the organization of this name.
    pub(crate) async fn in_organization(organization: &str) -> Self {
        let (name, organization) = (unique("workspace"), organization.to_owned());
        let (db, workspace) = (server().db(), name.clone());
        let created = server()
            .on(async move {
                let key = NewKey {
                    workspace,
                    organization: Some(organization),
                    scopes: ScopeSet::all(),
                    label: None,
                    currency: None,
                    country: None,
                    kind: KeyKind::Api,
                };
                keys::create(&db, Clock::system().now(), key).await.unwrap()
            })
            .await;
        let api = Client::new(&server().url, Some(created.token.expose_secret()));
        Self { id: created.workspace, api, name, server: Arc::clone(&SERVER) }
    }

    /// A client of this workspace that holds only these scopes.
    pub(crate) async fn with_scopes(&self, scopes: &str) -> Client {
        let (token, _) = self.server.key(&self.name, scopes).await;
        Client::new(&self.server.url, Some(&token))
    }
}

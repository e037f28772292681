//! Authenticated routes over a database of the test alone, so that it can be damaged.

use std::time::Duration;

use axum::{Json, Router, routing};
use kernel::{Clock, Timestamp};
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool, postgres::PgConnectOptions};
use supervisor::Workers;
use tokio::task::JoinHandle;
use web::{
    auth::{
        Auth, Caller, CallerOrSession, KeyKind, LookUpLimit, ScopeSet, SdkCaller, SdkTracker,
        Tolerance,
        keys::{self, CreatedKey, NewKey},
        scope,
        sessions::Sessions,
    },
    db,
    http::{ServeOptions, bind, front, health::KEY_WATCH, serve},
};

use crate::kit::{server, unique};

/// The secret of session tokens here.
const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// How long a request waits for a connection of a pool here.
const WAIT_MAX: Duration = Duration::from_secs(15);
/// Connections of a pool here; one of them listens.
const CONNECTIONS: u32 = 4;

/// A database of this test alone, at the newest schema.
pub(crate) async fn fresh_database() -> PgConnectOptions {
    let options = server().db().connect_options().as_ref().clone();
    let name = unique("auth").replace('-', "_");
    let mut connection = PgConnection::connect_with(&options).await.unwrap();
    sqlx::query(AssertSqlSafe(format!("create database {name}")))
        .execute(&mut connection)
        .await
        .unwrap();
    let options = options.database(&name);
    db::migrate(&db::connect(options.clone(), 1, WAIT_MAX)).await.unwrap();
    options
}

/// Routes that ask for a credential.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) db: PgPool,
    pub(crate) auth: Auth,
    pub(crate) sessions: Sessions,
    url: String,
    client: reqwest::Client,
}

async fn read(caller: Caller<scope::EventsRead>) -> Json<Value> {
    Json(json!({
        "workspace": caller.workspace(),
        "organization": caller.organization(),
        "currency": caller.currency(),
        "timezone": caller.timezone(),
        "actor": caller.actor(),
    }))
}

async fn person(caller: CallerOrSession<scope::ComplianceRead>) -> Json<Value> {
    Json(json!({ "workspace": caller.workspace(), "actor": caller.actor() }))
}

async fn track(_: Caller<scope::EventsWrite>) -> Json<Value> {
    Json(json!({}))
}

async fn sdk_track(caller: SdkTracker) -> Json<Value> {
    Json(json!({ "workspace": caller.workspace() }))
}

async fn sdk(caller: SdkCaller) -> Json<Value> {
    Json(json!({ "workspace": caller.workspace() }))
}

impl Guard {
    /// Routes whose keys are found by `asked`, and made directly in the database `made`.
    pub(crate) fn over(asked: PgConnectOptions, made: PgConnectOptions) -> Self {
        let tolerance =
            Tolerance { tracking: Duration::from_hours(1), otherwise: Duration::from_mins(5) };
        Self::with_tolerance(asked, made, tolerance)
    }

    /// Likewise, with keys taken so long without being confirmed.
    pub(crate) fn with_tolerance(
        asked: PgConnectOptions,
        made: PgConnectOptions,
        tolerance: Tolerance,
    ) -> Self {
        let pool = db::connect(asked, CONNECTIONS, WAIT_MAX);
        let sessions = Sessions::from_secret(&SecretString::from(SECRET)).unwrap();
        let limit = LookUpLimit::none();
        let auth = Auth::new(pool, Clock::system(), sessions.clone(), tolerance, limit);
        let router = Router::new()
            .route("/read", routing::get(read))
            .route("/person", routing::get(person))
            .route("/sdk", routing::get(sdk))
            .route("/track", routing::get(track))
            .route("/sdk/track", routing::get(sdk_track))
            .with_state(auth.clone());
        let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let front = front(router, Clock::system());
        tokio::spawn(serve(listener, front, ServeOptions::default(), std::future::pending()));
        Self {
            db: db::connect(made, CONNECTIONS, WAIT_MAX),
            auth,
            sessions,
            url,
            client: reqwest::Client::new(),
        }
    }

    /// Routes on a fresh database.
    pub(crate) async fn fresh() -> Self {
        let options = fresh_database().await;
        Self::over(options.clone(), options)
    }

    /// Starts following changes of keys.
    pub(crate) fn watch(&self) -> JoinHandle<()> {
        self.watch_until(std::future::pending())
    }

    /// Follows changes of keys until `shutdown` resolves.
    pub(crate) fn watch_until(
        &self,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<()> {
        let heartbeat = Workers::default().register(KEY_WATCH, Duration::from_mins(1));
        tokio::spawn(self.auth.clone().watch(heartbeat, shutdown))
    }

    pub(crate) async fn create(&self, new: NewKey) -> CreatedKey {
        keys::create(&self.db, now(), new).await.unwrap()
    }

    /// A key and the workspace it opens.
    pub(crate) async fn key(&self, workspace: &str, scopes: &str) -> Issued {
        let created = self.create(new_key(workspace, scopes)).await;
        Issued { text: created.token.expose_secret().to_owned(), created }
    }

    pub(crate) async fn get(&self, path: &str, header: (&str, &str)) -> Answer {
        let request = self.client.get(format!("{}{path}", self.url)).header(header.0, header.1);
        let response = request.timeout(Duration::from_mins(1)).send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, body: response.json().await.unwrap() }
    }

    pub(crate) async fn bearer(&self, path: &str, key: &str) -> Answer {
        self.get(path, ("authorization", &format!("Bearer {key}"))).await
    }

    pub(crate) async fn status(&self, key: &str) -> u16 {
        self.bearer("/read", key).await.status
    }
}

/// A key with its text.
#[derive(Debug)]
pub(crate) struct Issued {
    pub(crate) text: String,
    pub(crate) created: CreatedKey,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn refused(&self, status: u16, message: &str) {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(self.body["message"], message);
        assert_eq!(self.body["statusCode"], status);
    }
}

pub(crate) fn now() -> Timestamp {
    Clock::system().now()
}

pub(crate) fn new_key(workspace: &str, scopes: &str) -> NewKey {
    NewKey {
        workspace: workspace.to_owned(),
        organization: None,
        scopes: scopes.parse::<ScopeSet>().unwrap(),
        label: None,
        currency: None,
        country: None,
        kind: KeyKind::Api,
    }
}

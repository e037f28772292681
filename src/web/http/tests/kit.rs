//! A small application behind a real listener.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Json,
    extract::{FromRef, FromRequestParts, State},
    routing,
};
use http::request::Parts;
use kernel::{
    Clock, Error, Timestamp, WorkspaceId,
    fields::{Fields, FromFields},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::{Notify, oneshot},
    task::JoinHandle,
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    auth::{Auth, Caller, LookUpLimit, Tolerance, scope, sessions::Sessions},
    http::{
        ApiError, ApiResult, Body, BodyBudget, BodyLimits, BodyOwner, Drained, JsonBytes, Path,
        ServeOptions, TrustedProxies, bind, front,
        health::{self, Readiness},
        openapi,
        rate::{self, Rate, RateClass, RateLimit},
        serve,
    },
};

/// Longest anything here may take before a test fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// The time of the test clock.
const NOW: Timestamp = Timestamp::from_millis(1_772_366_400_000);
/// The limit of `/small`, in bytes.
pub(super) const SMALL_BYTES_MAX: usize = 1000;

#[derive(Clone)]
pub(super) struct App {
    pub(super) budget: BodyBudget,
    pub(super) readiness: Readiness,
    pub(super) go: Arc<Notify>,
    /// Notified when `/wait` has begun.
    pub(super) begun: Arc<Notify>,
    auth: Auth,
}

impl FromRef<App> for BodyBudget {
    fn from_ref(app: &App) -> Self {
        app.budget.clone()
    }
}

impl FromRef<App> for TrustedProxies {
    fn from_ref(_: &App) -> Self {
        Self::default()
    }
}

impl FromRef<App> for Readiness {
    fn from_ref(app: &App) -> Self {
        app.readiness.clone()
    }
}

impl FromRef<App> for Auth {
    fn from_ref(app: &App) -> Self {
        app.auth.clone()
    }
}

pub(super) struct Named(String);

impl FromFields for Named {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let named = Self(body.required("name").text(1..=5));
        body.optional("size").integer(0..=9);
        named
    }
}

#[utoipa::path(post, path = "/things", tag = "things", responses((status = 200)))]
async fn create_thing(Body(named): Body<Named>) -> Json<Value> {
    Json(json!({ "name": named.0 }))
}

#[utoipa::path(post, path = "/guarded", tag = "things", responses((status = 200)))]
async fn guarded(_: Caller<scope::EventsWrite>, Body(named): Body<Named>) -> Json<Value> {
    Json(json!({ "name": named.0 }))
}

/// A caller identified by a header alone, because real callers need a database.
struct Counted;

impl<S: Sync> FromRequestParts<S> for Counted {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let who = parts.headers.get("x-who").ok_or(Error::Unauthenticated("Missing API key"))?;
        rate::admit(&parts.extensions, who)?;
        Ok(Self)
    }
}

/// Accepts at most [`METERED_BURST`] requests at once of each caller.
#[utoipa::path(get, path = "/metered", tag = "things", responses((status = 200)))]
async fn metered(_: Counted) -> Json<Value> {
    Json(json!({}))
}

/// Requests that `/metered` accepts at once; one a second returns.
pub(super) const METERED_BURST: u32 = 50;

async fn small(body: JsonBytes<SMALL_BYTES_MAX>) -> Json<Value> {
    Json(json!({ "bytes": body.bytes.len(), "held": body.held.bytes() }))
}

async fn wait(State(app): State<App>) -> &'static str {
    app.begun.notify_one();
    app.go.notified().await;
    "done"
}

async fn panics() -> ApiResult<()> {
    panic!("the secret of the panic")
}

async fn named(Path(id): Path<u32>) -> Json<Value> {
    Json(json!({ "id": id }))
}

async fn foreign(Json(value): Json<Value>) -> Json<Value> {
    Json(value)
}

/// A caller whose workspace is the one byte of `x-workspace`.
struct Owner;

impl<S: Sync> FromRequestParts<S> for Owner {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> ApiResult<Self> {
        let workspace = parts.headers.get("x-workspace");
        let workspace = workspace.ok_or(Error::Unauthenticated("Missing API key"))?;
        let uuid = uuid::Uuid::from_u128(workspace.as_bytes()[0].into());
        parts.extensions.insert(BodyOwner(WorkspaceId::new(uuid)));
        Ok(Self)
    }
}

async fn owned(_: Owner, body: JsonBytes<SMALL_BYTES_MAX>) -> Json<Value> {
    Json(json!({ "bytes": body.bytes.len() }))
}

pub(super) const LARGE_BYTES: usize = 64 << 20;

async fn large() -> Vec<u8> {
    vec![b'x'; LARGE_BYTES]
}

pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) app: App,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<Drained>,
}

pub(super) async fn start() -> Server {
    start_with(BodyBudget::new(BodyLimits::of_bytes(16 << 20)), ServeOptions::default()).await
}

pub(super) async fn start_with(budget: BodyBudget, options: ServeOptions) -> Server {
    let (clock, _) = Clock::fixed(NOW);
    let pool = sqlx::postgres::PgPoolOptions::new()
        .acquire_timeout(Duration::from_millis(200))
        .connect_lazy("postgres://anonymous@127.0.0.1:1/nothing")
        .unwrap();
    let sessions = Sessions::from_secret(&"x".repeat(32).into()).unwrap();
    let app = App {
        budget,
        readiness: Readiness::new(),
        go: Arc::default(),
        begun: Arc::default(),
        auth: Auth::new(
            pool,
            clock.clone(),
            sessions,
            Tolerance { tracking: Duration::from_hours(1), otherwise: Duration::from_mins(5) },
            LookUpLimit::none(),
        ),
    };
    let rate = Rate { per_second: 1, burst: METERED_BURST };
    let limit = RateLimit::new(RateClass::Management, rate);
    let described = OpenApiRouter::<App>::new()
        .routes(routes!(create_thing))
        .routes(routes!(guarded))
        .merge(rate::limited(OpenApiRouter::new().routes(routes!(metered)), &limit))
        .merge(health::router());
    let router = openapi::finish(described)
        .route("/small", routing::post(small))
        .route("/owned", routing::post(owned))
        .route("/wait", routing::get(wait))
        .route("/panics", routing::get(panics))
        .route("/named/{id}", routing::get(named))
        .route("/foreign", routing::post(foreign))
        .route("/large", routing::get(large))
        .with_state(app.clone());
    let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let shutdown = async {
        let _ = stopped.await;
    };
    let served = tokio::spawn(serve(listener, front(router, clock), options, shutdown));
    Server { address, app, stop: Some(stop), served }
}

impl Server {
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn begin_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    pub(super) async fn stopped(self) -> Drained {
        tokio::time::timeout(PATIENCE, self.served).await.expect("drained in time").unwrap()
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A connection from another address of this machine.
    pub(super) async fn connect_from(&self, address: &str) -> TcpStream {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(address.parse().unwrap(), 0)).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    /// Sends raw bytes and reads until the server closes.
    pub(super) async fn raw(&self, request: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request).await.unwrap();
        read_to_end(&mut stream).await
    }

    pub(super) async fn post(&self, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        let mut request = reqwest::Client::new().post(self.url(path)).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::of(request).await
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        Answer::of(reqwest::Client::new().get(self.url(path))).await
    }
}

/// Reads until the server closes; a reset counts as closing.
pub(super) async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    let _ = tokio::time::timeout(PATIENCE, read).await.expect("closed in time");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits until something holds.
pub(super) async fn until(what: &str, holds: impl Fn() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "waited in vain until {what}");
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: http::HeaderMap,
    pub(super) text: String,
}

impl Answer {
    pub(super) async fn of(request: reqwest::RequestBuilder) -> Self {
        let response = request.timeout(PATIENCE).send().await.expect("an answer");
        Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: response.text().await.unwrap(),
        }
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// Asserts the error body, without other fields.
    pub(super) fn refused(&self, status: u16, message: &str, path: &str) -> Value {
        let body = self.json();
        assert_eq!(self.status, status, "{body}");
        assert_eq!(self.headers["content-type"], "application/json");
        assert_eq!(body["statusCode"], status);
        assert_eq!(body["message"], message);
        assert_eq!(body["timestamp"], "2026-03-01T12:00:00.000Z");
        assert_eq!(body["path"], path);
        let fields = if status == 400 { 5 } else { 4 };
        assert_eq!(body.as_object().unwrap().len(), fields, "{body}");
        body
    }
}

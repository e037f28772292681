//! One HTTP round trip against a whole server on its embedded engines: what a caller waits for.

use std::{path::Path, time::Duration};

use config::{Flags, Settings};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kernel::Clock;
use millrace::server::{Server, ServerOptions};
use secrecy::ExposeSecret as _;
use tokio::runtime::Runtime;
use web::auth::{
    KeyKind,
    keys::{self, NewKey},
};

/// Events of the batch that is measured: the most a request may have.
const BATCH: usize = 500;

struct Running {
    server: Server,
    token: String,
}

async fn start(data_dir: &Path) -> Running {
    let mut settings =
        Settings::load(&Flags::default(), &providers::Registry).expect("the defaults are valid");
    settings.listen = ([127, 0, 0, 1], 0).into();
    settings.admin_listen = ([127, 0, 0, 1], 0).into();
    settings.data_dir = data_dir.to_owned();
    settings.database_url = None;
    settings.clickhouse_url = None;
    let executable = env!("CARGO_BIN_EXE_millrace").into();
    let options = ServerOptions { executable, clock: Clock::system(), show_key: false };
    let server = Server::start(settings, options).await.expect("the server starts");
    server.ready().await;
    let key = NewKey {
        workspace: "bench".to_owned(),
        organization: None,
        scopes: "*".parse().expect("a scope"),
        label: None,
        currency: None,
        country: None,
        kind: KeyKind::Api,
    };
    let created = keys::create(server.app().db(), Clock::system().now(), key).await.expect("a key");
    Running { server, token: created.token.expose_secret().to_owned() }
}

fn event(n: usize) -> String {
    format!(
        "{{\"userId\":\"customer-{n}\",\"eventName\":\"Product Viewed\",\"sessionId\":\"s-{n}\",\
         \"properties\":{{\"sku\":\"85123A\",\"price\":2.55,\"country\":\"United Kingdom\"}}}}"
    )
}

/// Plain axum that takes the body and does nothing with it: what a round trip costs at least.
async fn start_bare() -> String {
    let router = axum::Router::new().route(
        "/events/track",
        axum::routing::post(|body: bytes::Bytes| async move { body.len().to_string() }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
    base
}

fn round_trips(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let data_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-http");
    let running = runtime.block_on(start(&data_dir));
    let client = reqwest::Client::new();
    let base = format!("http://{}", running.server.api_address());
    let bare = runtime.block_on(start_bare());
    let post = |base: &str, body: String| {
        let request = client
            .post(format!("{base}/events/track"))
            .bearer_auth(&running.token)
            .header("content-type", "application/json")
            .body(body);
        async move {
            let answer = request.send().await.expect("an answer");
            assert!(answer.status().is_success());
            answer.bytes().await.expect("a body")
        }
    };
    let mut group = criterion.benchmark_group("http");
    group.measurement_time(Duration::from_secs(8));
    let batch = format!("[{}]", (0..BATCH).map(event).collect::<Vec<_>>().join(","));
    for (name, body, events) in [("track_one", event(0), 1), ("track_500", batch, BATCH)] {
        group.throughput(Throughput::Elements(events as u64));
        group.bench_function(name, |bencher| {
            bencher.to_async(&runtime).iter(|| post(&base, body.clone()));
        });
        group.bench_function(format!("{name}_bare_axum"), |bencher| {
            bencher.to_async(&runtime).iter(|| post(&bare, body.clone()));
        });
    }
    group.throughput(Throughput::Elements(1));
    group.bench_function("unknown_route", |bencher| {
        let url = format!("{base}/nowhere");
        bencher.to_async(&runtime).iter(|| async {
            client.get(&url).send().await.expect("an answer").bytes().await.expect("a body")
        });
    });
    group.finish();
    runtime.block_on(running.server.stop("the bench is over")).expect("an ordered stop");
    std::fs::remove_dir_all(&data_dir).expect("the bench's own folder");
}

criterion_group!(benches, round_trips);
criterion_main!(benches);

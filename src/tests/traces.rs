//! Traces: what a collector gets, and what a collector that fails costs.

use std::{collections::BTreeMap, io::Read as _, sync::Arc};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use flate2::read::GzDecoder;
use futures_util::future::join_all;
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value},
    trace::v1::{Span, span::SpanKind},
};
use parking_lot::Mutex;
use prost::Message as _;
use serde_json::json;

use crate::kit::{Client, Process, data_dir, eventually};

/// In every text of a person and every id that a caller chose.
const TOKEN: &str = "zqtracezq";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// How a collector answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Taken,
    Refused,
    Never,
}

/// A collector of the test.
#[derive(Debug, Clone)]
struct Collector {
    answer: Answer,
    calls: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
}

impl Collector {
    /// A collector on a free port, for as long as the process lives, and its address.
    fn start(answer: Answer) -> (String, Self) {
        let collector = Self { answer, calls: Arc::default() };
        let router = Router::new().route("/v1/traces", post(take)).with_state(collector.clone());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, router).await.unwrap();
            });
        });
        (url, collector)
    }

    /// The bodies of calls, as they were before they were compressed.
    fn bodies(&self) -> Vec<Vec<u8>> {
        let calls = self.calls.lock();
        let read = |(headers, body): &(HeaderMap, Bytes)| {
            assert_eq!(headers["content-encoding"], "gzip");
            let mut plain = Vec::new();
            GzDecoder::new(&body[..]).read_to_end(&mut plain).unwrap();
            plain
        };
        calls.iter().map(read).collect()
    }

    fn requests(&self) -> Vec<ExportTraceServiceRequest> {
        let bodies = self.bodies();
        bodies.iter().map(|body| ExportTraceServiceRequest::decode(&body[..]).unwrap()).collect()
    }

    fn spans(&self) -> Vec<Span> {
        let resources = self.requests().into_iter().flat_map(|it| it.resource_spans);
        resources.flat_map(|it| it.scope_spans).flat_map(|it| it.spans).collect()
    }

    async fn until(&self, what: &str, found: impl Fn(&Span) -> bool) -> Span {
        eventually(what, || async { self.spans().into_iter().find(|span| found(span)) }).await
    }
}

async fn take(State(collector): State<Collector>, headers: HeaderMap, body: Bytes) -> StatusCode {
    collector.calls.lock().push((headers, body));
    match collector.answer {
        Answer::Taken => StatusCode::OK,
        Answer::Refused => StatusCode::INTERNAL_SERVER_ERROR,
        Answer::Never => std::future::pending().await,
    }
}

fn environment(endpoint: &str) -> Vec<(&'static str, String)> {
    vec![
        ("MILLRACE_TELEMETRY__OTLP_ENDPOINT", endpoint.to_owned()),
        ("MILLRACE_TELEMETRY__OTLP_HEADERS", "x-team=shop".to_owned()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-region=eu".to_owned()),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip".to_owned()),
        ("MILLRACE_TELEMETRY__TRACES_RATIO", "1".to_owned()),
    ]
}

fn attributes(of: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &Option<AnyValue>| match value.as_ref().and_then(|it| it.value.as_ref()) {
        Some(any_value::Value::StringValue(text)) => text.clone(),
        Some(any_value::Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    of.iter().map(|pair| (pair.key.clone(), text(&pair.value))).collect()
}

fn event(id: &str) -> serde_json::Value {
    json!({"userId": format!("{TOKEN}-user"), "eventName": format!("{TOKEN} name"),
        "clientEventId": format!("{TOKEN}-{id}"), "properties": {"p": format!("{TOKEN} property")}})
}

/// Sends an event as a part of the caller's trace.
async fn track_traced(client: &Client) {
    let request = client
        .request(reqwest::Method::POST, "/events/track")
        .header("traceparent", format!("00-{TRACE}-{PARENT}-01"))
        .header("tracestate", format!("vendor={TOKEN}"))
        .header("x-request-id", format!("{TOKEN}-request"));
    client.send(request.json(&event("1")), 200).await;
}

async fn spans_counted(process: &Process, outcome: &str) -> f64 {
    let text =
        reqwest::get(format!("{}/metrics", process.admin_url)).await.unwrap().text().await.unwrap();
    let name = format!("millrace_trace_spans_total{{outcome=\"{outcome}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&name)).map_or(0.0, |it| it.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_gets_spans_of_requests_and_work_without_data_of_people() {
    let (url, collector) = Collector::start(Answer::Taken);
    let (process, key) = Process::start(&data_dir("traces"), &environment(&url)).await;
    let client = process.client(&key.unwrap());
    track_traced(&client).await;
    let user =
        json!({"externalId": format!("{TOKEN}-user"), "email": format!("{TOKEN}@example.test")});
    client.post("/users", &user, 201).await;
    client.get(format!("/users/by-user-id/{TOKEN}-user"), 200).await;
    client.get(format!("/events/query?userId={TOKEN}-user"), 200).await;
    client.get(format!("/users/by-user-id/{TOKEN}-absent"), 404).await;

    let tracked =
        collector.until("the event's request", |it| it.name == "POST /events/track").await;
    assert_eq!(hex::encode(&tracked.trace_id), TRACE);
    assert_eq!(hex::encode(&tracked.parent_span_id), PARENT);
    assert_eq!(tracked.kind, SpanKind::Server as i32);
    let of_request = attributes(&tracked.attributes);
    assert_eq!(of_request["http.request.method"], "POST");
    assert_eq!(of_request["http.route"], "/events/track");
    assert_eq!(of_request["http.response.status_code"], "200");
    assert!(of_request.contains_key("millrace.workspace"), "{of_request:?}");
    let spool = collector.until("the spool's step", |it| it.name == "spool").await;
    assert_eq!(spool.parent_span_id, tracked.span_id);
    assert_eq!(spool.trace_id, tracked.trace_id);

    for (request, step) in [
        ("POST /users", "postgresql"),
        ("GET /users/by-user-id/{userId}", "postgresql"),
        ("GET /events/query", "clickhouse"),
    ] {
        let request = collector.until(request, |it| it.name == request).await;
        assert!(request.parent_span_id.is_empty());
        let is_inside = |it: &Span| it.name == step && it.trace_id == request.trace_id;
        let inside = collector.until("the store's step", is_inside).await;
        assert_eq!(inside.kind, SpanKind::Client as i32);
        assert!(inside.start_time_unix_nano >= request.start_time_unix_nano);
        assert!(inside.end_time_unix_nano <= request.end_time_unix_nano);
        assert_eq!(attributes(&inside.attributes)["db.system.name"], step);
    }
    let landing = collector.until("the landing", |it| it.name == "landing").await;
    let is_insert = |it: &Span| it.trace_id == landing.trace_id && it.name == "clickhouse";
    let insert = collector.until("its insert", is_insert).await;
    assert!(attributes(&insert.attributes)["db.query.summary"].starts_with("INSERT "));

    let (headers, _) = collector.calls.lock()[0].clone();
    assert_eq!(
        (&headers["x-team"], &headers["x-region"]),
        (&"shop".parse().unwrap(), &"eu".parse().unwrap())
    );
    let resource = collector.requests()[0].resource_spans[0].resource.clone().unwrap();
    assert_eq!(attributes(&resource.attributes)["service.name"], "millrace");
    eventually("sent spans are counted", || async {
        (spans_counted(&process, "sent").await > 0.0).then_some(())
    })
    .await;

    // The last spans leave before the process ends.
    client.get("/lists", 200).await;
    assert!(process.stop().await.success());
    assert!(collector.spans().iter().any(|span| span.name == "GET /lists"));
    for body in collector.bodies() {
        let text = String::from_utf8_lossy(&body);
        assert!(!text.contains(TOKEN), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_fails_costs_spans_and_nothing_else() {
    let (refusing, _) = Collector::start(Answer::Refused);
    let (hanging, _) = Collector::start(Answer::Never);
    // A port that was free just now.
    let absent = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (name, url) in
        [("refuses", refusing), ("hangs", hanging), ("is-absent", format!("http://{absent}"))]
    {
        let folder = data_dir(&format!("traces-{name}"));
        let (process, key) = Process::start(&folder, &environment(&url)).await;
        let client = process.client(&key.unwrap());
        track_traced(&client).await;
        eventually("failed spans are counted", || async {
            client.post("/events/track", &event("2"), 200).await;
            (spans_counted(&process, "failed").await > 0.0).then_some(())
        })
        .await;
        assert!(process.stop().await.success(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_does_not_decide_that_it_is_traced() {
    let (url, collector) = Collector::start(Answer::Taken);
    let mut environment = environment(&url);
    environment.push(("MILLRACE_TELEMETRY__TRACES_RATIO", "0".to_owned()));
    let (process, key) = Process::start(&data_dir("traces-none"), &environment).await;
    track_traced(&process.client(&key.unwrap())).await;
    // What waits leaves before the end.
    assert!(process.stop().await.success());
    assert_eq!(collector.spans(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_above_the_limit_are_dropped_and_counted_and_requests_go_on() {
    /// The collector holds a batch for five seconds, so a few thousand do on a machine that is not busy.
    const REQUESTS_MAX: usize = 100_000;
    let (url, _) = Collector::start(Answer::Never);
    let (process, key) = Process::start(&data_dir("traces-many"), &environment(&url)).await;
    let client = process.client(&key.unwrap());
    let mut requests = 0;
    while spans_counted(&process, "dropped").await == 0.0 {
        assert!(requests < REQUESTS_MAX, "no span was dropped");
        for _ in 0..20 {
            join_all((0..20).map(|_| client.get("/no-such-path", 404))).await;
        }
        requests += 400;
    }
    client.post("/events/track", &event("1"), 200).await;
    assert!(process.stop().await.success());
}

//! The migration of events to a table with another key: interrupted anywhere, no event is lost or duplicated.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use analytics::{
    Analytics, ClickHouseAddress,
    events::{self, EventFilter},
};
use axum::{
    Router,
    body::Bytes,
    extract::{OriginalUri, State},
    http::{HeaderMap, Method, StatusCode},
    response::{IntoResponse as _, Response},
};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::fixture::{Event, asked, batch, counted, event, measured, ms, send, text, total};
use crate::kit;

/// Two ids with the same cityHash64. The old key took them for one.
const COLLIDING: [&str; 2] = [":Ma.s/]>5VRobjnM", "order-2026-00001"];
/// The newest migration before the move.
const BEFORE: u32 = 9;
/// Statements of a whole migration, with room to spare.
const STATEMENTS_MAX: usize = 200;

/// Where an interruption strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// The statement does not reach ClickHouse.
    Before,
    /// The statement is done, but its answer is lost.
    After,
}

/// A way to ClickHouse that breaks after some statements.
#[derive(Debug, Clone)]
struct Gate {
    url: String,
    left: Arc<AtomicUsize>,
    cut: Cut,
    http: reqwest::Client,
}

impl Gate {
    async fn open(address: &ClickHouseAddress, cut: Cut) -> (Self, ClickHouseAddress) {
        let url = address.url.clone();
        let gate = Self { url, left: Arc::default(), cut, http: reqwest::Client::new() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let through = ClickHouseAddress {
            url: format!("http://{}", listener.local_addr().unwrap()),
            ..address.clone()
        };
        let router = Router::new().fallback(pass).with_state(gate.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        (gate, through)
    }

    /// Takes one of the statements that may pass.
    fn take(&self) -> bool {
        let take = |left: usize| left.checked_sub(1);
        self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok()
    }
}

async fn pass(
    State(gate): State<Gate>,
    method: Method,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let passes = gate.take();
    if !passes && gate.cut == Cut::Before {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let path = uri.path_and_query().map_or("/", |it| it.as_str());
    let mut request = gate.http.request(method, format!("{}{path}", gate.url)).body(body);
    for (name, value) in &headers {
        let forwarded = ["authorization", "content-type"].contains(&name.as_str());
        if forwarded || name.as_str().starts_with("x-clickhouse") {
            request = request.header(name, value);
        }
    }
    let answer = request.send().await.unwrap();
    let status = answer.status();
    let body = answer.bytes().await.unwrap();
    if passes {
        (status, body).into_response()
    } else {
        StatusCode::SERVICE_UNAVAILABLE.into_response()
    }
}

/// A database with the schema before the move.
async fn old_database() -> Analytics {
    let address = kit::engines::clickhouse().await;
    let analytics = Analytics::connect(&ClickHouseAddress {
        url: address.url,
        user: address.user,
        password: address.password,
        database: address.database,
        cluster: None,
    })
    .unwrap();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let record = std::fs::read_to_string(root.join("analytics/src/sql/migrations_table.sql"));
    run(&analytics, &record.unwrap()).await;
    let mut files: Vec<_> = std::fs::read_dir(root.join("migrations/clickhouse"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for (version, file) in (1..=BEFORE).zip(files) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let (number, name) = name.split_once('_').unwrap();
        assert_eq!(number.parse::<u32>().unwrap(), version);
        let text = std::fs::read_to_string(&file).unwrap();
        run(&analytics, &text).await;
        let checksum = format!("{:x}", Sha256::digest(&text));
        let record = format!(
            "INSERT INTO schema_migrations (version, name, checksum) SELECT {version}, '{name}', '{checksum}'"
        );
        run(&analytics, &record).await;
    }
    analytics
}

async fn run(analytics: &Analytics, text: &str) {
    let code: Vec<&str> =
        text.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    let code = code.join("\n").replace("{on_cluster}", "");
    let code = code.replace("{engine:", "").replace("MergeTree}", "MergeTree");
    for statement in code.split(';').filter(|statement| !statement.trim().is_empty()) {
        analytics.client().query_raw(statement).execute().await.unwrap();
    }
}

/// Events of two months, with repeats, orders, and ids that collide; each insert is a part.
async fn fill(analytics: &Analytics, workspace: Uuid) {
    for table in ["events", "orders", "timeline"] {
        run(analytics, &format!("SYSTEM STOP MERGES {table}")).await;
    }
    let put = async |events: &[Event]| {
        send(analytics, &batch(events), &Uuid::now_v7().to_string()).await.unwrap();
    };
    let order = |id: &str, order: &str, total: u32| {
        event(workspace, "Order Completed", id, "2024-02-03T10:00:00Z")
            .of("ann")
            .with(json!({"orderId": order, "total": total}))
    };
    for number in 0..40 {
        let at = format!("2024-0{}-{:02}T10:00:00Z", 1 + number % 2, 1 + number % 5);
        put(&[event(workspace, "Seen", &format!("e{number}"), &at).of("ann")]).await;
    }
    // A repeat: the first stays.
    put(&[event(workspace, "Seen", "e0", "2024-01-01T12:00:00Z").of("bob")]).await;
    for (number, id) in COLLIDING.iter().enumerate() {
        put(&[event(workspace, "Seen", id, "2024-02-01T11:00:00Z").of("ann")]).await;
        put(&[order(id, &format!("o{number}"), 10 + u32::try_from(number).unwrap())]).await;
    }
    // The same order again is not counted.
    put(&[order("again", "o0", 99)]).await;
    let mut stamped = event(workspace, "Seen", "stamped", "2024-02-20T10:00:00Z").of("cy");
    stamped.is_server_stamped = true;
    put(&[stamped]).await;
}

/// Holds what can be asked against what was put in: 40 events, two that collide, one stamped, and these.
async fn assert_exact(analytics: &Analytics, workspace: Uuid, late: &[String]) {
    let mut expected: Vec<String> = (0..40).map(|number| format!("e{number}")).collect();
    expected.extend(COLLIDING.map(str::to_owned));
    expected.push("stamped".to_owned());
    expected.extend(late.iter().cloned());
    expected.sort();
    let seen =
        EventFilter { event_name: Some("Seen".to_owned()), limit: 1000, ..EventFilter::default() };
    let rows = events::query(analytics, workspace, &seen).await.unwrap();
    let mut shown: Vec<String> = rows.into_iter().map(|row| row.event_id).collect();
    shown.sort();
    assert_eq!(shown, expected);
    assert_eq!(total(analytics, workspace, &counted("Seen")).await, expected.len() as u64);

    let of_ann =
        EventFilter { user_ids: Some(vec!["ann".to_owned()]), limit: 1, ..EventFilter::default() };
    // All but the stamped one, and the orders.
    let (_, anns) = events::of_user(analytics, workspace, &of_ann).await.unwrap();
    assert_eq!(anns, expected.len() as u64 - 1 + 3);
    let orders = asked(analytics, workspace, &measured("Order Completed", "total")).await;
    assert_eq!((orders[0].count, text(orders[0].sum.as_ref())), (2, Some("21")));
    let first = EventFilter {
        start_ms: Some(ms("2024-01-01T00:00:00Z")),
        end_ms: Some(ms("2024-01-01T23:00:00Z")),
        ..seen
    };
    let rows = events::query(analytics, workspace, &first).await.unwrap();
    let repeated = rows.iter().find(|row| row.event_id == "e0").unwrap();
    assert_eq!(repeated.user_id, "ann", "the first stays");
    let recent =
        events::recent_client_ids(analytics, ms("2024-02-13T00:00:00Z"), 100).await.unwrap();
    let recent: Vec<_> =
        recent.iter().map(|id| (id.event_name.as_str(), id.event_id.as_str())).collect();
    assert_eq!(recent, [("Seen", "stamped")]);
}

/// Whether the view is gone that made orders of whatever an app called one.
async fn is_without_old_view(analytics: &Analytics) -> bool {
    let ask = "SELECT count() = 0 FROM system.tables WHERE database = currentDatabase() AND name = 'orders_from_events'";
    analytics.client().query_raw(ask).fetch_one().await.unwrap()
}

/// What an app sends with a public key: one that is no order, and one under a name that is trusted.
fn of_app(workspace: Uuid, number: usize) -> [Event; 2] {
    let order = |id: String| event(workspace, "Order Completed", &id, "2024-02-10T10:00:00Z");
    [
        order(format!("sdk:forged-{number}")),
        order(format!("sdk:paid-{number}")).with(json!({"orderId": format!("app-{number}")})),
    ]
}

/// Every statement of the migration is the last one once; between the tries another process inserts.
async fn interrupted_everywhere(cut: Cut) {
    let direct = old_database().await;
    let workspace = Uuid::now_v7();
    fill(&direct, workspace).await;
    let (gate, through) = Gate::open(direct.address(), cut).await;
    let (mut late, mut unsent) = (Vec::new(), Vec::new());
    let mut paid = Vec::new();
    let mut allowed = 0;
    loop {
        gate.left.store(allowed, Ordering::Release);
        let migrated = Analytics::connect(&through).unwrap().migrate().await;
        let id = format!("late-{allowed}");
        let mut rows = vec![event(workspace, "Seen", &id, "2024-02-04T10:00:00Z").of("ann")];
        if is_without_old_view(&direct).await {
            rows.extend(of_app(workspace, allowed));
            paid.push(format!("sdk:paid-{allowed}"));
        }
        unsent.push((id, batch(&rows)));
        // Refused while a table has no name. Its sender tries again, as the batch writer does.
        let mut refused = Vec::new();
        for (id, rows) in unsent {
            match send(&direct, &rows, &id).await {
                Ok(()) => late.push(id),
                Err(_) => refused.push((id, rows)),
            }
        }
        unsent = refused;
        if migrated.is_ok() {
            break;
        }
        assert!(cut == Cut::After || !direct.schema_is_current().await.unwrap());
        allowed += 1;
        assert!(allowed < STATEMENTS_MAX, "it never ends: {migrated:?}");
    }
    assert!(unsent.is_empty(), "{unsent:?}");
    assert!(allowed > 20, "the migration was interrupted {allowed} times only");
    assert!(direct.schema_is_current().await.unwrap());
    assert_exact(&direct, workspace, &late).await;
    direct.migrate().await.unwrap();
    assert_exact(&direct, workspace, &late).await;
    assert!(paid.len() > 5, "apps sent orders {} times only", paid.len());
    paid.sort();
    let of_apps =
        "SELECT event_id FROM orders FINAL WHERE startsWith(event_id, 'sdk:') ORDER BY event_id";
    let of_apps: Vec<String> = direct.client().query_raw(of_apps).fetch_all().await.unwrap();
    assert_eq!(of_apps, paid, "an order that an app may not report is none");
    let left: Vec<(String, u64)> = direct
        .client()
        .query_raw(
            "SELECT name, ifNull(total_rows, 0) FROM system.tables WHERE database = currentDatabase() AND name LIKE '%0010' ORDER BY name",
        )
        .fetch_all()
        .await
        .unwrap();
    let empty = |name: &str| (name.to_owned(), 0);
    assert_eq!(left, [empty("events_before_0010"), empty("timeline_before_0010")]);
}

#[tokio::test]
async fn the_key_migration_survives_an_interruption_before_each_statement() {
    interrupted_everywhere(Cut::Before).await;
}

#[tokio::test]
async fn the_key_migration_survives_a_lost_answer_after_each_statement() {
    interrupted_everywhere(Cut::After).await;
}

#[tokio::test]
async fn several_processes_can_run_the_key_migration_at_once() {
    let direct = old_database().await;
    let workspace = Uuid::now_v7();
    fill(&direct, workspace).await;
    let movers = (0..4).map(|_| direct.migrate());
    // One may fail where another took a table away; the server tries again, and so does this.
    for moved in futures_util::future::join_all(movers).await {
        if moved.is_err() {
            direct.migrate().await.unwrap();
        }
    }
    assert!(direct.schema_is_current().await.unwrap());
    assert_exact(&direct, workspace, &[]).await;
}

//! Nodes with different clocks on the same stores: the first write is kept.

use config::{Role, Settings};
use kernel::Clock;
use millrace::server::{Server, ServerOptions};
use serde_json::{Value, json};

use crate::kit::{self, Client, MILLRACE, TestServer, data_dir, eventually, settings, unique};

const HOUR_MS: i64 = 3_600_000;

/// Settings of a node on the stores of the shared server, in databases of this name: identifiers are copied to the one
/// ClickHouse database that belongs to one of PostgreSQL.
async fn on_shared_stores(name: &str, database: &str) -> Settings {
    let (db, sql) = (kit::server().db(), format!("create database {database}"));
    kit::server()
        .on(async move {
            // The nodes of a test share it.
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&db).await.ok();
        })
        .await;
    let shared = &kit::server().data_dir;
    let mut settings = settings(&data_dir(name), &[]);
    settings.roles = vec![Role::Api];
    let postgres = shared.join("postgres").display().to_string();
    let postgres = format!("postgres://millrace@localhost:5432/{database}?host={postgres}");
    settings.database_url = Some(postgres.into());
    let clickhouse = std::fs::read_to_string(shared.join("clickhouse.url")).unwrap();
    let mut clickhouse: url::Url = clickhouse.trim().parse().unwrap();
    clickhouse.set_path(database);
    settings.clickhouse_url = Some(clickhouse.to_string().into());
    settings
}

async fn node(name: &'static str, database: &str, ahead_ms: i64) -> TestServer {
    let mut settings = on_shared_stores(name, database).await;
    settings.ingest.clock_behind_max_seconds = 7_200;
    let clock = Clock::system_ahead_by_ms(ahead_ms);
    tokio::task::spawn_blocking(move || kit::run(settings, clock)).await.unwrap()
}

/// Tracks an event and another one after it, and awaits both.
async fn landed(client: &Client, event: &Value) -> Vec<Value> {
    client.post("/events/track", event, 200).await;
    let marker = unique("marker");
    client.post("/events/track", &json!({"userId": "m", "eventName": marker}), 200).await;
    eventually("both are visible", || async {
        let events = client.get("/events/query?limit=1000", 200).await.json();
        let events = events.as_array().unwrap().clone();
        let shows = |field: &str, value: &Value| events.iter().any(|event| event[field] == *value);
        let is_there =
            shows("event_id", &event["clientEventId"]) && shows("event_name", &json!(marker));
        is_there.then_some(events)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_write_is_kept_whichever_node_received_it() {
    let database = unique("clocks").replace('-', "_");
    let fast = node("clock-fast", &database, HOUR_MS).await;
    let slow = node("clock-slow", &database, -HOUR_MS).await;
    let (token, _) = fast.key(&unique("workspace"), "*").await;
    let clients = [&fast, &slow].map(|node| Client::new(&node.url, Some(&token)));
    // First to the fast one, whose clock gives the larger number, then to the slow one; then the other way round.
    for (first, id) in [(0, "fast-first"), (1, "slow-first")] {
        for step in 0..4 {
            let event = json!({
                "userId": "ann", "eventName": "A", "clientEventId": id, "properties": {"step": step},
                "timestamp": "2026-03-01T12:00:00Z",
            });
            let events = landed(&clients[(first + step) % 2], &event).await;
            let shown: Vec<_> = events.iter().filter(|event| event["event_id"] == id).collect();
            assert_eq!(shown.len(), 1, "{id} {step}");
            assert_eq!(shown[0]["properties"], json!({"step": 0}), "{id} {step}");
        }
    }
}

async fn refusal(settings: Settings, clock: Clock) -> String {
    let options = ServerOptions { executable: MILLRACE.into(), clock, show_key: false };
    format!("{:#}", Server::start(settings, options).await.map(drop).unwrap_err())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_far_behind_refuses_to_start() {
    let database = unique("behind").replace('-', "_");
    let refusal = refusal(
        on_shared_stores("clock-behind", &database).await,
        Clock::system_ahead_by_ms(-2 * HOUR_MS),
    )
    .await;
    assert!(
        refusal.contains("the clock of this machine says")
            && refusal.contains("seconds before that of ClickHouse"),
        "{refusal}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_clickhouse_does_not_know_refuses_to_start() {
    let database = unique("cluster").replace('-', "_");
    let mut settings = on_shared_stores("cluster-unknown", &database).await;
    settings.clickhouse.cluster = Some("nowhere".to_owned());
    let refusal = refusal(settings, Clock::system()).await;
    assert!(refusal.contains("knows no cluster \"nowhere\""), "{refusal}");
}

/// Events of two months that carry their time, so that their ids are theirs for ever; every tenth is an order.
fn batch(numbers: std::ops::Range<u32>) -> Value {
    let event = |number: u32| {
        let month = if number.is_multiple_of(2) { "02-27" } else { "03-02" };
        let mut event = json!({
            "userId": format!("user-{}", number % 7), "eventName": "Viewed",
            "clientEventId": format!("event-{number}"), "timestamp": format!("2026-{month}T10:00:00Z"),
        });
        if number.is_multiple_of(10) {
            event["eventName"] = json!("Order Completed");
            event["properties"] =
                json!({"orderId": format!("order-{number}"), "total": 2, "currency": "EUR"});
        }
        event
    };
    numbers.map(event).collect()
}

/// Events of a name, and the sum of their `total`, over all days.
#[derive(Debug, PartialEq, Eq)]
struct Counted {
    events: u64,
    total: u64,
}

async fn counted(client: &Client, name: &str) -> Counted {
    let question = json!({"eventName": name, "metrics": ["count", "sum"], "sumField": "total"});
    let answer = client.post("/events/aggregate", &question, 200).await.json();
    let days = answer["data"]["results"].as_array().unwrap().clone();
    let sum = |field: &str| days.iter().filter_map(|day| day[field].as_u64()).sum();
    Counted { events: sum("count"), total: sum("sum_value") }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_with_different_clocks_count_each_event_once() {
    const EVENTS: u32 = 200;
    const BATCH: u32 = 20;
    let database = unique("three").replace('-', "_");
    let fast = node("three-fast", &database, HOUR_MS).await;
    let slow = node("three-slow", &database, -HOUR_MS).await;
    let even = node("three-even", &database, 0).await;
    let (token, _) = fast.key(&unique("workspace"), "*").await;
    let clients = [&fast, &slow, &even].map(|node| Client::new(&node.url, Some(&token)));
    // Each node gets every batch, at the same time as the others and in another order, and then once more.
    let posts = clients.iter().enumerate().map(|(at, client)| {
        let (client, first) = (client.clone(), u32::try_from(at).unwrap() * 60);
        tokio::spawn(async move {
            for start in (0..2 * EVENTS).step_by(BATCH as usize) {
                let start = (start + first) % EVENTS;
                client.post("/events/track", &batch(start..start + BATCH), 200).await;
            }
        })
    });
    for post in posts.collect::<Vec<_>>() {
        post.await.unwrap();
    }
    // What each node got before its marker is there when the marker is.
    for (at, client) in clients.iter().enumerate() {
        landed(
            client,
            &json!({"userId": "m", "eventName": "Last", "clientEventId": format!("last-{at}")}),
        )
        .await;
    }
    let orders = u64::from(EVENTS / 10);
    for client in &clients {
        let viewed = Counted { events: u64::from(EVENTS) - orders, total: 0 };
        assert_eq!(counted(client, "Viewed").await, viewed);
        let ordered = Counted { events: orders, total: 2 * orders };
        assert_eq!(counted(client, "Order Completed").await, ordered);
    }
}

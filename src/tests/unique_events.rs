//! The tables hold each event and each order once, whatever is sent again, killed, lost or damaged. Questions that
//! leave repeats out would hide a second row, so the rows themselves are counted.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::kit::{Client, Process, data_dir, eventually};

/// Events of the first request.
const EVENTS: u64 = 300;

/// Rows of the tables, and how many there would be if each event and each order were stored once.
#[derive(Debug, PartialEq, Eq)]
struct Stored {
    events: u64,
    unique_events: u64,
    /// Events listed for the workspace by time.
    listed: u64,
    orders: u64,
    unique_orders: u64,
}

/// Asks the embedded ClickHouse of a data directory.
async fn asked(folder: &Path, sql: &str) -> String {
    let url = fs::read_to_string(folder.join("clickhouse.url")).unwrap();
    let url: url::Url = url.trim().parse().unwrap();
    let answer = reqwest::Client::new()
        .post(format!("http://{}:{}", url.host_str().unwrap(), url.port().unwrap()))
        .query(&[("database", "millrace")])
        .basic_auth(url.username(), url.password())
        .body(sql.to_owned())
        .send()
        .await
        .unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    answer.text().await.unwrap().trim().to_owned()
}

async fn number(folder: &Path, sql: &str) -> u64 {
    asked(folder, sql).await.parse().unwrap()
}

async fn stored(folder: &Path) -> Stored {
    let key = "(workspace_id, event_name, day, event_id)";
    Stored {
        events: number(folder, "SELECT count() FROM events").await,
        unique_events: number(folder, &format!("SELECT uniqExact{key} FROM events")).await,
        listed: number(folder, "SELECT count() FROM timeline WHERE identifier = 0").await,
        orders: number(folder, "SELECT count() FROM orders").await,
        unique_orders: number(folder, "SELECT uniqExact(workspace_id, order_key) FROM orders")
            .await,
    }
}

/// Waits until everything that this process accepted is stored.
async fn drained(process: &Process) {
    let admin = Client::new(&process.admin_url, None);
    eventually("everything is stored", async || {
        let metrics = admin.get("/metrics", 200).await.text;
        let value = |name: &str| {
            let line = metrics.lines().find(|line| line.starts_with(name));
            line.map_or(0.0, |line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
        };
        let enqueued = value("millrace_ingest_events_enqueued_total");
        (enqueued > 0.0 && value("millrace_ingest_events_drained_total") >= enqueued).then_some(())
    })
    .await;
}

/// Waits until new events are recognised without a question to ClickHouse.
async fn filtered(process: &Process) {
    let admin = Client::new(&process.admin_url, None);
    eventually("all filters are in memory", async || {
        let metrics = admin.get("/metrics", 200).await.text;
        let name = "millrace_ingest_landed_keys_without_filter";
        let line = metrics.lines().find(|line| line.starts_with(name))?;
        line.ends_with(" 0").then_some(())
    })
    .await;
}

/// Events of two months that carry their time, so that their ids are theirs for ever; every tenth completes one of a
/// few orders.
fn events(numbers: std::ops::Range<u64>) -> Value {
    let event = |number: u64| {
        let day = if number.is_multiple_of(2) { "2026-02-27" } else { "2026-03-02" };
        let mut event = json!({
            "userId": format!("user-{}", number % 7),
            "eventName": "Viewed",
            "clientEventId": format!("event-{number}"),
            "timestamp": format!("{day}T10:00:00Z"),
        });
        if number.is_multiple_of(10) {
            event["eventName"] = json!("Order Completed");
            event["properties"] = json!({"orderId": format!("order-{}", number % 50), "total": number, "currency": "EUR"});
        }
        event
    };
    numbers.map(event).collect()
}

async fn revenue(client: &Client) -> Value {
    let question =
        json!({"eventName": "Order Completed", "metrics": ["count", "sum"], "sumField": "total"});
    client.post("/events/aggregate", &question, 200).await.json()["data"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_sent_by_many_clients_at_once_are_stored_once() {
    let folder = data_dir("sent-at-once");
    let (process, key) = Process::start(&folder, &[]).await;
    let client = process.client(&key.expect("the first start prints a key"));
    let body = events(0..EVENTS);
    let posts = (0..8).map(|_| {
        let (client, body) = (client.clone(), body.clone());
        tokio::spawn(async move {
            for _ in 0..5 {
                client.post("/events/track", &body, 200).await;
            }
        })
    });
    for post in posts.collect::<Vec<_>>() {
        post.await.unwrap();
    }
    drained(&process).await;
    let once = Stored {
        events: EVENTS,
        unique_events: EVENTS,
        listed: EVENTS,
        orders: 5,
        unique_orders: 5,
    };
    assert_eq!(stored(&folder).await, once);
    assert!(process.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_any_share_of_repeats_are_stored_once() {
    let folder = data_dir("shares-of-repeats");
    let (process, key) = Process::start(&folder, &[]).await;
    let client = process.client(&key.expect("the first start prints a key"));
    let mut sent = 0;
    for percent in [0, 1, 10, 50, 90, 100] {
        let repeats = EVENTS * percent / 100;
        for _ in 0..3 {
            // The newest events may not be stored yet when they come again.
            let (oldest, newest) = (repeats / 2, repeats.div_ceil(2));
            let fresh = EVENTS - repeats;
            let parts = [0..oldest, sent..sent + fresh, sent - newest..sent].map(events);
            let body: Value =
                parts.iter().flat_map(|part| part.as_array().unwrap().clone()).collect();
            let twice = (0..2).map(|_| client.post("/events/track", &body, 200));
            futures_util::future::join_all(twice).await;
            sent += fresh;
        }
        drained(&process).await;
        let once =
            Stored { events: sent, unique_events: sent, listed: sent, orders: 5, unique_orders: 5 };
        assert_eq!(stored(&folder).await, once, "{percent} % of a request came before");
    }
    assert!(process.stop().await.success());
}

/// What happens to the files in which the keys of stored events are kept.
#[derive(Debug, Clone, Copy)]
enum Damage {
    None,
    AllRemoved,
    OneRemoved,
    Halved,
    Flipped,
    Emptied,
    /// As they were before the last events.
    Older,
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    files
}

fn damage(keys: &Path, older: &Path, damage: Damage) {
    if matches!(damage, Damage::AllRemoved | Damage::Older) {
        fs::remove_dir_all(keys).unwrap();
    }
    match damage {
        Damage::None | Damage::AllRemoved => {}
        Damage::Older => copy(older, keys),
        Damage::OneRemoved => fs::remove_file(&files(keys)[0]).unwrap(),
        Damage::Halved | Damage::Flipped | Damage::Emptied => {
            for file in files(keys) {
                let mut bytes = fs::read(&file).unwrap();
                let middle = bytes.len() / 2;
                match damage {
                    Damage::Halved => bytes.truncate(middle),
                    Damage::Flipped => bytes[middle] ^= 1,
                    _ => bytes.clear(),
                }
                fs::write(&file, bytes).unwrap();
            }
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in files(from) {
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_stored_once_when_the_files_of_stored_keys_are_lost_or_damaged() {
    let folder = data_dir("lost-keys");
    let (mut process, key) = Process::start(&folder, &[]).await;
    let key = key.expect("the first start prints a key");
    let (keys, older) = (folder.join("landed-keys"), folder.join("older-keys"));
    let mut sent = EVENTS;
    process.client(&key).post("/events/track", &events(0..sent), 200).await;
    drained(&process).await;
    filtered(&process).await;
    let sum = revenue(&process.client(&key)).await;
    for how in [
        Damage::None,
        Damage::AllRemoved,
        Damage::OneRemoved,
        Damage::Halved,
        Damage::Flipped,
        Damage::Emptied,
        Damage::Older,
    ] {
        assert!(process.stop().await.success());
        if !older.exists() {
            copy(&keys, &older);
        }
        damage(&keys, &older, how);
        (process, _) = Process::start(&folder, &[]).await;
        let client = process.client(&key);
        // All of them again, and as many new ones behind them in one request.
        sent += 10;
        client.post("/events/track", &events(0..sent), 200).await;
        client.post("/events/track", &events(0..sent), 200).await;
        drained(&process).await;
        filtered(&process).await;
        sent += 10;
        client.post("/events/track", &events(0..sent), 200).await;
        drained(&process).await;
        let once =
            Stored { events: sent, unique_events: sent, listed: sent, orders: 5, unique_orders: 5 };
        assert_eq!(stored(&folder).await, once, "{how:?}");
        assert_eq!(revenue(&client).await, sum, "{how:?}");
    }
    assert!(process.stop().await.success());
}

/// The rows that the views behind `events` would have written, and those that are there.
const TIMELINE_DIFFERENCES: &str = "\
WITH listed AS (
    SELECT workspace_id, timestamp, toString(event_name) AS name, day, event_id, arrayJoin(arrayDistinct(
        arrayConcat([toUInt64(0)], arrayMap(id -> cityHash64(id), arrayFilter(id -> id != '',
            if(user_id = '' AND service_user_id = '', [anonymous_id], [user_id, service_user_id]))))
    )) AS identifier
    FROM events
), there AS (
    SELECT workspace_id, timestamp, toString(event_name) AS name, day, event_id, identifier FROM timeline
)
SELECT (SELECT count() FROM (SELECT * FROM listed EXCEPT SELECT * FROM there))
     + (SELECT count() FROM (SELECT * FROM there EXCEPT SELECT * FROM listed))
     + (SELECT count() FROM there) - (SELECT count() FROM listed)";

const ORDER_DIFFERENCES: &str = "\
WITH completed AS (
    SELECT workspace_id, if(order_id != '', concat('order:', order_id), concat('event:', event_id)) AS order_key,
        cityHash64(event_id) AS event_hash, seq, event_id, timestamp, has_revenue, revenue, toString(currency),
        base_revenue, toString(base_currency)
    FROM events WHERE event_name = 'Order Completed'
), there AS (
    SELECT workspace_id, order_key, event_hash, seq, event_id, timestamp, has_revenue, revenue, toString(currency),
        base_revenue, toString(base_currency)
    FROM orders
)
SELECT (SELECT count() FROM (SELECT * FROM completed EXCEPT SELECT * FROM there))
     + (SELECT count() FROM (SELECT * FROM there EXCEPT SELECT * FROM completed))";

#[tokio::test(flavor = "multi_thread")]
async fn entries_of_the_timeline_and_orders_are_those_of_the_views() {
    let folder = data_dir("entries");
    let (process, key) = Process::start(&folder, &[]).await;
    let client = process.client(&key.expect("the first start prints a key"));
    // The hash reads texts of these lengths in different ways.
    let users = [1, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128];
    let mut body: Vec<Value> = users
        .iter()
        .map(
            |length| json!({"userId": "u".repeat(*length), "eventName": format!("Event {length}")}),
        )
        .collect();
    body.push(json!({"anonymousId": "anonymous", "eventName": "Viewed"}));
    body.push(json!({"anonymousId": "anonymous", "userId": "ann", "eventName": "Viewed"}));
    for (order, revenue) in [("o1", json!(12.5)), ("", json!(-1)), ("", Value::Null)] {
        let mut properties =
            json!({"total": revenue, "currency": "eur", "total_base": 3, "base_currency": "USD"});
        if !order.is_empty() {
            properties["orderId"] = json!(order);
        }
        body.push(
            json!({"userId": "ann", "eventName": "Order Completed", "properties": properties}),
        );
    }
    let accepted = client.post("/events/track", &json!(body), 200).await.json();
    assert_eq!(accepted["accepted"], body.len(), "{accepted}");
    drained(&process).await;
    assert_eq!(
        number(&folder, "SELECT count() FROM events WHERE is_unique").await,
        body.len() as u64
    );
    assert_eq!(asked(&folder, TIMELINE_DIFFERENCES).await, "0");
    assert_eq!(asked(&folder, ORDER_DIFFERENCES).await, "0");
    assert_eq!(number(&folder, "SELECT count() FROM orders").await, 3);
    assert!(process.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_asks_without_final_once_nothing_can_be_stored_twice() {
    let folder = data_dir("without-final");
    let (process, key) = Process::start(&folder, &[]).await;
    let client = process.client(&key.expect("the first start prints a key"));
    client.post("/events/track", &events(1..2), 200).await;
    drained(&process).await;
    // A merge would collapse the two rows. The next start merges again.
    asked(&folder, "SYSTEM STOP MERGES events").await;
    // A second row of the event, which only FINAL leaves out.
    let copy = "INSERT INTO events SELECT * REPLACE (1 AS is_unique, seq + 1 AS seq) FROM events";
    asked(&folder, copy).await;
    let question = json!({"eventName": "Viewed"});
    eventually("FINAL is left out", async || {
        let answer = client.post("/events/aggregate", &question, 200).await.json();
        (answer["data"]["total"] == 2).then_some(())
    })
    .await;
    // The next start finds a row that was not compared with others.
    let unknown =
        "INSERT INTO events SELECT * REPLACE (0 AS is_unique, seq + 2 AS seq) FROM events LIMIT 1";
    asked(&folder, unknown).await;
    assert!(process.stop().await.success());
    let (process, _) = Process::start(&folder, &[]).await;
    eventually("repeats are collapsed", async || {
        (number(&folder, "SELECT count() FROM events").await == 1).then_some(())
    })
    .await;
    assert!(process.stop().await.success());
}

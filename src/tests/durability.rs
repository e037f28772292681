//! Acknowledged events are stored exactly once, whatever is killed meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::kit::{Client, Load, Process, data_dir, eventually};

/// The event of the load with this number. Half of them leave the time to the server.
pub(crate) fn event(number: u64) -> Value {
    let id = format!("event-{number}");
    let mut event = json!({"userId": "ann", "eventName": "Loaded", "clientEventId": id});
    if number.is_multiple_of(2) {
        event["timestamp"] = json!(1_772_366_400_000_u64 + number);
    }
    event
}

/// Every event id the server shows, with how often it shows it.
pub(crate) async fn shown(client: &Client) -> BTreeMap<String, usize> {
    let mut shown = BTreeMap::new();
    for offset in (0..).step_by(1000) {
        let path = format!("/events/query?limit=1000&offset={offset}");
        let page = client.get_when_back(&path).await.json();
        let page = page.as_array().unwrap().clone();
        for event in &page {
            *shown.entry(event["event_id"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        if page.len() < 1000 {
            break;
        }
    }
    shown
}

/// Waits until all that was acknowledged is shown, then holds both against each other.
pub(crate) async fn assert_exactly_once(client: &Client, acknowledged: &BTreeSet<String>) {
    let shown = eventually("all that was acknowledged is visible", || async {
        let shown = shown(client).await;
        acknowledged.iter().all(|id| shown.contains_key(id)).then_some(shown)
    })
    .await;
    let doubled: Vec<_> = shown.iter().filter(|(_, times)| **times != 1).collect();
    assert!(doubled.is_empty(), "shown more than once: {doubled:?}");
    let question = json!({"eventName": "Loaded"});
    let total =
        client.post("/events/aggregate", &question, 200).await.json()["data"]["total"].clone();
    assert_eq!(total, shown.len(), "the aggregate counts what the query shows");
}

/// Children of a process that run the named engine.
fn engine_pids(parent: u32, engine: &str) -> Vec<i32> {
    let is_it = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let its_parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        its_parent.is_some_and(|its| its.trim() == parent.to_string()) && line.contains(engine)
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(is_it)
        .collect()
}

fn is_running(pid: i32) -> bool {
    std::path::Path::new("/proc").join(pid.to_string()).exists()
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_events_survive_server_kills_exactly_once() {
    let folder = data_dir("killed-server");
    let (mut process, key) = Process::start(&folder, &[]).await;
    let key = key.expect("the first start prints a key");
    let load = Load::start(process.client(&key), event);
    for _ in 0..3 {
        load.set_target(Some(process.client(&key)));
        load.grow_by(1_000).await;
        let engines = [
            engine_pids(process.pid(), "engine clickhouse"),
            engine_pids(process.pid(), "postgres"),
        ]
        .concat();
        assert_eq!(engines.len(), 2, "{engines:?}");
        process.kill();
        load.set_target(None);
        eventually("the engines go with their parent", || async {
            engines.iter().all(|pid| !is_running(*pid)).then_some(())
        })
        .await;
        (process, _) = Process::start(&folder, &[]).await;
    }
    load.set_target(Some(process.client(&key)));
    load.grow_by(1_000).await;
    let acknowledged = load.finish().await;
    assert_exactly_once(&process.client(&key), &acknowledged).await;
    assert!(process.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_events_survive_clickhouse_kills_exactly_once() {
    let folder = data_dir("killed-clickhouse");
    let (process, key) = Process::start(&folder, &[]).await;
    let client = process.client(&key.expect("the first start prints a key"));
    let load = Load::start(client.clone(), event);
    for _ in 0..3 {
        load.grow_by(1_000).await;
        let pids = engine_pids(process.pid(), "engine clickhouse");
        assert_eq!(pids.len(), 1, "{pids:?}");
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pids[0]), nix::sys::signal::SIGKILL)
            .unwrap();
        // Tracking continues without ClickHouse.
        load.grow_by(1_000).await;
        eventually("another ClickHouse was started", || async {
            let now = engine_pids(process.pid(), "engine clickhouse");
            (now.len() == 1 && now != pids).then_some(())
        })
        .await;
    }
    let acknowledged = load.finish().await;
    let readiness = Client::new(&process.admin_url, None);
    eventually("both stores are ready", || async {
        let answer = readiness.request(reqwest::Method::GET, "/readyz").send().await.unwrap();
        answer.status().is_success().then_some(())
    })
    .await;
    assert_exactly_once(&client, &acknowledged).await;
    assert!(process.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn repeats_across_a_restart_are_recorded_once_and_a_stop_exits_with_0() {
    let folder = data_dir("restarted");
    let (process, key) = Process::start(&folder, &[]).await;
    let key = key.expect("the first start prints a key");
    let events = json!([
        {"userId": "ann", "eventName": "Loaded", "clientEventId": "with", "timestamp": "2026-03-01T12:00:00Z"},
        {"userId": "ann", "eventName": "Loaded", "clientEventId": "without"},
    ]);
    process.client(&key).post("/events/track", &events, 200).await;
    assert!(process.stop().await.success());
    let (process, second_key) = Process::start(&folder, &[]).await;
    assert_eq!(second_key, None, "the demo key is shown once");
    let client = process.client(&key);
    let first_time = |shown: &Value| shown[0]["timestamp"].clone();
    let before = eventually("the first is visible", || async {
        let events = client.get("/events/query", 200).await.json();
        (events.as_array().unwrap().len() == 2).then_some(events)
    })
    .await;
    let verdict = client.post("/events/track", &events, 200).await.json();
    assert_eq!(verdict["accepted"], 2);
    let marker = json!({"userId": "ann", "eventName": "Marker"});
    client.post("/events/track", &marker, 200).await;
    let after = eventually("the marker is visible", || async {
        let events = client.get("/events/query", 200).await.json();
        (events[0]["event_name"] == "Marker").then_some(events)
    })
    .await;
    assert_eq!(after.as_array().unwrap().len(), 3);
    assert_eq!(after[1]["timestamp"], first_time(&before), "the first one's time stays");
    assert!(process.stop().await.success());
}

#[tokio::test]
async fn a_second_server_on_a_data_directory_is_refused_with_a_clear_error() {
    let shared = crate::kit::server();
    let output = tokio::process::Command::new(crate::kit::MILLRACE)
        .arg("serve")
        .env("MILLRACE_DATA_DIR", &shared.data_dir)
        .env("MILLRACE_LISTEN", "127.0.0.1:0")
        .env("MILLRACE_ADMIN_LISTEN", "127.0.0.1:0")
        .env("MILLRACE_SQL_LISTEN", "127.0.0.1:0")
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let last = stderr.trim_end().lines().last().unwrap();
    assert!(last.contains(shared.data_dir.to_str().unwrap()), "{stderr}");
    assert!(last.contains(&std::process::id().to_string()), "{stderr}");
}

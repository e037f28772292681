//! Clients that go away or stop reading, keys that are revoked, and a ClickHouse that dies in the middle.

use std::path::Path;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

use super::fixture::{began_at, breaks_off, has_no_place, open, until_exported};
use crate::{
    engines::command::millrace,
    kit::{Client, Process, data_dir, eventually},
};

const PATH: &str = "/events/export";
/// Events with properties of 50 KB: more than buffers of connections hold.
const LARGE: usize = 600;

fn large_events() -> Vec<Value> {
    let text = "0123456789".repeat(5_000);
    (0..LARGE)
        .map(|number| {
            json!({"userId": "ann", "eventName": "Large", "clientEventId": format!("l{number}"),
                "timestamp": "2026-03-01T00:00:00Z", "properties": {"text": text}})
        })
        .collect()
}

async fn track_large(client: &Client) {
    for some in large_events().chunks(100) {
        client.post("/events/track", &json!(some), 200).await;
    }
    until_exported(client, LARGE).await;
}

/// Resident memory of a process, in bytes.
fn memory(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

fn clickhouse(data_dir: &Path) -> Pid {
    let text = std::fs::read_to_string(data_dir.join("clickhouse/engine.lock")).unwrap();
    Pid::from_raw(text.lines().next().unwrap().trim().parse().unwrap())
}

#[tokio::test]
async fn an_export_that_is_not_whole_never_ends_as_if_it_were() {
    let data_dir = data_dir("export-broken");
    let (server, key) = Process::start(&data_dir, &[]).await;
    let key = key.unwrap();
    let client = server.client(&key);
    track_large(&client).await;

    // Clients that read nothing hold no more than some buffers, and at most two places.
    let before = memory(server.pid());
    let (first, second) = (began_at(&client, PATH).await, began_at(&client, PATH).await);
    has_no_place(&client, PATH).await;
    let grown = memory(server.pid()).saturating_sub(before);
    assert!(grown < 24 << 20, "two exports of 30 MB hold {grown} bytes");
    // Their places are free again once they have gone.
    drop((first, second));
    drop(began_at(&client, PATH).await);

    // The engine dies in the middle: the rest comes from the next one, or the answer breaks off.
    let mut whole = open(&client, "", "*/*").await;
    let mut bytes = whole.chunk().await.unwrap().unwrap().to_vec();
    kill(clickhouse(&data_dir), Signal::SIGKILL).unwrap();
    if let Ok(rest) = whole.bytes().await {
        bytes.extend_from_slice(&rest);
        let text = String::from_utf8(bytes).unwrap();
        let row = |line: &str| serde_json::from_str::<Value>(line).unwrap()["event_id"].clone();
        let ids: Vec<Value> = text.lines().map(row).collect();
        let mut expected: Vec<String> = (0..LARGE).map(|number| format!("l{number}")).collect();
        expected.sort();
        assert_eq!(ids, expected, "each once, in order");
    }
    eventually("exports work again", || async {
        let response = open(&client, "?format=csv", "*/*").await;
        let is_whole = response.status().is_success() && response.bytes().await.is_ok();
        is_whole.then_some(())
    })
    .await;

    // A failure in the middle: the key is revoked.
    let broken = began_at(&client, PATH).await;
    let id = key.split('_').nth(1).unwrap();
    assert_eq!(millrace(&data_dir, &["keys", "revoke", id]).await.status, 0);
    breaks_off(&client, "/events/rejected", broken).await;
    drop(server);
}

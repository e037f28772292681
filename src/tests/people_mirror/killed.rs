//! Servers and ClickHouse are killed while profiles change, and two servers copy from one store.

use std::{path::Path, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{RECOVERED_MAX, Stores, rebuild::upsert};
use crate::{
    kit::{Client, Process, data_dir, eventually},
    sending::fixture::beside,
};

/// Profiles that are written while things are killed.
const PROFILES: usize = 20_000;
/// Profiles of one request.
const BATCH: usize = 100;

fn clickhouse_pid(folder: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(folder.join("clickhouse/engine.lock")).ok()?;
    text.lines().next()?.trim().parse().ok().map(Pid::from_raw)
}

/// Writes profiles, after the last the first again, until a request fails, which may have been applied all the same.
async fn upsert_until_killed(client: &Client) {
    for first in (0_usize..).step_by(BATCH) {
        let user = |n| json!({"externalId": format!("u{n}"), "email": format!("u{n}@example.test"), "attributes": {"written": first}});
        let first = first % PROFILES;
        let users: Vec<Value> = (first..first + BATCH).map(user).collect();
        let answer = client.request(Method::POST, "/users").json(&users).send().await;
        if !answer.is_ok_and(|answer| answer.status().is_success()) {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_are_complete_after_kills_of_the_server_and_of_clickhouse() {
    let folder = data_dir("people-killed");
    let (mut process, key) = Process::start(&folder, &[]).await;
    let (key, stores) = (key.unwrap(), Stores::of(&folder));
    for share in 1..=3 {
        let client = process.client(&key);
        let writes = tokio::spawn(async move { upsert_until_killed(&client).await });
        // In the middle of the writes, and of the copies of them.
        let reached = (PROFILES * share / 5) as u64;
        eventually("it is on its way", async || {
            let copied = stores.clickhouse("SELECT count() FROM people FINAL").await.ok()?;
            (copied.parse::<u64>().unwrap() >= reached).then_some(())
        })
        .await;
        if share % 2 == 1 {
            kill(clickhouse_pid(&folder).unwrap(), Signal::SIGKILL).unwrap();
            eventually("ClickHouse is back", async || stores.clickhouse("SELECT 1").await.ok())
                .await;
        }
        process.kill();
        writes.await.unwrap();
        (process, _) = Process::start(&folder, &[]).await;
    }
    upsert(&process.client(&key), 0..PROFILES, 0).await;
    stores.until_equal(None, RECOVERED_MAX).await;
    assert_eq!(stores.number("SELECT count() FROM people FINAL").await, PROFILES as u64);
    assert!(process.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_copy_from_one_store_and_one_goes_on_when_the_other_dies() {
    let folder = data_dir("people-two-first");
    let (one, key) = Process::start(&folder, &[]).await;
    let key = key.unwrap();
    let (two, _) = Process::start(&data_dir("people-two-second"), &beside(&folder)).await;
    let stores = Stores::of(&folder);
    let (first, second) = (one.client(&key), two.client(&key));
    for round in 0..3 {
        // The same profiles by both.
        let (a, b) = (first.clone(), second.clone());
        let a = tokio::spawn(async move { upsert(&a, 0..3000, round).await });
        let b = tokio::spawn(async move { upsert(&b, 1500..4500, round + 10).await });
        a.await.unwrap();
        b.await.unwrap();
        stores.until_equal(None, RECOVERED_MAX).await;
    }
    let writes = tokio::spawn(async move { upsert_until_killed(&second).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    two.kill();
    writes.await.unwrap();
    upsert(&first, 0..2000, 20).await;
    stores.until_equal(None, RECOVERED_MAX).await;
    assert!(one.stop().await.success());
}

//! Whatever is killed during a send, nobody is called twice, and nobody is forgotten.

use super::fixture::{Cohort, environment, gateway, until};
use crate::kit::{Process, data_dir, eventually};

/// Recipients of the send.
const RECIPIENTS: usize = 3_000;
/// Times the server is killed during it.
const KILLS: usize = 3;
/// Messages that can be in flight in one process: batches of three senders of one lane.
const IN_FLIGHT_MAX: usize = 3 * 256;

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_a_send_and_one_finishes_what_the_other_leaves() {
    let (url, log) = gateway();
    let (folder, first) = (data_dir("sending-first"), environment(&url));
    let (one, key) = Process::start(&folder, &first).await;
    let api = one.client(&key.unwrap());
    let clickhouse = std::fs::read_to_string(folder.join("clickhouse.url")).unwrap();
    let postgres = folder.join("postgres").display().to_string();
    let mut second = environment(&url);
    second.retain(|(name, _)| *name != "MILLRACE_CHANNELS__EMAIL__URL");
    second.extend([
        ("MILLRACE_CHANNELS__EMAIL__URL", format!("{url}/second")),
        ("DATABASE_URL", format!("postgres://millrace@localhost:5432/millrace?host={postgres}")),
        ("CLICKHOUSE_URL", clickhouse.trim().to_owned()),
    ]);
    let (two, _) = Process::start(&data_dir("sending-second"), &second).await;
    let cohort = Cohort::new(&api, RECIPIENTS, "slow").await;
    let id = cohort.send(&api, &serde_json::json!({})).await;
    let by = |name: &str| log.of(&id).iter().filter(|call| call.by == name).count();
    eventually("both send", async || (by("email") > 0 && by("second") > 0).then_some(())).await;
    two.kill();
    until(&api, &id, "completed").await;
    let called = log.once(&id);
    assert!(RECIPIENTS - called.len() <= IN_FLIGHT_MAX, "only what was in flight is lost");
    assert_eq!(one.stop().await.code(), Some(0), "and it stops in order");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_again_and_again_a_send_calls_nobody_twice_and_forgets_nobody() {
    let (url, log) = gateway();
    let (folder, environment) = (data_dir("sending-kill"), environment(&url));
    let (mut process, key) = Process::start(&folder, &environment).await;
    let key = key.unwrap();
    let cohort = Cohort::new(&process.client(&key), RECIPIENTS, "slow").await;
    let id = cohort.send(&process.client(&key), &serde_json::json!({})).await;
    for kill in 1..=KILLS {
        let reached = RECIPIENTS * kill / (KILLS + 3);
        eventually("it is on its way", async || (log.of(&id).len() >= reached).then_some(())).await;
        process.kill();
        (process, _) = Process::start(&folder, &environment).await;
    }
    until(&process.client(&key), &id, "completed").await;
    let called = log.once(&id);
    assert!(called.is_subset(&cohort.at(0..RECIPIENTS)));
    let uncalled = RECIPIENTS - called.len();
    assert!(uncalled <= KILLS * IN_FLIGHT_MAX, "{uncalled} were in nobody's hands");
    assert!(called.len() >= RECIPIENTS / 2, "most are reached");
}

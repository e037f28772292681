//! Several processes, and processes that die: no recipient is called twice or left out, and limits hold for
//! all of them together.

use std::time::{Duration, Instant};

use serde_json::json;

use super::fixture::{Cohort, Log, beside, environment, gateway, until};
use crate::kit::{Client, Process, data_dir, eventually};

/// Recipients of the send.
const RECIPIENTS: usize = 3_000;
/// Times the server is killed during it.
const KILLS: usize = 3;
/// Messages that can be in flight in one process: batches of three senders of one lane.
const IN_FLIGHT_MAX: usize = 3 * 256;

/// How soon messages of a dead process are given up. A call may take three quarters of it, also on a slow machine.
const SHORT_LEASE: (&str, &str) = ("MILLRACE_DELIVERY__LEASE_SECONDS", "12");

/// The settings of a server that may be killed.
fn killable(gateway: &str) -> Vec<(&'static str, String)> {
    let (name, seconds) = SHORT_LEASE;
    let mut settings = environment(gateway);
    settings.push((name, seconds.to_owned()));
    settings
}

/// Two processes on the same stores, the second of which sends its emails by the path `second`.
struct Pair {
    one: Process,
    two: Process,
    api: Client,
    log: Log,
}

impl Pair {
    async fn start(name: &str) -> Self {
        let (url, log) = gateway();
        let (folder, first) = (data_dir(&format!("{name}-first")), killable(&url));
        let (one, key) = Process::start(&folder, &first).await;
        let api = one.client(&key.unwrap());
        let mut second = killable(&url);
        second.retain(|(name, _)| *name != "MILLRACE_CHANNELS__EMAIL__URL");
        second.push(("MILLRACE_CHANNELS__EMAIL__URL", format!("{url}/second")));
        second.extend(beside(&folder));
        let (two, _) = Process::start(&data_dir(&format!("{name}-second")), &second).await;
        Self { one, two, api, log }
    }

    /// How many messages of a campaign left by this path.
    fn sent_by(&self, id: &str, by: &str) -> usize {
        self.log.of(id).iter().filter(|call| call.by == by).count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_one_send_rate() {
    let pair = Pair::start("rate").await;
    let cohort = Cohort::new(&pair.api, 40, "rate").await;
    // A process has three batches in flight: while none is answered, the rest of the rate is left to the other.
    pair.log.hold(&cohort.ids);
    let began = Instant::now();
    let id = cohort.send(&pair.api, &json!({"sendRateLimit": {"maxPerMinute": 600}})).await;
    let both = || pair.sent_by(&id, "email") > 0 && pair.sent_by(&id, "second") > 0;
    eventually("both send", async || both().then_some(())).await;
    pair.log.release(&cohort.ids);
    until(&pair.api, &id, "completed").await;
    assert_eq!(pair.log.once(&id).len(), 40);
    let last = pair.log.of(&id).iter().map(|call| call.at).max().unwrap();
    // Ten at once, and then ten a second of both together; with a rate each they would be done in a third
    // of the time.
    let took = last - began;
    assert!(took >= Duration::from_secs(3), "40 messages in {took:?} at 10 a second");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_a_send_and_one_finishes_after_the_other_dies() {
    let pair = Pair::start("sending").await;
    let cohort = Cohort::new(&pair.api, RECIPIENTS, "slow").await;
    let id = cohort.send(&pair.api, &json!({})).await;
    let both = || pair.sent_by(&id, "email") > 0 && pair.sent_by(&id, "second") > 0;
    eventually("both send", async || both().then_some(())).await;
    let Pair { one, two, api, log } = pair;
    two.kill();
    until(&api, &id, "completed").await;
    let called = log.once(&id);
    assert!(RECIPIENTS - called.len() <= IN_FLIGHT_MAX, "only what was in flight is lost");
    assert_eq!(one.stop().await.code(), Some(0), "and it stops in order");
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_kills_neither_duplicate_nor_lose_messages() {
    let (url, log) = gateway();
    let (folder, environment) = (data_dir("sending-kill"), killable(&url));
    let (mut process, key) = Process::start(&folder, &environment).await;
    let key = key.unwrap();
    let cohort = Cohort::new(&process.client(&key), RECIPIENTS, "slow").await;
    let id = cohort.send(&process.client(&key), &json!({})).await;
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
    assert!(uncalled <= KILLS * IN_FLIGHT_MAX, "{uncalled} were neither called nor in flight");
    assert!(called.len() >= RECIPIENTS / 2, "most are reached");
}

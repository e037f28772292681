//! Limits on sending: volume, rate, caps, quiet hours.

use std::time::{Duration, Instant};

use serde_json::json;

use super::fixture::{Cohort, call, sender, until};
use crate::kit::eventually;

fn push() -> serde_json::Value {
    json!({"channel": "push", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"title": "Hello", "body": "There"}},
    ]})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volume_limit_is_exact() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let cohort = Cohort::new(api, 100, "volume").await;
    let id = cohort.send(api, &json!({"sendVolumeLimit": {"maxSends": 10}})).await;
    until(api, &id, "completed").await;
    assert_eq!(log.once(&id).len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_rate_is_respected() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let cohort = Cohort::new(api, 40, "rate").await;
    let began = Instant::now();
    let id = cohort.send(api, &json!({"sendRateLimit": {"maxPerMinute": 600}})).await;
    until(api, &id, "completed").await;
    let last = log.of(&id).iter().map(|call| call.at).max().unwrap();
    // Ten at once, and then ten a second, however slow all else is.
    let took = last - began;
    assert!(took >= Duration::from_secs(3), "40 messages in {took:?} at 10 a second");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frequency_cap_counts_all_campaigns_except_those_that_ignore_caps() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let cohort = Cohort::new(api, 5, "capped").await;
    let mut ignoring = push();
    ignoring["ignoreTouchingRules"] = json!(true);
    let uncounted = cohort.send(api, &ignoring).await;
    until(api, &uncounted, "completed").await;
    assert_eq!(log.once(&uncounted).len(), 5);
    let first = cohort.send(api, &push()).await;
    until(api, &first, "completed").await;
    assert_eq!(log.once(&first).len(), 5, "campaigns that ignore caps do not count");
    let second = cohort.send(api, &push()).await;
    until(api, &second, "completed").await;
    assert_eq!(log.once(&second).len(), 0, "one in a day is the cap");
    let third = cohort.send(api, &ignoring).await;
    until(api, &third, "completed").await;
    assert_eq!(log.once(&third).len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn quiet_hours_delay_or_drop_messages_and_can_be_ignored() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let cohort = Cohort::new(api, 5, "quiet").await;
    let now = kernel::Clock::system().now().utc();
    let hour = |hours| (now + chrono::TimeDelta::hours(hours)).format("%H:%M").to_string();
    let quiet = |behavior: &str, enabled: bool| {
        json!({"quietTimeOverride": {
            "enabled": enabled, "start": hour(-1), "end": hour(2), "timezone": "UTC",
            "behavior": behavior,
        }})
    };
    let dropped = cohort.send(api, &quiet("skip", true)).await;
    until(api, &dropped, "completed").await;
    assert_eq!(log.once(&dropped).len(), 0);
    let aside = cohort.send(api, &quiet("skip", false)).await;
    until(api, &aside, "completed").await;
    assert_eq!(log.once(&aside).len(), 5);
    let held = cohort.send(api, &quiet("defer", true)).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(log.once(&held).len(), 0);
    let campaign = api.get(format!("/campaigns/{held}"), 200).await.json();
    assert_eq!(campaign["status"], "active", "it waits for its recipients");
    call(api, &held, "cancel").await;
    eventually("it is over", async || {
        let campaign = api.get(format!("/campaigns/{held}"), 200).await.json();
        (campaign["status"] == "cancelled").then_some(())
    })
    .await;
}

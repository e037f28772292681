//! The control group passes through rates, quiet hours and schedules like the others, so that both sides are compared
//! over the same time.

use serde_json::{Value, json};

use super::{
    clocked::{Clocked, HOUR, MINUTE, SECOND, clocked},
    fixture::{Cohort, call, until},
};
use crate::kit::eventually;

/// A variant and a control group of the same size.
fn halves(cohort: &Cohort) -> Value {
    let message = cohort.campaign(&json!({}))["variants"][0]["message"].clone();
    json!([
        {"id": "c", "name": "Control", "weight": 50, "isControlGroup": true},
        {"id": "a", "name": "A", "weight": 50, "message": message},
    ])
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Progress {
    sent: u64,
    control: u64,
    cancelled: u64,
}

async fn progress(clocked: &Clocked, id: &str) -> Progress {
    let stats = clocked.api.get(format!("/campaigns/{id}/stats"), 200).await.json();
    let count = |name: &str| stats["stats"][name].as_u64().unwrap();
    Progress { sent: count("sent"), control: count("control"), cancelled: count("cancelled") }
}

/// Waits until so many are settled; answers what became of them.
async fn settled(clocked: &Clocked, id: &str, people: u64) -> Progress {
    eventually(&format!("{people} are settled"), async || {
        let found = progress(clocked, id).await;
        (found.sent + found.control + found.cancelled >= people).then_some(found)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_rate_spreads_the_control_group_like_the_others() {
    const PEOPLE: u64 = 800;
    let clocked = clocked().await;
    let cohort = Cohort::new(&clocked.api, 800, "spread").await;
    // A hundred each second.
    let body = json!({"variants": halves(&cohort), "sendRateLimit": {"maxPerMinute": 6_000}});
    let id = cohort.send(&clocked.api, &body).await;
    let mut before = settled(&clocked, &id, 100).await;
    for second in 1..8 {
        clocked.pass(SECOND).await;
        let now = settled(&clocked, &id, 100 * (second + 1)).await;
        let (sent, control) = (now.sent - before.sent, now.control - before.control);
        assert_eq!(sent + control, 100, "the control group takes part of the rate: {now:?}");
        // Within five standard errors.
        assert!((25..=75).contains(&control), "{second}: {control} of the control group");
        before = now;
    }
    until(&clocked.api, &id, "completed").await;
    assert_eq!(before.sent + before.control, PEOPLE);
    assert_eq!(clocked.log.once(&id).len() as u64, before.sent, "nothing is sent to the others");
}

#[tokio::test(flavor = "multi_thread")]
async fn quiet_hours_hold_the_control_group_like_the_others() {
    let clocked = clocked().await;
    let cohort = Cohort::new(&clocked.api, 40, "night").await;
    let late = clocked.next(23 * HOUR);
    clocked.advance_to(late).await;
    let body = json!({
        "variants": halves(&cohort),
        "quietTimeOverride": {
            "enabled": true, "start": "22:00", "end": "08:00", "timezone": "recipient", "behavior": "defer",
        },
    });
    let id = cohort.send(&clocked.api, &body).await;
    clocked.drain().await;
    clocked.process_due().await;
    let night = progress(&clocked, &id).await;
    assert_eq!((night.sent, night.control), (0, 0), "none counts before the morning");
    // Within five minutes of the morning.
    clocked.pass(9 * HOUR + 5 * MINUTE).await;
    let morning = settled(&clocked, &id, 40).await;
    assert!(morning.control >= 5 && morning.sent >= 5, "{morning:?}");
    until(&clocked.api, &id, "completed").await;
    let path = format!("/campaigns/{id}/recipients?status=control&limit=1");
    let user = eventually("one of the control group is listed", async || {
        let page = clocked.api.get(&path, 200).await.json();
        page["data"][0]["userId"].as_str().map(str::to_owned)
    })
    .await;
    let path = format!("/campaigns/{id}/recipients/{user}");
    let events = eventually("events are in the timeline", async || {
        let events = clocked.api.get(&path, 200).await.json()["messages"][0]["events"].clone();
        events.get(0).is_some().then_some(events)
    })
    .await;
    let types: Vec<&str> =
        events.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["control"], "{events}");
    let at = kernel::Timestamp::parse(events[0]["timestamp"].as_str().unwrap()).unwrap();
    assert!(at.millis() >= late.millis() + 9 * HOUR, "{events}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_campaign_keeps_its_control_group() {
    let clocked = clocked().await;
    let cohort = Cohort::new(&clocked.api, 400, "stopped").await;
    let body = json!({"variants": halves(&cohort), "sendRateLimit": {"maxPerMinute": 6_000}});
    let id = cohort.send(&clocked.api, &body).await;
    let before = settled(&clocked, &id, 100).await;
    call(&clocked.api, &id, "cancel").await;
    let after = settled(&clocked, &id, 400).await;
    assert_eq!(after.sent, before.sent, "{after:?}");
    // Half of the three hundred, within five standard errors.
    let control = after.control - before.control;
    assert!((106..=194).contains(&control), "{after:?}");
    assert_eq!(after.sent + after.control + after.cancelled, 400);
    assert_eq!(clocked.log.once(&id).len() as u64, before.sent);
}

//! Messages that a provider does not take within a second go back to the queue without counting as an attempt.
//! Push has two calls at a time here, and one message a day for each recipient.

use std::{collections::BTreeMap, time::Duration};

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{
    clocked::{Clocked, SECOND, clocked},
    fixture::{Cohort, call, until},
};
use crate::kit::eventually;

/// Longer than a batch may keep what it has not handed over.
const LONG: Duration = Duration::from_millis(1_100);
/// Calls at a time.
const CALLS: usize = 2;
/// One batch takes them all, and hands two of them over: the last are put back five times.
const PEOPLE: usize = 6 * CALLS;
/// How often a provider is asked.
const ATTEMPTS: usize = 6;

fn push() -> Value {
    json!({"channel": "push", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"title": "Hello", "body": "There"}},
    ]})
}

/// People whose calls take long.
async fn slow_recipients(clocked: &Clocked) -> Cohort {
    let cohort = Cohort::new(&clocked.api, PEOPLE, "patient").await;
    clocked.log.delay(&cohort.ids, LONG);
    cohort
}

/// The rules by which people were left out of a campaign, once it is reported of so many.
async fn left_out(clocked: &Clocked, id: &str, count: usize) -> Vec<Value> {
    eventually("who was left out is reported", async || {
        let path = format!("/campaigns/{id}/recipients?status=skipped");
        let page = clocked.api.get(path, 200).await.json();
        let rows = page["data"].as_array().unwrap();
        let rules: Vec<Value> = rows.iter().map(|row| row["skipReason"].clone()).collect();
        // Counts, lists and reasons are separate queries: one may be up to date a moment before another.
        let are_reported = rules.len() == count && rules.iter().all(|rule| !rule.is_null());
        (page["pagination"]["total"] == count && are_reported).then_some(rules)
    })
    .await
}

/// Waits until a report says so many were sent and so many failed.
async fn reported(clocked: &Clocked, id: &str, sent: usize, failed: usize) {
    eventually("all of it is reported", async || {
        let path = format!("/campaigns/{id}/stats");
        let stats = clocked.api.get(path, 200).await.json()["stats"].clone();
        (stats["sent"] == sent && stats["failed"] == failed && stats["queued"] == PEOPLE)
            .then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deferred_message_is_sent_once_later_and_counts_once_against_caps() {
    let clocked = clocked().await;
    let (api, log) = (&clocked.api, &clocked.log);
    let cohort = slow_recipients(&clocked).await;
    let first = cohort.send(api, &push()).await;
    until(api, &first, "completed").await;
    assert_eq!(log.once(&first), cohort.at(0..PEOPLE), "each recipient is called exactly once");
    reported(&clocked, &first, PEOPLE, 0).await;

    // What was put back took nothing off the cap that was not counted, and left nothing counted twice.
    log.delay(&cohort.ids, Duration::ZERO);
    let second = cohort.send(api, &push()).await;
    until(api, &second, "completed").await;
    assert!(log.of(&second).is_empty(), "one in a day is the cap");
    assert_eq!(left_out(&clocked, &second, PEOPLE).await, vec![json!("frequency_cap"); PEOPLE]);
    clocked.pass(25 * 3_600 * SECOND).await;
    let third = cohort.send(api, &push()).await;
    until(api, &third, "completed").await;
    assert_eq!(log.once(&third), cohort.at(0..PEOPLE), "a day later they may have another");
}

#[tokio::test(flavor = "multi_thread")]
async fn deferred_messages_stay_queued_while_the_campaign_is_paused() {
    let clocked = clocked().await;
    let (api, log) = (&clocked.api, &clocked.log);
    let cohort = Cohort::new(api, PEOPLE, "patient").await;
    log.hold(&cohort.ids);
    let id = cohort.send(api, &push()).await;
    eventually("it begins", async || (log.of(&id).len() == CALLS).then_some(())).await;
    call(api, &id, "pause").await;
    tokio::time::sleep(LONG).await;
    log.release(&cohort.ids);
    clocked.await_in_flight().await;
    let halted = log.once(&id).len();
    // Those of the batch that was under way, and of another if it began before the pause did.
    assert!(halted == CALLS || halted == 2 * CALLS, "{halted} of a batch of {PEOPLE} were called");
    let queued = "select id from message
                  where workspace_id = $1 and purpose = 'campaign' and status = 'queued'";
    assert_eq!(clocked.sql(queued).await, (PEOPLE - halted) as u64, "the others wait again");
    clocked.pass(60 * SECOND).await;
    clocked.process_due().await;
    assert_eq!(log.once(&id).len(), halted, "nothing leaves while it is paused");
    call(api, &id, "resume").await;
    until(api, &id, "completed").await;
    assert_eq!(log.once(&id), cohort.at(0..PEOPLE), "each recipient is called exactly once");
    reported(&clocked, &id, PEOPLE, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deferred_message_does_not_count_as_an_attempt() {
    let clocked = clocked().await;
    let (api, log) = (&clocked.api, &clocked.log);
    let cohort = slow_recipients(&clocked).await;
    log.refuse(cohort.ids.iter().cloned(), StatusCode::SERVICE_UNAVAILABLE);
    let id = cohort.send(api, &push()).await;
    for tried in 1..=ATTEMPTS {
        let calls = || log.of(&id).len();
        eventually("all are tried", async || (calls() == PEOPLE * tried).then_some(())).await;
        // From the second time on they are in a hurry: what was put back is known by then.
        log.delay(&cohort.ids, Duration::ZERO);
        clocked.pass((5 * SECOND / 4) << (tried - 1)).await;
    }
    until(api, &id, "completed").await;
    let mut asked = BTreeMap::<String, usize>::new();
    for called in log.of(&id) {
        *asked.entry(called.external_id).or_default() += 1;
    }
    let expected = cohort.ids.iter().map(|id| (id.clone(), ATTEMPTS)).collect();
    assert_eq!(asked, expected, "each is asked for as often as any other");
    reported(&clocked, &id, 0, PEOPLE).await;
}

//! Messages a provider refuses: retried automatically, given up, and retried on request.

use axum::http::StatusCode;
use serde_json::json;

use super::{
    clocked::{HOUR, SECOND, clocked},
    fixture::{Cohort, call, sender, until},
};
use crate::kit::{Client, eventually};

/// Enough that a provider at fault is found out before all of them were tried.
const MANY: usize = 1_500;
/// As few as a provider at fault is found out by: all of them were tried by then.
const FEW: usize = 200;
/// How often a provider is asked.
const ATTEMPTS: usize = 6;

/// Waits until a report says so many were sent and so many failed.
async fn reported(api: &Client, id: &str, sent: usize, failed: usize) {
    eventually("all of it is reported", async || {
        let stats = api.get(format!("/campaigns/{id}/stats"), 200).await.json()["stats"].clone();
        (stats["sent"] == sent && stats["failed"] == failed).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_fault_fails_the_campaign_and_a_retry_reaches_each_recipient_once() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let cohort = Cohort::new(api, MANY, "fault").await;
    // Three of four are refused for what is wrong with the channel.
    let refused: Vec<String> =
        (0..MANY).filter(|n| n % 4 != 0).map(|n| cohort.ids[n].clone()).collect();
    log.refuse(refused.clone(), StatusCode::UNAUTHORIZED);
    let id = cohort.send(api, &json!({})).await;
    let failed = until(api, &id, "failed").await;
    let reason = failed["failureReason"].as_str().unwrap();
    assert!(reason.contains("messages failed with 401: "), "{reason}");
    let before = log.of(&id).len();
    assert!((200..MANY).contains(&before), "{before} were tried before it was given up");

    // It fails again until the fault is repaired.
    let retried = call(api, &id, "retry").await;
    assert_eq!(
        (&retried["status"], &retried["failureReason"]),
        (&json!("scheduled"), &json!(null))
    );
    let failed = until(api, &id, "failed").await;
    assert!(failed["failureReason"].as_str().unwrap().contains(" 401: "), "{failed}");

    log.take(&refused);
    // Halted at once, before anything was made of it, resuming it is still a retry.
    for step in ["retry", "pause", "resume"] {
        call(api, &id, step).await;
    }
    let completed = until(api, &id, "completed").await;
    assert_eq!(completed["occurrence"], 1, "it is the same sending");
    assert_eq!(log.taken(&id), cohort.at(0..MANY), "each recipient has it exactly once");
    reported(api, &id, MANY, 0).await;
    let occurrences = api.get(format!("/campaigns/{id}/send-occurrences"), 200).await.json();
    assert_eq!(occurrences["total"], 1, "{occurrences}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_fault_on_the_last_message_also_fails_the_campaign() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let cohort = Cohort::new(api, FEW, "few").await;
    log.refuse(cohort.ids.iter().cloned(), StatusCode::UNAUTHORIZED);
    let id = cohort.send(api, &json!({})).await;
    let failed = until(api, &id, "failed").await;
    let reason = failed["failureReason"].as_str().unwrap();
    assert!(reason.starts_with("200 of 200 messages failed with 401: "), "{reason}");
    log.take(&cohort.ids);
    call(api, &id, "retry").await;
    until(api, &id, "completed").await;
    assert_eq!(log.taken(&id), cohort.at(0..FEW), "each recipient has it exactly once");
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_messages_do_not_count_against_frequency_caps() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let cohort = Cohort::new(api, MANY, "fill").await;
    log.refuse(cohort.ids.iter().cloned(), StatusCode::FORBIDDEN);
    // One push message in a day is all that one gets.
    let id = cohort
        .send(
            api,
            &json!({"channel": "push", "variants": [
                {"id": "a", "name": "A", "weight": 100, "message": {"title": "Hello", "body": "There"}},
            ]}),
        )
        .await;
    until(api, &id, "failed").await;
    log.take(&cohort.ids);
    call(api, &id, "retry").await;
    until(api, &id, "completed").await;
    assert_eq!(log.taken(&id).len(), MANY, "undelivered messages do not count");
}

#[tokio::test(flavor = "multi_thread")]
async fn transient_failures_are_retried_six_times_with_growing_pauses() {
    let clocked = clocked().await;
    let (api, log) = (&clocked.api, &clocked.log);
    let cohort = Cohort::new(api, 3, "down").await;
    log.refuse(cohort.at(0..2), StatusCode::SERVICE_UNAVAILABLE);
    let id = cohort.send(api, &json!({})).await;
    for tried in 1..=ATTEMPTS {
        let calls = || log.of(&id).into_iter().filter(|call| !call.is_taken).count();
        eventually("they are tried", async || (calls() == 2 * tried).then_some(())).await;
        let least = (3 * SECOND / 4) << (tried - 1);
        clocked.pass(least - 1).await;
        clocked.process_due().await;
        assert_eq!(calls(), 2 * tried, "nothing is retried before its time");
        clocked.pass(least).await;
    }
    until(api, &id, "completed").await;
    assert_eq!(log.of(&id).len(), 2 * ATTEMPTS + 1);
    reported(api, &id, 1, 2).await;
    eventually("the reasons of both are counted", async || {
        let reasons = api.get(format!("/campaigns/{id}/failure-reasons"), 200).await.json();
        assert_eq!(reasons.get(1), None, "{reasons}");
        (reasons[0]["code"] == "503" && reasons[0]["count"] == 2).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_honour_retry_after() {
    let clocked = clocked().await;
    let (api, log) = (&clocked.api, &clocked.log);
    let cohort = Cohort::new(api, 1, "busy").await;
    let id = cohort.send(api, &json!({})).await;
    eventually("it is asked", async || (log.of(&id).len() == 1).then_some(())).await;
    // By itself it would be a second and a quarter at most.
    clocked.pass(2 * SECOND - 1).await;
    clocked.process_due().await;
    assert_eq!(log.of(&id).len(), 1);
    clocked.pass(1).await;
    until(api, &id, "completed").await;
    assert_eq!(log.of(&id).len(), 2);
    reported(api, &id, 1, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_deferred_for_three_days_are_dropped() {
    let clocked = clocked().await;
    let (api, log) = (&clocked.api, &clocked.log);
    let cohort = Cohort::new(api, 5, "held").await;
    // One a second: while the clock stands, one.
    let slowly = json!({"sendRateLimit": {"maxPerMinute": 60}});
    let (id, later) = (cohort.send(api, &slowly).await, cohort.send(api, &slowly).await);
    for id in [&id, &later] {
        eventually("one leaves", async || (log.of(id).len() == 1).then_some(())).await;
        call(api, id, "pause").await;
    }
    clocked.pass(72 * HOUR - SECOND).await;
    call(api, &id, "resume").await;
    eventually("another leaves", async || (log.of(&id).len() == 2).then_some(())).await;
    // Halted, so that no sender that looked at the clock before acts after: what it finds is in time for it.
    call(api, &id, "pause").await;
    clocked.process_due().await;
    clocked.pass(SECOND).await;
    // Neither has messages left to send after it is resumed.
    call(api, &id, "resume").await;
    call(api, &later, "resume").await;
    for (id, sent) in [(&id, 2), (&later, 1)] {
        until(api, id, "completed").await;
        assert_eq!(log.taken(id).len(), sent);
    }
    let skipped = eventually("it is reported", async || {
        let path = format!("/campaigns/{id}/recipients?status=skipped");
        let page = api.get(path, 200).await.json();
        // The reasons may be there a moment after the status.
        let are_reported =
            page["data"].as_array().unwrap().iter().all(|row| !row["skipReason"].is_null());
        (page["pagination"]["total"] == 3 && are_reported).then_some(page)
    })
    .await;
    for row in skipped["data"].as_array().unwrap() {
        assert_eq!(row["skipReason"], "expired", "{row}");
    }
}

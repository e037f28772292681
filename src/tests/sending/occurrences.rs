//! Campaigns that run more than once: by a schedule, or resent.

use std::collections::BTreeSet;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{
    clocked::{Clocked, DAY, HOUR, MINUTE, clocked},
    fixture::{Cohort, call, until},
};
use crate::kit::eventually;

/// Enough that a provider at fault is found out.
const MANY: usize = 600;

/// Every day at nine, with these besides.
fn daily(besides: &Value) -> Value {
    let mut schedule = json!({"frequency": "daily", "timeOfDay": "09:00", "timezone": "UTC"});
    for (name, value) in besides.as_object().unwrap() {
        schedule[name] = value.clone();
    }
    json!({"sendType": "recurring", "recurringSchedule": schedule})
}

async fn occurrences(clocked: &Clocked, id: &str) -> Value {
    clocked.api.get(format!("/campaigns/{id}/send-occurrences"), 200).await.json()
}

/// Waits until the newest occurrence is this one, settled, and reported with so many sent.
async fn settled(clocked: &Clocked, id: &str, occurrence: u32, sent: usize) -> Value {
    eventually("the occurrence is over", async || {
        let all = occurrences(clocked, id).await;
        let newest = &all["data"][0];
        let is_over = newest["completedAt"].is_string() && newest["sent"] == sent;
        (newest["occurrence"] == occurrence && is_over).then_some(all)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recurring_campaign_runs_for_its_occurrences_or_until_stopped() {
    let clocked = clocked().await;
    let (api, log) = (&clocked.api, &clocked.log);
    let mut cohort = Cohort::new(api, 3, "daily").await;
    let twice = cohort.send(api, &daily(&json!({"maxOccurrences": 2}))).await;
    let stopped = cohort.send(api, &daily(&json!({}))).await;
    clocked.settle().await;
    assert!(log.of(&twice).is_empty(), "not before its time");
    let first = clocked.next(9 * HOUR);
    clocked.advance_to(first).await;
    settled(&clocked, &twice, 1, 3).await;
    settled(&clocked, &stopped, 1, 3).await;
    assert_eq!(log.once(&twice), cohort.at(0..3));
    let going_on = until(api, &twice, "active").await;
    assert_eq!(going_on["nextSendAt"], clocked.next(9 * HOUR).to_string());
    call(api, &stopped, "stop-recurring").await;
    until(api, &stopped, "completed").await;

    cohort.join(api).await;
    clocked.pass(DAY).await;
    let all = settled(&clocked, &twice, 2, 4).await;
    assert_eq!(log.of(&twice).len(), 7, "yesterday's recipients again, and new ones");
    let messages: BTreeSet<String> = log.of(&twice).into_iter().map(|it| it.message).collect();
    assert_eq!(messages.len(), 7, "each a message of its own");
    let row = |at: usize, field: &str| all["data"][at][field].clone();
    assert_eq!((&all["total"], row(1, "occurrence")), (&json!(2), json!(1)), "{all}");
    assert_eq!((row(0, "sent"), row(1, "sent")), (json!(4), json!(3)), "{all}");
    let day = |at: i64| kernel::Timestamp::from_millis(at).to_string()[..10].to_owned();
    assert_eq!(row(0, "sendDate"), day(first.millis() + DAY), "{all}");
    assert_eq!(row(1, "sendDate"), day(first.millis()), "{all}");
    let over = until(api, &twice, "completed").await;
    assert_eq!((&over["occurrence"], &over["nextSendAt"]), (&json!(2), &json!(null)));

    clocked.pass(DAY).await;
    clocked.settle().await;
    assert_eq!((log.of(&twice).len(), log.of(&stopped).len()), (7, 3), "that was all");
    assert_eq!(occurrences(&clocked, &stopped).await["total"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_recurring_campaign_repeats_its_last_occurrence_and_continues() {
    let clocked = clocked().await;
    let (api, log) = (&clocked.api, &clocked.log);
    let cohort = Cohort::new(api, MANY, "fails").await;
    let due = clocked.next(9 * HOUR);
    let last = daily(&json!({"endDate": due.to_string()[..10]}));
    let ids = [cohort.send(api, &daily(&json!({}))).await, cohort.send(api, &last).await];
    log.refuse(cohort.ids.iter().cloned(), StatusCode::UNAUTHORIZED);
    clocked.advance_to(due).await;
    for id in &ids {
        until(api, id, "failed").await;
    }
    log.take(&cohort.ids);
    clocked.pass(HOUR).await;
    for id in &ids {
        call(api, id, "retry").await;
        let all = settled(&clocked, id, 1, MANY).await;
        assert_eq!(all["total"], 1, "the same time again, not another: {all}");
        assert_eq!(log.taken(id), cohort.at(0..MANY), "each recipient has it exactly once");
    }
    let [goes_on, ends] = &ids;
    until(api, ends, "completed").await;
    let next = until(api, goes_on, "active").await;
    assert_eq!(next["nextSendAt"], clocked.next(9 * HOUR).to_string());
    clocked.advance_to(clocked.next(9 * HOUR)).await;
    settled(&clocked, goes_on, 2, MANY).await;
    call(api, goes_on, "stop-recurring").await;
    assert_eq!(log.of(ends).iter().filter(|call| call.is_taken).count(), MANY);
}

#[tokio::test(flavor = "multi_thread")]
async fn resending_follows_the_re_entry_policy() {
    let clocked = clocked().await;
    let (api, log) = (&clocked.api, &clocked.log);
    let mut cohort = Cohort::new(api, 4, "policy").await;
    let with = |policy: &str| match policy {
        "cooldown" => json!({"resendPolicy": policy, "resendCooldownDays": 7}),
        _ => json!({"resendPolicy": policy}),
    };
    let mut ids = Vec::new();
    for policy in ["everyone", "cooldown", "only_new"] {
        let id = cohort.send(api, &with(policy)).await;
        until(api, &id, "completed").await;
        ids.push(id);
    }
    let again = async |expected: [usize; 3]| {
        for (id, expected) in ids.iter().zip(expected) {
            let before = log.of(id).len();
            call(api, id, "resend").await;
            until(api, id, "completed").await;
            assert_eq!(log.of(id).len() - before, expected, "{expected:?}");
        }
    };
    clocked.pass(3 * DAY).await;
    cohort.join(api).await;
    again([5, 1, 1]).await;
    // For four the week is over, for the one who came later it is not.
    clocked.pass(4 * DAY + MINUTE).await;
    again([5, 4, 0]).await;
    // A recipient gets a message once, however often it is resent.
    for id in &ids {
        let calls = log.of(id);
        let messages: BTreeSet<&str> = calls.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(messages.len(), calls.len());
    }
    let skipped = eventually("who was left out is reported", async || {
        let path = format!("/campaigns/{}/recipients?status=skipped", ids[2]);
        let page = api.get(path, 200).await.json();
        // The reason may be there a moment after the status.
        let is_reported = !page["data"][0]["skipReason"].is_null();
        (page["pagination"]["total"] == 5 && is_reported).then_some(page)
    })
    .await;
    assert_eq!(skipped["data"][0]["skipReason"], "resend_policy");
    assert_eq!(occurrences(&clocked, &ids[0]).await["total"], 3);
}

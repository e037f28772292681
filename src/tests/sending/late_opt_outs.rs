//! Opt-outs during a batch. Push has two calls at a time here, and one message a day for each
//! recipient.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    clocked::clocked,
    fixture::{Cohort, consent, until},
};
use crate::kit::eventually;

/// Recipients: one batch takes them all, and hands two of them over at a time.
const PEOPLE: usize = 6;
/// Calls at a time.
const CALLS: usize = 2;

fn push() -> Value {
    json!({"channel": "push", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"title": "Hello", "body": "There"}},
    ]})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opt_out_during_a_batch_sends_nothing_and_is_not_counted() {
    let clocked = clocked().await;
    let (api, log) = (&clocked.api, &clocked.log);
    let cohort = Cohort::new(api, PEOPLE, "late").await;
    log.hold(&cohort.ids);
    let id = cohort.send(api, &push()).await;
    eventually("the first are called", async || (log.of(&id).len() == CALLS).then_some(())).await;
    let called = log.once(&id);
    let others: BTreeSet<String> = cohort.at(0..PEOPLE).difference(&called).cloned().collect();
    for other in &others {
        consent(api, other, "push", "unsubscribed").await;
    }
    log.release(&cohort.ids);
    until(api, &id, "completed").await;
    assert_eq!(log.once(&id), called, "the others opted out before their turn came");
    eventually("they are reported as skipped", async || {
        let path = format!("/campaigns/{id}/recipients?status=skipped");
        let page = api.get(path, 200).await.json();
        let rows = page["data"].as_array().unwrap();
        let rules: Vec<&Value> = rows.iter().map(|row| &row["skipReason"]).collect();
        (rules == vec!["channel_consent"; others.len()]).then_some(())
    })
    .await;

    // What they did not get counts against no cap.
    for other in &others {
        consent(api, other, "push", "optedIn").await;
    }
    let second = cohort.send(api, &push()).await;
    until(api, &second, "completed").await;
    assert_eq!(log.once(&second), others);
}

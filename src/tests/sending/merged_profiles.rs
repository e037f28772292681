//! Profiles that are merged while their campaign is sent: each person gets it once.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    clocked::clocked,
    fixture::{Cohort, Log, consent, sender, until},
};
use crate::kit::{Client, eventually};

/// Pairs of profiles: one batch takes them all, and sends two messages at a time.
const PAIRS: usize = 4;
/// Calls at a time.
const CALLS: usize = 2;

/// Merges the second of each two people into the first, or the other way round in every other pair.
async fn merge_pairs(api: &Client, cohort: &Cohort, which: impl Fn(usize) -> bool) {
    for (number, pair) in cohort.ids.chunks(2).enumerate().filter(|(number, _)| which(*number)) {
        let (from, into) = if number % 2 == 0 { (1, 0) } else { (0, 1) };
        let body = json!({"from": pair[from], "into": pair[into]});
        let merged = api.post("/users/merge", &body, 200).await.json();
        assert_eq!(merged["merged"], true);
    }
}

/// How many calls each pair had for a campaign.
fn calls_of_pairs(log: &Log, campaign: &str, cohort: &Cohort) -> Vec<usize> {
    let mut calls = BTreeMap::<String, usize>::new();
    for call in log.of(campaign) {
        *calls.entry(call.external_id).or_default() += 1;
    }
    let of = |id: &String| calls.get(id).copied().unwrap_or(0);
    cohort.ids.chunks(2).map(|pair| pair.iter().map(of).sum()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_with_two_profiles_in_the_audience_gets_one_message() {
    let clocked = clocked().await;
    let (api, log) = (&clocked.api, &clocked.log);
    let cohort = Cohort::new(api, 2 * PAIRS, "pair").await;
    log.hold(&cohort.ids);
    let push = json!({"channel": "push", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"title": "Hello", "body": "There"}},
    ]});
    let id = cohort.send(api, &push).await;
    eventually("the first are called", async || (log.of(&id).len() == CALLS).then_some(())).await;
    // Two messages that are both on their way already cannot be helped.
    let before = calls_of_pairs(log, &id, &cohort);
    let merged: Vec<usize> = (0..PAIRS).filter(|number| before[*number] < 2).collect();
    merge_pairs(api, &cohort, |number| merged.contains(&number)).await;
    log.release(&cohort.ids);
    until(api, &id, "completed").await;
    let after = calls_of_pairs(log, &id, &cohort);
    for number in merged {
        assert_eq!(after[number], 1, "pair {number}: {before:?} before, {after:?} after");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_merged_before_the_launch_gets_one_message_under_the_stricter_consent() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let cohort = Cohort::new(api, 20, "early").await;
    // The first of the first five pairs opted out.
    for pair in cohort.ids.chunks(2).take(5) {
        consent(api, &pair[0], "email", "unsubscribed").await;
        consent(api, &pair[1], "email", "optedIn").await;
    }
    merge_pairs(api, &cohort, |_| true).await;
    let id = cohort.send(api, &json!({})).await;
    until(api, &id, "completed").await;
    let calls = calls_of_pairs(log, &id, &cohort);
    assert_eq!(calls, [vec![0; 5], vec![1; 5]].concat());
}

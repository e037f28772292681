//! Recipients of a campaign, and the outcomes of those it does not reach.

use std::collections::BTreeSet;

use serde_json::json;

use super::fixture::{Cohort, call, consent, internal, sender, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_send_reaches_each_eligible_profile_of_ten_thousand_exactly_once() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let cohort = Cohort::new(api, 10_000, "mixed").await;
    // 0..20 unsubscribed, 20..40 suppressed, 40..60 bounced, 60..80 deleted, 80..100 without address.
    for id in &cohort.ids[0..20] {
        consent(api, id, "email", "unsubscribed").await;
    }
    for id in &cohort.ids[20..40] {
        let body = json!({"channel": "email", "identifier": format!("mixed-{id}@example.test")});
        api.post("/suppressions", &body, 201).await;
    }
    for id in &cohort.ids[40..60] {
        let body = json!({"channel": "email", "identifier": format!("mixed-{id}@example.test")});
        api.post("/suppressions/hard-bounce", &body, 201).await;
    }
    for id in &cohort.ids[60..80] {
        let path = format!("/users/{}", internal(api, id).await);
        let answer = api.request(reqwest::Method::DELETE, &path).send().await.unwrap();
        assert!(answer.status().is_success());
    }
    for id in &cohort.ids[80..100] {
        let path = format!("/users/{}", internal(api, id).await);
        let gone = api.request(reqwest::Method::PUT, &path).json(&json!({"email": null}));
        api.send(gone, 200).await;
    }
    let message = cohort.campaign(&json!({}))["variants"][0]["message"].clone();
    let variants = json!([
        {"id": "control", "name": "Control", "weight": 10, "isControlGroup": true},
        {"id": "a", "name": "A", "weight": 45, "message": message},
        {"id": "b", "name": "B", "weight": 45, "message": message},
    ]);
    let made = api.post("/campaigns", &cohort.campaign(&json!({"variants": variants})), 201).await;
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let preview = call(api, &id, "preview-launch").await;
    assert_eq!(preview["audience"]["reachable"], 9_900, "{preview}");
    assert_eq!(preview["audience"]["matched"], 9_980);
    call(api, &id, "send").await;
    let done = until(api, &id, "completed").await;
    assert!(done["completedAt"].is_string());
    let called = log.once(&id);
    let allowed = cohort.at(100..10_000);
    assert!(called.is_subset(&allowed), "an ineligible profile was called");
    let control = 9_900 - called.len();
    assert!((800..=1_180).contains(&control), "a tenth is held out, not {control}");
    let variants: BTreeSet<String> = log.of(&id).into_iter().map(|call| call.variant).collect();
    assert_eq!(variants, BTreeSet::from(["a".to_owned(), "b".to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_counts_the_recipients_a_send_will_reach() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let cohort = Cohort::new(api, 50, "previewed").await;
    for id in &cohort.ids[0..7] {
        consent(api, id, "email", "unsubscribed").await;
    }
    let made = api.post("/campaigns", &cohort.campaign(&json!({})), 201).await.json();
    let id = made["id"].as_str().unwrap();
    let preview = call(api, id, "preview-launch").await;
    call(api, id, "send").await;
    until(api, id, "completed").await;
    assert_eq!(preview["audience"]["estimatedSends"], log.once(id).len());
    assert_eq!(log.once(id), cohort.at(7..50));
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_deferred_by_a_gateway_are_retried_when_it_asks_and_refused_ones_are_not() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let (busy, refused) = (Cohort::new(api, 3, "busy").await, Cohort::new(api, 3, "refused").await);
    let busy_id = busy.send(api, &json!({})).await;
    let refused_id = refused.send(api, &json!({})).await;
    until(api, &refused_id, "completed").await;
    assert_eq!(log.once(&refused_id).len(), 3);
    until(api, &busy_id, "completed").await;
    let calls = log.of(&busy_id);
    assert_eq!(calls.len(), 6, "each twice");
    for first in &calls {
        let of_it: Vec<_> = calls.iter().filter(|call| call.message == first.message).collect();
        let pause = of_it[1].at.duration_since(of_it[0].at);
        assert!(pause.as_millis() >= 1_900, "asked again after {pause:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opt_out_during_a_send_stops_later_messages() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let cohort = Cohort::new(api, 150, "racing").await;
    let rate = json!({"sendRateLimit": {"maxPerMinute": 600}});
    let id = cohort.send(api, &rate).await;
    crate::kit::eventually("it begins", async || (!log.of(&id).is_empty()).then_some(())).await;
    let mut opted_out = Vec::new();
    for external in &cohort.ids[0..30] {
        consent(api, external, "email", "unsubscribed").await;
        opted_out.push((external.clone(), std::time::Instant::now()));
    }
    until(api, &id, "completed").await;
    let called = log.once(&id);
    assert!(cohort.at(30..150).is_subset(&called), "the others are reached");
    // Between the gate and the call lies a batch that passed the gate before: here a second's worth, or more where the
    // machine is busy.
    let grace = std::time::Duration::from_secs(5);
    for (external, at) in opted_out {
        let late = log
            .of(&id)
            .into_iter()
            .find(|call| call.external_id == external && call.at > at + grace);
        assert!(late.is_none(), "{external} was called after opting out");
    }
    assert!(called.len() < 150, "the opt-outs were in time");
}

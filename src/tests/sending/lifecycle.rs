//! Effects of pause, resume, cancel and resend on a running send.

use std::time::Duration;

use serde_json::json;

use super::fixture::{Cohort, call, sender, until};
use crate::kit::eventually;

/// A batch that had left when a send was halted may still arrive.
const IN_FLIGHT: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread")]
async fn a_send_can_be_paused_resumed_and_cancelled() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let cohort = Cohort::new(api, 200, "steps").await;
    let id = cohort.send(api, &json!({"sendRateLimit": {"maxPerMinute": 600}})).await;
    eventually("it begins", async || (log.of(&id).len() >= 10).then_some(())).await;
    call(api, &id, "pause").await;
    tokio::time::sleep(IN_FLIGHT).await;
    let halted = log.once(&id).len();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(log.once(&id).len(), halted, "nothing leaves while it is paused");
    call(api, &id, "resume").await;
    eventually("it continues", async || (log.of(&id).len() >= halted + 10).then_some(())).await;
    call(api, &id, "cancel").await;
    tokio::time::sleep(IN_FLIGHT).await;
    let cancelled = log.once(&id).len();
    assert!(cancelled < 200);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(log.once(&id).len(), cancelled, "nothing leaves any more");
    assert_eq!(until(api, &id, "cancelled").await["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn resending_reaches_only_people_who_were_not_sent_to_before() {
    let sender = sender().await;
    let (api, log) = (&sender.api(), &sender.log);
    let mut cohort = Cohort::new(api, 20, "again").await;
    let id = cohort.send(api, &json!({"resendPolicy": "only_new"})).await;
    until(api, &id, "completed").await;
    assert_eq!(log.once(&id).len(), 20);
    let late = cohort.join(api).await;
    call(api, &id, "resend").await;
    eventually("the new one is called", async || (log.of(&id).len() == 21).then_some(())).await;
    until(api, &id, "completed").await;
    assert!(log.once(&id).contains(&late), "and no one else again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_campaign_without_a_provider_fails_with_the_reason() {
    let sender = sender().await;
    let api = &sender.api();
    let cohort = Cohort::new(api, 1, "none").await;
    let body = json!({"channel": "viber", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"body": "Hello"}},
    ]});
    let id = cohort.send(api, &body).await;
    let failed = until(api, &id, "failed").await;
    assert_eq!(failed["failureReason"], "no provider is set for channel viber");
}

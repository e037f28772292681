//! A campaign that is paused for a month in the middle of an A/B test.

use serde_json::{Value, json};

use super::{
    clocked::{Clocked, DAY, HOUR, clocked},
    fixture::{Cohort, call, until},
};
use crate::kit::eventually;

/// Enough that either variant has more than the test asks for.
const PEOPLE: usize = 80;

fn trial_campaign() -> Value {
    let variant = |id: &str| {
        json!({"id": id, "name": id, "weight": 50, "message": {"subject": "Hello",
            "html": "<p>Hello <a href=\"{{ unsubscribe_url }}\">out</a></p>"}})
    };
    let config = json!({
        "testPercentage": 50, "testDurationHours": 4, "winnerMetric": "open_rate", "minSamplePerVariant": 1,
    });
    json!({"variants": [variant("a"), variant("b")], "abTestConfig": config})
}

async fn report(clocked: &Clocked, id: &str) -> Value {
    clocked.api.get(format!("/campaigns/{id}/variant-stats"), 200).await.json()
}

/// Messages of both variants, opens, and their rates.
fn sent(report: &Value) -> Vec<Value> {
    let of = |variant: &Value| ["sent", "opened", "rate"].map(|name| variant[name].clone()).into();
    report["variants"].as_array().unwrap().iter().map(|variant| Value::Array(of(variant))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_that_is_paused_for_a_month_keeps_its_own_messages() {
    let clocked = clocked().await;
    let cohort = Cohort::new(&clocked.api, PEOPLE, "paused").await;
    let id = cohort.send(&clocked.api, &trial_campaign()).await;
    eventually("the test begins", async || (!clocked.log.of(&id).is_empty()).then_some(())).await;
    clocked.drain().await;
    let tried = clocked.log.of(&id).len();
    assert!(tried > 0 && tried < PEOPLE, "{tried} of {PEOPLE}");
    let before = eventually("the messages are reported", async || {
        let found = report(&clocked, &id).await;
        let of = |at: usize| found["variants"][at]["sent"].as_u64().unwrap();
        (of(0) + of(1) == tried as u64).then_some(found)
    })
    .await;
    assert_eq!((&before["phase"], &before["scope"]), (&json!("testing"), &json!("trial")));

    clocked.pass(2 * HOUR).await;
    eventually("the test was looked at", async || {
        let found = report(&clocked, &id).await;
        let looked = &found["variants"][1]["comparison"]["sequential"]["informationFraction"];
        (looked.as_f64() == Some(0.5)).then_some(())
    })
    .await;
    call(&clocked.api, &id, "pause").await;
    clocked.pass(30 * DAY).await;
    clocked.process_due().await;
    let paused = report(&clocked, &id).await;
    assert_eq!((&paused["phase"], &paused["verdict"]), (&json!("testing"), &Value::Null));
    assert_eq!(sent(&paused), sent(&before));
    assert_eq!(clocked.log.of(&id).len(), tried, "the others wait");

    call(&clocked.api, &id, "resume").await;
    until(&clocked.api, &id, "completed").await;
    assert_eq!(
        clocked.log.once(&id).len(),
        tried,
        "what waited for more than three days is dropped"
    );
    eventually("the others are reported", async || {
        let path = format!("/campaigns/{id}/recipients?status=skipped&limit=1");
        let page = clocked.api.get(path, 200).await.json();
        let is_reported = page["pagination"]["total"] == PEOPLE - tried;
        (is_reported && page["data"][0]["skipReason"] == "expired").then_some(())
    })
    .await;
    let whole = eventually("the test is decided", async || {
        let found = report(&clocked, &id).await;
        (found["phase"] != "testing").then_some(found)
    })
    .await;
    assert_eq!(sent(&whole), sent(&before), "messages of the test only");
    assert_eq!((&whole["scope"], &whole["phase"]), (&json!("trial"), &json!("inconclusive")));
    assert_eq!(
        (&whole["verdict"]["decision"], &whole["rollout"]["recipients"]),
        (&json!("best_sent"), &json!(0)),
    );
    assert_eq!(whole["sampleRatioMismatch"]["detected"], false);
    for variant in whole["variants"].as_array().unwrap() {
        assert_ne!(variant["comparison"]["isSignificant"], true, "{whole}");
    }
}

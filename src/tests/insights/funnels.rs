//! `POST /insights/funnels`: people, rates and times.

use serde_json::{Value, json};

use super::{event, track};
use crate::kit::Workspace;

async fn funnel(workspace: &Workspace, question: Value) -> Value {
    workspace.api.post("/insights/funnels", &question, 200).await.json()
}

/// Ann goes all the way, Bob comes too late, Cid goes half of it, Dan only looks.
async fn shop() -> Workspace {
    let workspace = Workspace::new().await;
    track(
        &workspace,
        &[
            event("ann", "Viewed", "2026-03-01T10:00:00Z", json!({"country": "DE"})),
            event("ann", "Noise", "2026-03-01T10:05:00Z", json!({})),
            event("ann", "Added", "2026-03-01T10:10:00Z", json!({})),
            event("ann", "Bought", "2026-03-08T10:00:00Z", json!({})),
            event("bob", "Viewed", "2026-03-01T10:00:00Z", json!({"country": "DE"})),
            event("bob", "Added", "2026-03-01T10:00:30Z", json!({})),
            event("bob", "Bought", "2026-03-08T10:00:00.001Z", json!({})),
            event("cid", "Viewed", "2026-03-02T10:00:00Z", json!({"country": "FR"})),
            event("cid", "Added", "2026-03-02T10:00:10Z", json!({})),
            event("dan", "Viewed", "2026-03-31T23:59:59.999Z", json!({})),
            event("dan", "Viewed", "2026-04-01T00:00:00Z", json!({})),
            event("eve", "Added", "2026-03-02T10:00:10Z", json!({})),
        ],
    )
    .await;
    workspace
}

fn question() -> Value {
    json!({
        "steps": [{"eventName": "Viewed"}, {"eventName": "Added", "label": "In the cart"}, {"eventName": "Bought"}],
        "window": {"amount": 7, "unit": "days"}, "from": "2026-03-01", "to": "2026-03-31",
    })
}

#[tokio::test]
async fn people_go_through_steps_within_the_window() {
    let workspace = shop().await;
    let answer = funnel(&workspace, question()).await;
    assert_eq!(answer["entered"], 4);
    let steps = answer["steps"].as_array().unwrap();
    let of = |field: &str| -> Vec<Value> { steps.iter().map(|step| step[field].clone()).collect() };
    assert_eq!(json!(of("label")), json!(["Viewed", "In the cart", "Bought"]));
    assert_eq!(json!(of("people")), json!([4, 3, 1]));
    assert_eq!(json!(of("fromStart")), json!([1.0, 0.75, 0.25]));
    assert_eq!(of("fromPrevious")[1], 0.75);
    assert_eq!(json!(of("medianSecondsFromPrevious")), json!([null, 30.0, 604_200.0]));
    // Wilson's interval of 1 of 4 (statsmodels 0.14: proportion_confint(1, 4, method="wilson")).
    let interval = &steps[2]["interval"];
    assert!((interval[0].as_f64().unwrap() - 0.045_587).abs() < 1e-6, "{interval}");
    assert!((interval[1].as_f64().unwrap() - 0.699_358).abs() < 1e-6, "{interval}");
    assert_eq!(answer.get("breakdown"), None);
}

#[tokio::test]
async fn other_events_may_not_come_between_in_a_strict_funnel() {
    let workspace = shop().await;
    let mut strict = question();
    strict["order"] = json!("strict");
    strict["steps"] = json!([{"eventName": "Viewed"}, {"eventName": "Added"}]);
    let answer = funnel(&workspace, strict).await;
    assert_eq!(json!([answer["steps"][0]["people"], answer["steps"][1]["people"]]), json!([4, 2]));
}

#[tokio::test]
async fn a_funnel_is_broken_down_by_the_entry() {
    let workspace = shop().await;
    let mut broken = question();
    broken["breakdown"] = json!({"property": "country", "limit": 1});
    let answer = funnel(&workspace, broken).await;
    let shown: Vec<Value> = answer["breakdown"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            json!([
                it["breakdown"],
                it["other"],
                it["entered"],
                it["steps"][1]["people"],
                it["steps"][2]["people"]
            ])
        })
        .collect();
    assert_eq!(
        json!(shown),
        json!([["DE", false, 2, 2, 1], [null, false, 1, 0, 0], [null, true, 1, 1, 0]])
    );
}

#[tokio::test]
async fn a_funnel_without_people_has_no_rates() {
    let workspace = Workspace::new().await;
    let answer = funnel(&workspace, question()).await;
    assert_eq!(answer["entered"], 0);
    for step in answer["steps"].as_array().unwrap() {
        for field in ["fromPrevious", "fromStart", "interval", "medianSecondsFromPrevious"] {
            assert_eq!(step[field], Value::Null, "{field}");
        }
    }
}

#[tokio::test]
async fn people_go_through_twenty_steps_also_at_one_instant() {
    const STEPS: usize = 20;
    let workspace = Workspace::new().await;
    let at = |second: usize| format!("2026-03-01T10:00:{second:02}Z");
    let step = |number: usize| format!("Step {number}");
    let mut events = Vec::new();
    for (user, steps) in [("ann", STEPS), ("bob", 7)] {
        for number in 0..steps {
            events.push(event(user, &step(number), &at(number), json!({})));
            events.push(event(user, "Same", &at(0), json!({})));
        }
    }
    track(&workspace, &events).await;
    let people = async |names: Vec<String>| -> Vec<u64> {
        let steps: Vec<Value> = names.iter().map(|name| json!({"eventName": name})).collect();
        let question = json!({"steps": steps, "window": {"amount": 1, "unit": "hours"},
            "from": "2026-03-01", "to": "2026-03-01"});
        let answer = funnel(&workspace, question).await;
        let steps = answer["steps"].as_array().unwrap();
        steps.iter().map(|step| step["people"].as_u64().unwrap()).collect()
    };
    let expected: Vec<u64> = (0..STEPS).map(|number| if number < 7 { 2 } else { 1 }).collect();
    assert_eq!(people((0..STEPS).map(step).collect()).await, expected);
    // An event is one step only: who has seven of it goes through seven steps.
    assert_eq!(people(vec!["Same".to_owned(); STEPS]).await, expected);
}

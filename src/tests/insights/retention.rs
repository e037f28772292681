//! `POST /insights/retention`: cohorts and those who return.

use serde_json::{Value, json};

use super::{event, track};
use crate::kit::Workspace;

#[tokio::test]
async fn people_return_by_week_and_later() {
    let workspace = Workspace::new().await;
    // The 2nd of March 2026 is a Monday.
    track(
        &workspace,
        &[
            event("ann", "Signed up", "2026-03-02T10:00:00Z", json!({})),
            event("ann", "Signed up", "2026-03-10T10:00:00Z", json!({})),
            event("ann", "Opened", "2026-03-02T11:00:00Z", json!({})),
            event("ann", "Opened", "2026-03-16T11:00:00Z", json!({})),
            event("bob", "Signed up", "2026-03-08T23:59:59.999Z", json!({})),
            event("bob", "Opened", "2026-03-02T11:00:00Z", json!({})),
            event("bob", "Opened", "2026-03-09T00:00:00Z", json!({})),
            event("cid", "Signed up", "2026-03-16T10:00:00Z", json!({})),
            event("dan", "Opened", "2026-03-16T10:00:00Z", json!({})),
        ],
    )
    .await;
    let question = |mode: &str| {
        json!({
            "start": {"eventName": "Signed up"}, "return": {"eventName": "Opened"}, "interval": "week", "intervals": 3,
            "mode": mode, "from": "2026-03-02", "to": "2026-03-22",
        })
    };
    for (mode, first) in [("classic", [1, 1, 1]), ("rolling", [2, 2, 1])] {
        let answer = workspace.api.post("/insights/retention", &question(mode), 200).await.json();
        assert_eq!(
            answer,
            json!({"cohorts": [
                {"from": "2026-03-02T00:00:00Z", "size": 2, "values": first},
                {"from": "2026-03-09T00:00:00Z", "size": 0, "values": [0, 0, 0]},
                {"from": "2026-03-16T00:00:00Z", "size": 1, "values": [0, 0, 0]},
            ]}),
            "{mode}"
        );
    }
    // One event that is both counts as both.
    let both = json!({"start": {"eventName": "Signed up"}, "return": {"eventName": "Signed up"}, "interval": "day",
                      "intervals": 1, "from": "2026-03-02", "to": "2026-03-02"});
    let answer = workspace.api.post("/insights/retention", &both, 200).await.json();
    assert_eq!(answer["cohorts"][0]["values"], json!([1]));
}

#[tokio::test]
async fn intervals_ahead_are_null() {
    let workspace = Workspace::new().await;
    let question = json!({"start": {"eventName": "A"}, "return": {"eventName": "A"}, "interval": "month", "intervals": 4,
                          "last": {"amount": 2, "unit": "months"}});
    let answer = workspace.api.post("/insights/retention", &question, 200).await.json();
    let cohorts: Vec<Value> =
        answer["cohorts"].as_array().unwrap().iter().map(|it| it["values"].clone()).collect();
    assert_eq!(json!(cohorts), json!([[0, 0, null, null], [0, null, null, null]]));
}

//! What stays of anonymised events: counts and revenue.

use serde_json::{Value, json};

use super::{erase, until_events, workspace};
use crate::kit::eventually;

#[tokio::test]
async fn anonymised_events_keep_counts_and_revenue_and_nothing_else() {
    let workspace = workspace().await;
    let api = &workspace.api;
    api.post("/users", &json!({"externalId": "ann", "email": "ann@example.test"}), 201).await;
    let order = |id: &str, order: &str, total: f64| {
        json!({
            "userId": "ann", "eventName": "Order Completed", "clientEventId": id, "sessionId": "ann-session",
            "deviceId": "ann-device", "timestamp": "2026-03-04T05:06:07.089Z",
            "properties": {"orderId": order, "total": total, "currency": "EUR", "note": "for ann", "base_currency": "note"},
        })
    };
    let events = json!([
        order("ann-1", "ann-o1", 10.25), order("ann-2", "ann-o2", 5.5),
        // The same order again counts once.
        order("ann-3", "ann-o1", 10.25),
        {"userId": "ann", "eventName": "Seen", "timestamp": "2026-03-04T06:00:00Z", "properties": {"total": "of ann"}},
        {"userId": "bob", "eventName": "Order Completed", "timestamp": "2026-03-04T07:00:00Z",
            "properties": {"orderId": "b", "total": 1, "currency": "EUR"}},
    ]);
    api.post("/events/track", &events, 200).await;
    until_events(api, "ann", 4).await;
    let question = json!({
        "eventName": "Order Completed", "sumField": "total", "metrics": ["count", "sum"],
        "startDate": "2026-03-01", "endDate": "2026-03-31",
    });
    let aggregate =
        async || api.post("/events/aggregate", &question, 200).await.json()["data"].clone();
    let before = aggregate().await;
    assert_eq!(before["total"], 3, "{before}");
    erase(api, json!({"externalId": "ann", "events": "anonymize"})).await;
    assert_eq!(aggregate().await, before);

    let all = eventually("all are listed", || async {
        let found = api.get("/events/query?limit=50", 200).await.json();
        let events = found.as_array().unwrap().clone();
        (events.len() == 5).then_some(events)
    })
    .await;
    let of_ann: Vec<&Value> = all.iter().filter(|event| event["user_id"] != "bob").collect();
    assert_eq!(of_ann.len(), 4);
    let text = json!(of_ann).to_string();
    assert!(!text.contains("ann"), "{text}");
    let kept: Vec<_> = of_ann.iter().map(|event| event["properties"].to_string()).collect();
    assert!(kept.iter().any(|it| it.contains("10.25") && it.contains("EUR")), "{kept:?}");
    assert!(text.contains("2026-03-04 05:06:07"), "{text}");
    let found = api.get("/events/query?userId=ann", 200).await.json();
    assert_eq!(found, json!([]));
}

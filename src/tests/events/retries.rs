//! Repeats of a `clientEventId`: same answer, stored once, the first write is kept.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::track::events_of;
use crate::kit::Workspace;

/// Tracks a last event, and awaits it with at least so many others: parts of the load may land before earlier ones.
async fn settled(workspace: &Workspace, others: usize) -> Vec<Value> {
    let marker = crate::kit::unique("marker");
    let event = json!({"userId": marker, "eventName": marker});
    workspace.api.post("/events/track", &event, 200).await;
    let events = crate::kit::eventually("the marker and the others are visible", || async {
        let events = workspace.api.get("/events/query?limit=1000", 200).await.json();
        let events = events.as_array().unwrap().clone();
        let is_marked = events.iter().any(|event| event["event_name"] == marker.as_str());
        (is_marked && events.len() > others).then_some(events)
    })
    .await;
    events.into_iter().filter(|event| event["event_name"] != marker.as_str()).collect()
}

#[tokio::test]
async fn a_repeated_event_gets_the_same_answer_and_is_stored_once() {
    let workspace = Workspace::new().await;
    for event in [
        json!({"userId": "ann", "eventName": "A", "clientEventId": "one", "timestamp": "2026-03-01T12:00:00Z"}),
        json!({"userId": "ann", "eventName": "A", "clientEventId": "two"}),
    ] {
        for _ in 0..3 {
            let answer = workspace.api.post("/events/track", &event, 200).await.json();
            assert_eq!(answer, json!({"eventId": event["clientEventId"], "success": true}));
        }
    }
    assert_eq!(settled(&workspace, 2).await.len(), 2);
}

#[tokio::test]
async fn concurrent_repeats_are_recorded_once_with_and_without_timestamp() {
    let workspace = Workspace::new().await;
    let posts = (0..40).map(|n| {
        let mut event =
            json!({"userId": "ann", "eventName": "A", "clientEventId": format!("c{}", n % 4)});
        if n % 4 < 2 {
            event["timestamp"] = json!("2026-03-01T12:00:00Z");
        }
        let api = workspace.api.clone();
        async move { api.post("/events/track", &event, 200).await }
    });
    join_all(posts).await;
    assert_eq!(settled(&workspace, 4).await.len(), 4);
    let question = json!({"eventName": "A"});
    let answer = workspace.api.post("/events/aggregate", &question, 200).await.json();
    assert_eq!(answer["data"]["total"], 4);
}

#[tokio::test]
async fn the_first_write_is_kept_over_a_repeat() {
    let workspace = Workspace::new().await;
    let first =
        json!({"userId": "ann", "eventName": "A", "clientEventId": "one", "properties": {"n": 1}});
    workspace.api.post("/events/track", &first, 200).await;
    for repeat in [
        json!({"userId": "ann", "eventName": "A", "clientEventId": "one", "properties": {"n": 2}}),
        json!({"userId": "bob", "eventName": "A", "clientEventId": "one", "sessionId": "other"}),
    ] {
        let answer = workspace.api.post("/events/track", &repeat, 200).await.json();
        assert_eq!(answer, json!({"eventId": "one", "success": true}));
    }
    let events = settled(&workspace, 1).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["properties"], json!({"n": 1}));
    assert_eq!(events[0]["user_id"], "ann");
}

#[tokio::test]
async fn a_repeat_within_one_array_counts_as_accepted_and_is_recorded_once() {
    let workspace = Workspace::new().await;
    let event = json!({"userId": "ann", "eventName": "A", "clientEventId": "one"});
    let batch = json!([event, event, event]);
    let verdict = workspace.api.post("/events/track", &batch, 200).await.json();
    assert_eq!(verdict, json!({"processed": 3, "accepted": 3, "rejected": []}));
    assert_eq!(settled(&workspace, 1).await.len(), 1);
}

#[tokio::test]
async fn the_same_id_of_another_event_name_is_another_event_with_and_without_timestamp() {
    let workspace = Workspace::new().await;
    let of =
        |name: &str, id: &str| json!({"userId": "ann", "eventName": name, "clientEventId": id});
    let at = |name: &str, timestamp: &str| {
        let mut event = of(name, "timed");
        event["timestamp"] = json!(timestamp);
        event
    };
    let events = [
        of("A", "bare"),
        of("B", "bare"),
        at("A", "2026-03-01T12:00:00Z"),
        at("B", "2026-03-01T12:00:00Z"),
        at("A", "2026-03-02T12:00:00Z"),
    ];
    // One by one, all in one array, and again.
    for event in &events {
        workspace.api.post("/events/track", event, 200).await;
    }
    for _ in 0..2 {
        let verdict = workspace.api.post("/events/track", &json!(events), 200).await.json();
        assert_eq!(verdict, json!({"processed": 5, "accepted": 5, "rejected": []}));
    }
    assert_eq!(settled(&workspace, events.len()).await.len(), events.len());
}

#[tokio::test]
async fn the_same_id_in_another_workspace_is_another_event() {
    let (one, other) = (Workspace::new().await, Workspace::new().await);
    let event = json!({"userId": "ann", "eventName": "A", "clientEventId": "shared"});
    for workspace in [&one, &other] {
        workspace.api.post("/events/track", &event, 200).await;
    }
    assert_eq!(events_of(&one, 1).await.len(), 1);
    assert_eq!(events_of(&other, 1).await.len(), 1);
}

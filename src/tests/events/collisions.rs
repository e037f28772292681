//! Ids chosen to collide under the store's hashes stay distinct.

use analytics::events::EventFilter;
use serde_json::{Value, json};

use super::track::events_of;
use crate::kit::{self, Workspace};

/// Found in milliseconds: both have the same cityHash64.
const COLLIDING: [&str; 2] = [":Ma.s/]>5VRobjnM", "order-2026-00001"];

async fn count(workspace: &Workspace, name: &str) -> Value {
    let question = json!({"eventName": name, "metrics": ["count"]});
    let answer = workspace.api.post("/events/aggregate", &question, 200).await.json();
    answer["data"]["total"].clone()
}

#[tokio::test]
async fn the_test_ids_collide() {
    let analytics = kit::clickhouse_database().await;
    let ask =
        format!("SELECT toUInt8(cityHash64('{}') = cityHash64('{}'))", COLLIDING[0], COLLIDING[1]);
    assert_eq!(analytics.client().query_raw(&ask).fetch_one::<u8>().await.unwrap(), 1);
}

#[tokio::test]
async fn an_event_with_a_colliding_id_does_not_replace_another() {
    for timestamp in [Some("2026-03-01T12:00:00Z"), None] {
        let workspace = Workspace::new().await;
        for (number, (id, total)) in COLLIDING.iter().zip([0.01, 100.0]).enumerate() {
            let mut event = json!({
                "userId": "ann", "eventName": "Order Completed", "clientEventId": id,
                "properties": {"total": total, "currency": "EUR"},
            });
            if let Some(timestamp) = timestamp {
                event["timestamp"] = json!(timestamp);
            }
            // One by one, so that each lies in a part of its own at first.
            workspace.api.post("/events/track", &event, 200).await;
            events_of(&workspace, number + 1).await;
        }
        let events = events_of(&workspace, 2).await;
        let mut ids: Vec<_> =
            events.iter().map(|event| event["event_id"].as_str().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(ids, COLLIDING);
        assert_eq!(count(&workspace, "Order Completed").await, 2);
        let question =
            json!({"eventName": "Order Completed", "metrics": ["sum"], "sumField": "total"});
        let answer = workspace.api.post("/events/aggregate", &question, 200).await.json();
        // Those without a time are on two days when midnight is between them.
        let days = answer["data"]["results"].as_array().unwrap();
        let sum: f64 = days.iter().map(|day| day["sum_value"].as_f64().unwrap()).sum();
        assert!((sum - 100.01).abs() < 1e-9, "{answer}");
    }
}

#[tokio::test]
async fn people_with_colliding_ids_keep_their_own_events() {
    // The timeline finds candidates by a hash of the identifier.
    let workspace = Workspace::new().await;
    let events: Vec<Value> = (0..300)
        .map(|number| {
            let user = COLLIDING[usize::from(number < 100)];
            json!({"userId": user, "eventName": "Seen", "timestamp": 1_772_366_400_000_u64 + number})
        })
        .collect();
    for events in events.chunks(150) {
        workspace.api.post("/events/track", &json!(events), 200).await;
    }
    events_of(&workspace, 300).await;
    let id = workspace.id;
    for (user, expected) in [(COLLIDING[1], 100), (COLLIDING[0], 200)] {
        let filter = EventFilter {
            user_ids: Some(vec![user.to_owned()]),
            limit: 50,
            ..EventFilter::default()
        };
        let (rows, total) = kit::server()
            .with(move |app| async move {
                analytics::events::of_user(app.analytics(), id.uuid(), &filter).await.unwrap()
            })
            .await;
        assert_eq!((rows.len(), total), (50, expected));
        assert!(rows.iter().all(|row| row.user_id == user));
    }
}

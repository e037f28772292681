//! Events of linked and merged people: by person, in audiences, and as triggers.

use audience::{model::AudienceQuery, ops as audiences};
use serde_json::{Value, json};

use super::{Wish, alias, events_of, link, link_all, merge, profile, track};
use crate::kit::{Workspace, eventually, server};

fn event(id: &str, who: Value) -> Value {
    let mut event = who;
    event["eventName"] = json!("Viewed");
    event["clientEventId"] = json!(id);
    event["timestamp"] = json!("2026-03-01T12:00:00Z");
    event
}

/// How many profiles performed the event so often.
pub(super) async fn performed(workspace: &Workspace, value: Value) -> u64 {
    let filter =
        json!({"type": "event", "field": "Viewed", "operator": "performed", "value": value});
    let targeting = json!({"filterGroups": [{"filters": [filter]}]});
    let targeting = serde_json::from_value(targeting).unwrap();
    let workspace = workspace.id;
    server()
        .with(move |app| async move {
            let query = AudienceQuery { targeting: Some(&targeting), channel: None, list: None };
            let contacts = app.campaigns().contacts();
            audiences::measure(contacts, workspace, &query).await.unwrap().matched
        })
        .await
}

#[tokio::test]
async fn anonymous_events_before_and_after_a_link_are_the_persons() {
    let workspace = Workspace::new().await;
    let ann = profile(&workspace, "ann").await;
    profile(&workspace, "bob").await;
    let events = [
        event("anonymous", json!({"anonymousId": "a1"})),
        event("another", json!({"anonymousId": "a2"})),
        event("own", json!({"userId": "ann"})),
        // An event with a user belongs to that user.
        event("bobs", json!({"userId": "bob", "anonymousId": "a1"})),
        event("strangers", json!({"userId": "stranger", "anonymousId": "a1"})),
        // A linked id that a program took for a user's, and that no profile has.
        event("as-user", json!({"userId": "a1"})),
    ];
    track(&workspace, &events, 6).await;
    assert_eq!(events_of(&workspace, &ann).await, (vec!["own".to_owned()], 1));
    link(&workspace, "a1", &ann).await;
    // At once: nothing has to be copied for reads by person.
    let expected = ["anonymous", "as-user", "own"].map(str::to_owned).to_vec();
    assert_eq!(events_of(&workspace, &ann).await, (expected, 3));
    track(&workspace, &[event("later", json!({"anonymousId": "a1"}))], 7).await;
    let expected = ["anonymous", "as-user", "later", "own"].map(str::to_owned).to_vec();
    assert_eq!(events_of(&workspace, &ann).await, (expected, 4));
    for id in ["ann", ann.as_str()] {
        let found = workspace.api.get(format!("/events/query?userId={id}"), 200).await.json();
        assert_eq!(found.as_array().unwrap().len(), 4, "{id}");
    }
    // Once the id has a profile of its own, events of that user are that profile's.
    let own = profile(&workspace, "a1").await;
    assert_eq!(events_of(&workspace, &own).await, (vec!["as-user".to_owned()], 1));
    let expected = ["anonymous", "later", "own"].map(str::to_owned).to_vec();
    assert_eq!(events_of(&workspace, &ann).await, (expected, 3));
}

#[tokio::test]
async fn a_person_with_many_anonymous_ids_is_read_page_by_page() {
    let workspace = Workspace::new().await;
    let ann = profile(&workspace, "ann").await;
    for (count, total) in [(50, 50), (90, 140)] {
        let ids: Vec<String> = (0..count).map(|n| format!("a{count}-{n}")).collect();
        let events: Vec<Value> = ids
            .iter()
            .enumerate()
            .map(|(n, id)| {
                let mut event = event(&format!("e-{id}"), json!({"anonymousId": id}));
                event["timestamp"] = json!(format!("2026-03-01T12:{:02}:{:02}Z", n / 60, n % 60));
                event
            })
            .collect();
        track(&workspace, &events, total).await;
        link_all(workspace.id, ids.iter().map(|id| Wish::new(id, &ann)).collect()).await;
        assert_eq!(events_of(&workspace, &ann).await.1, total as u64);
        let newest = workspace.api.get(format!("/users/{ann}/events?limit=3"), 200).await.json();
        assert_eq!(newest["total"], total);
        assert_eq!(newest["data"][0]["event_id"], format!("e-a{count}-{}", count - 1));
        let last = format!("/users/{ann}/events?limit=50&offset={}", total - 1);
        let last = workspace.api.get(last, 200).await.json();
        assert_eq!(last["data"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn audiences_count_a_person_once_by_all_identifiers() {
    let workspace = Workspace::new().await;
    let ann = profile(&workspace, "ann").await;
    let bob = profile(&workspace, "bob").await;
    let carl = profile(&workspace, "carl").await;
    let events = [
        event("1", json!({"anonymousId": "a1"})),
        event("2", json!({"anonymousId": "a2"})),
        event("3", json!({"userId": "ann"})),
        event("4", json!({"userId": "bob"})),
        event("5", json!({"serviceUserId": bob})),
        event("6", json!({"anonymousId": "unlinked"})),
        event("7", json!({"userId": "robert"})),
    ];
    track(&workspace, &events, 7).await;
    let times =
        async |op: &str, n: u32| performed(&workspace, json!({"count": {"op": op, "n": n}})).await;
    // Links and merges are copied to ClickHouse one after the other, within a second.
    let until = async |op: &str, n: u32, expected: u64| {
        eventually(&format!("{op} {n} are {expected}"), || async {
            (times(op, n).await == expected).then_some(())
        })
        .await;
    };
    assert_eq!(performed(&workspace, Value::Null).await, 2);
    link(&workspace, "a1", &carl).await;
    link(&workspace, "a2", &ann).await;
    alias(&workspace, "bob", "robert").await;
    // ann 2, bob 3, carl 1.
    for (op, n, expected) in [
        ("equals", 1, 1),
        ("equals", 2, 1),
        ("equals", 3, 1),
        ("gte", 2, 2),
        ("lt", 3, 2),
        ("equals", 0, 0),
    ] {
        until(op, n, expected).await;
    }
    merge(&workspace, "carl", "bob").await;
    for (op, n, expected) in [("equals", 1, 0), ("equals", 2, 1), ("equals", 4, 1), ("gte", 1, 2)] {
        until(op, n, expected).await;
    }
    merge(&workspace, &ann, &bob).await;
    until("equals", 6, 1).await;
    until("gte", 1, 1).await;
}

//! Event filters, evaluated by ClickHouse.

use kernel::Channel;
use serde_json::{Value, json};

use super::fixture::{Asked, Person, TrackedEvent, days_ago, names, only, track, track_until};
use crate::kit::{Workspace, server};

fn tracked(name: &'static str, days: i64, tracked_by: &'static str) -> TrackedEvent {
    TrackedEvent { name, at: days_ago(days), properties: json!({"sku": "a", "n": 1}), tracked_by }
}

async fn person(workspace: &Workspace, name: &str, tracked_events: Vec<TrackedEvent>) -> Person {
    let mut person = Person::with(name, json!({}));
    person.tracked_events = tracked_events;
    person.make(workspace).await;
    person
}

fn event(name: &str, operator: &str, value: Value) -> Value {
    json!({"type": "event", "field": name, "operator": operator, "value": value})
}

#[tokio::test]
async fn event_filters_match_events_by_any_id_of_the_profile() {
    let workspace = Workspace::new().await;
    let mut people = Vec::new();
    for by in ["external", "internal", "both", "internal as userId"] {
        people.push(person(&workspace, by, vec![tracked("Bought", 1, by)]).await);
    }
    people.push(person(&workspace, "idle", vec![]).await);
    // A person without a profile yet, and an unknown one.
    for unknown in [json!({"userId": "stranger"}), json!({"anonymousId": "external"})] {
        let mut event = unknown;
        event["eventName"] = json!("Bought");
        workspace.api.post("/events/track", &event, 200).await;
    }
    track(&workspace, &people).await;
    track_until(&workspace, 6).await;
    let matches_event_filter = event("Bought", "performed", Value::Null);
    assert_eq!(
        names(&workspace, &people, &matches_event_filter).await,
        ["both", "external", "internal", "internal as userId"]
    );
    let not = event("Bought", "not_performed", Value::Null);
    assert_eq!(names(&workspace, &people, &not).await, ["idle"]);
    // Bound when it is read: a profile made later has done what its id did before.
    let late = person(&workspace, "stranger", vec![]).await;
    assert_eq!(names(&workspace, &[late], &matches_event_filter).await, ["stranger"]);
}

#[tokio::test]
async fn an_event_counts_once_per_profile_whatever_ids_it_has() {
    let workspace = Workspace::new().await;
    let people = vec![
        person(
            &workspace,
            "mixed",
            vec![
                tracked("Viewed", 1, "external"),
                tracked("Viewed", 2, "internal"),
                tracked("Viewed", 3, "both"),
            ],
        )
        .await,
        person(&workspace, "never", vec![]).await,
        person(&workspace, "once", vec![tracked("Viewed", 1, "both")]).await,
        person(
            &workspace,
            "twice",
            vec![tracked("Viewed", 1, "external"), tracked("Viewed", 9, "external")],
        )
        .await,
    ];
    track(&workspace, &people).await;
    let table: Vec<(Value, &[&str])> = vec![
        (json!({}), &["mixed", "once", "twice"]),
        (json!({"count": {"op": "equals", "n": 3}}), &["mixed"]),
        (json!({"count": {"op": "equals", "n": 1}}), &["once"]),
        (json!({"count": {"op": "equals", "n": 0}}), &["never"]),
        (json!({"count": {"op": "gt", "n": 1}}), &["mixed", "twice"]),
        (json!({"count": {"op": "gte", "n": 0}}), &["mixed", "never", "once", "twice"]),
        (json!({"count": {"op": "lt", "n": 2}}), &["never", "once"]),
        (json!({"count": {"op": "lt", "n": 0}}), &[]),
        (json!({"count": {"op": "lte", "n": 2}}), &["never", "once", "twice"]),
        (json!({"withinDays": 5, "count": {"op": "gte", "n": 2}}), &["mixed"]),
        (json!({"withinDays": 5, "properties": {"sku": "a"}}), &["mixed", "once", "twice"]),
        (json!({"properties": {"n": "1"}}), &[]),
        (json!({"properties": {"n": [5, 1]}}), &["mixed", "once", "twice"]),
    ];
    for (value, expected) in table {
        let matches_event_filter = event("Viewed", "performed", value.clone());
        assert_eq!(names(&workspace, &people, &matches_event_filter).await, expected, "{value}");
        let not =
            names(&workspace, &people, &event("Viewed", "not_performed", value.clone())).await;
        assert_eq!(not.len() + expected.len(), people.len(), "{value}");
        assert!(not.iter().all(|name| !expected.contains(&name.as_str())), "{value}");
    }
}

#[tokio::test]
async fn a_repeated_event_is_counted_once() {
    // A retry that raised a count would send a campaign to the wrong people.
    let workspace = Workspace::new().await;
    let people = vec![person(&workspace, "one", vec![]).await];
    let sent = json!({
        "userId": "one", "eventName": "Paid", "clientEventId": "c-1", "timestamp": "2026-03-01T00:00:00Z",
    });
    for _ in 0..3 {
        workspace.api.post("/events/track", &sent, 200).await;
    }
    workspace.api.post("/events/track", &json!({"userId": "one", "eventName": "Last"}), 200).await;
    track_until(&workspace, 2).await;
    let once = event("Paid", "performed", json!({"count": {"op": "equals", "n": 1}}));
    assert_eq!(names(&workspace, &people, &once).await, ["one"]);
}

#[tokio::test]
async fn a_repeat_under_another_user_counts_for_the_first_user_only() {
    let workspace = Workspace::new().await;
    let people =
        vec![person(&workspace, "one", vec![]).await, person(&workspace, "other", vec![]).await];
    for (number, (user, id)) in
        [("one", "c-1"), ("other", "c-1"), ("other", "c-2")].into_iter().enumerate()
    {
        let name = if id == "c-2" { "Later" } else { "Paid" };
        let sent = json!({
            "userId": user, "eventName": name, "clientEventId": id, "timestamp": "2026-03-01T00:00:00Z",
        });
        workspace.api.post("/events/track", &sent, 200).await;
        // Each in a part of its own, as a repeat after hours is.
        if number != 1 {
            track_until(&workspace, if number == 0 { 1 } else { 2 }).await;
        }
    }
    let matches_event_filter = event("Paid", "performed", Value::Null);
    assert_eq!(names(&workspace, &people, &matches_event_filter).await, ["one"]);
    let not = event("Paid", "not_performed", Value::Null);
    assert_eq!(names(&workspace, &people, &not).await, ["other"]);
}

#[tokio::test]
async fn several_event_filters_are_evaluated_separately() {
    let workspace = Workspace::new().await;
    let people = vec![
        person(&workspace, "both", vec![tracked("A", 1, "external"), tracked("B", 1, "internal")])
            .await,
        person(&workspace, "only-a", vec![tracked("A", 1, "internal")]).await,
        person(&workspace, "only-b", vec![tracked("B", 1, "external")]).await,
    ];
    track(&workspace, &people).await;
    let (a, b) = (event("A", "performed", Value::Null), event("B", "performed", Value::Null));
    for (targeting, expected) in [
        (json!({"filterGroups": [{"filters": [a, b]}]}), 1),
        (json!({"filterGroups": [{"filters": [a, b], "operator": "OR"}]}), 3),
        (json!({"filterGroups": [{"filters": [a]}], "excludeFilterGroups": [{"filters": [b]}]}), 1),
    ] {
        let asked = Asked::new(&targeting);
        assert_eq!(asked.measure(workspace.id).await.matched, expected, "{targeting}");
        assert_eq!(asked.pages(workspace.id, 1).await.len() as u64, expected, "{targeting}");
    }
}

/// Writes what delivery will write of a message.
async fn message(workspace: &Workspace, user: &str, kind: &str, campaign: &str, more: Value) {
    let mut row = json!({
        "workspace_id": workspace.id, "campaign_id": campaign, "type": kind, "user_id": user,
        "message_id": uuid::Uuid::now_v7(), "event_id": "", "occurrence": 1, "variant_id": "v",
        "channel": "email", "timestamp": days_ago(2).timestamp().to_string(), "seq": 1,
    });
    for (field, value) in more.as_object().unwrap() {
        row[field] = value.clone();
    }
    server()
        .with(|app| async move {
            let insert = format!("INSERT INTO message_events FORMAT JSONEachRow {row}");
            app.analytics().client().query_raw(&insert).execute().await.unwrap();
        })
        .await;
}

#[tokio::test]
async fn engagement_filters_follow_message_events() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let mut people = Vec::new();
    for name in ["clicked", "machine", "opened", "sent", "stranger", "tested"] {
        people.push(person(&workspace, name, vec![]).await);
    }
    let (ours, later) = (uuid::Uuid::now_v7().to_string(), uuid::Uuid::now_v7().to_string());
    let id = |name: &str| {
        people.iter().find(|p| p.external_id.as_deref() == Some(name)).unwrap().id.clone()
    };
    message(&workspace, &id("clicked"), "clicked", &ours, json!({})).await;
    message(&workspace, &id("opened"), "opened", &ours, json!({"channel": "push"})).await;
    message(&workspace, &id("sent"), "sent", &later, json!({})).await;
    message(&workspace, &id("machine"), "sent", &ours, json!({})).await;
    message(&workspace, &id("machine"), "clicked", &ours, json!({"is_bot": true})).await;
    message(&workspace, &id("tested"), "opened", &ours, json!({"is_test": true})).await;
    message(&other, &id("stranger"), "opened", &ours, json!({})).await;
    let table: Vec<(&str, Value, Value, &[&str])> = vec![
        ("sent", Value::Null, Value::Null, &["clicked", "machine", "opened", "sent"]),
        ("opened", Value::Null, Value::Null, &["clicked", "opened"]),
        ("clicked", Value::Null, Value::Null, &["clicked"]),
        ("sent", Value::Null, json!({"campaignId": later}), &["sent"]),
        ("opened", json!("push"), json!({"campaignId": ours}), &["opened"]),
        ("sent", json!("sms"), Value::Null, &[]),
        ("sent", Value::Null, json!({"withinDays": 1}), &[]),
        ("clicked", json!("email"), json!({"withinDays": 3, "campaignId": ours}), &["clicked"]),
    ];
    for (operator, field, value, expected) in table {
        let filter =
            json!({"type": "engagement", "field": field, "operator": operator, "value": value});
        assert_eq!(names(&workspace, &people, &filter).await, expected, "{filter}");
    }
    // Not opened: those sent to, less those who opened.
    let filter = |operator: &str| json!({"type": "engagement", "operator": operator});
    let targeting = json!({
        "filterGroups": [{"filters": [filter("sent")]}],
        "excludeFilterGroups": [{"filters": [filter("opened")]}],
    });
    assert_eq!(Asked::new(&targeting).on(Channel::Push).measure(workspace.id).await.reachable, 2);
    assert_eq!(Asked::new(&only(&filter("sent"))).measure(workspace.id).await.matched, 4);
}

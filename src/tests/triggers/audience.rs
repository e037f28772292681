//! Events count only for profiles in the campaign's audience.

use serde_json::{Value, json};

use super::{EVENT, launched, people, until};
use crate::{
    audience::fixture::{Person, TrackedEvent, days_ago, list, track},
    kit::{Workspace, unique},
};

/// Who of three people, and a marker who always does, enters by an event of theirs.
async fn enters(workspace: &Workspace, filters: &[Value]) -> Vec<String> {
    let groups: Vec<Value> = filters.iter().map(|filter| json!({"filters": [filter]})).collect();
    let marker = json!({"filters": [{"type": "profile", "field": "externalId", "operator": "equals", "value": "marker"}]});
    let groups: Vec<Value> =
        if groups.is_empty() { groups } else { [groups, vec![marker]].concat() };
    let targeting = json!({"filterGroups": groups, "filterOperator": "OR"});
    let campaign = launched(workspace, json!({}), json!({"targeting": targeting})).await;
    let campaign_id = campaign["id"].as_str().unwrap();
    let events: Vec<Value> = ["ann", "bob", "cy", "marker"]
        .iter()
        .map(|name| {
            json!({"userId": name, "eventName": EVENT, "clientEventId": format!("{campaign_id}-{name}")})
        })
        .collect();
    workspace.api.post("/events/track", &json!(events), 200).await;
    let entered = until(&campaign, &format!("{campaign_id}-marker")).await;
    let mut users: Vec<_> = entered.into_iter().map(|entry| entry.user).collect();
    users.sort_unstable();
    users.retain(|user| user != "marker");
    users
}

/// A filter on the members of a segment of this filter.
async fn segment(workspace: &Workspace, filter: Value) -> Value {
    let body =
        json!({"name": unique("segment"), "targeting": {"filterGroups": [{"filters": [filter]}]}});
    let segment = workspace.api.post("/segments", &body, 201).await.json();
    json!({"type": "segment", "field": segment["id"], "operator": "member"})
}

#[tokio::test]
async fn only_profiles_in_the_audience_enter_a_triggered_campaign() {
    let workspace = Workspace::new().await;
    let insiders = list(&workspace, "Insiders").await;
    let tracked = |name, days, tracked_by| TrackedEvent {
        name,
        at: days_ago(days),
        properties: json!({"total": 10}),
        tracked_by,
    };
    let mut people_made = [
        Person {
            email: Some("ann@example.test".to_owned()),
            lists: vec![(insiders.clone(), "email", "subscribed")],
            tracked_events: vec![
                tracked("Bought", 2, "external"),
                tracked("Bought", 3, "internal"),
            ],
            ..Person::with("ann", json!({"plan": "pro", "age": 41}))
        },
        Person {
            email: Some("bob@example.test".to_owned()),
            tracked_events: vec![tracked("Bought", 20, "both")],
            ..Person::with("bob", json!({"plan": "free", "age": 41}))
        },
        Person::with("cy", json!({"plan": "pro"})),
    ];
    for person in &mut people_made {
        person.make(&workspace).await;
    }
    people(&workspace.api, &["marker"]).await;
    track(&workspace, &people_made).await;
    let bought = |count: Value| json!({"type": "event", "field": "Bought", "operator": "performed", "value": count});
    let never = json!({"type": "event", "field": "Bought", "operator": "not_performed"});
    let mut nested = segment(&workspace, bought(json!({"count": {"op": "gte", "n": 2}}))).await;
    nested["operator"] = json!("not_member");
    let nested = segment(&workspace, nested).await;
    let table: Vec<(Vec<Value>, &[&str])> = vec![
        (vec![], &["ann", "bob", "cy"]),
        (
            vec![
                json!({"type": "attribute", "field": "plan", "operator": "equals", "value": "pro"}),
            ],
            &["ann", "cy"],
        ),
        (
            vec![json!({"type": "attribute", "field": "age", "operator": "gte", "value": 41})],
            &["ann", "bob"],
        ),
        (vec![json!({"type": "list", "field": insiders, "operator": "member"})], &["ann"]),
        (vec![bought(json!({}))], &["ann", "bob"]),
        (vec![bought(json!({"withinDays": 7}))], &["ann"]),
        (vec![bought(json!({"count": {"op": "gte", "n": 2}}))], &["ann"]),
        (vec![bought(json!({"count": {"op": "equals", "n": 1}}))], &["bob"]),
        (vec![never], &["cy"]),
        (vec![segment(&workspace, bought(json!({"withinDays": 7}))).await], &["ann"]),
        (vec![nested], &["bob", "cy"]),
    ];
    for (filters, expected) in table {
        assert_eq!(enters(&workspace, &filters).await, expected, "{filters:?}");
    }
}

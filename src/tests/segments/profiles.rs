//! The segments of a profile, wherever it is answered.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{all, create, delete, id, in_segment, members, path, person, plan, previewed, put};
use crate::{
    audience::fixture::{days_ago, iso, list, track_until},
    kit::Workspace,
};

/// The names of the segments in an answered profile.
fn segments(user: &Value) -> Vec<&str> {
    let segments = user["segments"].as_array().unwrap();
    segments.iter().map(|segment| segment["name"].as_str().unwrap()).collect()
}

async fn of(workspace: &Workspace, external_id: &str) -> Vec<String> {
    let user = workspace.api.get(format!("/users/by-user-id/{external_id}"), 200).await.json();
    segments(&user).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn every_answer_with_a_profile_has_its_segments_by_name() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let paying = create(&workspace, "paying", &all(&[plan("pro")])).await;
    let everyone = create(&workspace, "Everyone", &json!({})).await;
    create(&workspace, "Free", &all(&[plan("free")])).await;
    create(&other, "Theirs", &json!({})).await;
    let ann = person(&workspace, "ann", json!({"plan": "pro", "firstName": "Annabel"})).await;
    let expected = json!([
        {"id": id(&everyone), "name": "Everyone"}, {"id": id(&paying), "name": "paying"},
    ]);
    assert_eq!(ann["segments"], expected);
    let own = format!("/users/{}", ann["id"].as_str().unwrap());
    assert_eq!(workspace.api.get(&own, 200).await.json()["segments"], expected);
    let external = workspace.api.get("/users/by-user-id/ann", 200).await.json();
    assert_eq!(external["segments"], expected);
    for pages in ["/users", "/users/search?query=annab"] {
        let page = workspace.api.get(pages, 200).await.json();
        assert_eq!(page["data"][0]["segments"], expected, "{pages}");
    }
    // A change of the profile, by either call.
    let free = json!({"attributes": {"plan": "free"}});
    assert_eq!(segments(&put(&workspace.api, &own, &free, 200).await), ["Everyone", "Free"]);
    let gone = json!({"externalId": "ann", "attributes": {"plan": "none"}});
    let changed = workspace.api.post("/users", &gone, 200).await.json();
    assert_eq!(segments(&changed), ["Everyone"]);
    // A change of a segment.
    let change = json!({"name": "A none", "targeting": all(&[plan("none")])});
    put(&workspace.api, &path(&paying), &change, 200).await;
    assert_eq!(of(&workspace, "ann").await, ["A none", "Everyone"]);
    delete(&workspace.api, &path(&everyone), 204).await;
    assert_eq!(of(&workspace, "ann").await, ["A none"]);
    // Of many profiles each has its own.
    person(&workspace, "bob", json!({"plan": "free"})).await;
    person(&workspace, "cy", json!({})).await;
    let page = workspace.api.get("/users", 200).await.json();
    let users: Vec<_> = page["data"].as_array().unwrap().iter().map(segments).collect();
    assert_eq!(users, [vec![], vec!["Free"], vec!["A none"]]);
}

/// Three profiles with events by each of their ids, list memberships and consent.
async fn eventful(workspace: &Workspace) -> String {
    let news = list(workspace, "News").await;
    let mut ids = Vec::new();
    for (name, tier) in [("ann", "pro"), ("bob", "free"), ("cy", "pro")] {
        let made = person(workspace, name, json!({"plan": tier, "age": name.len()})).await;
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    let join = format!("/subscriptions/contacts/{}/lists/{news}", ids[1]);
    let request = workspace.api.request(reqwest::Method::POST, &join);
    workspace.api.send(request.json(&json!({"channel": "sms"})), 200).await;
    let bought = |days: i64, more: Value| {
        let mut event = json!({
            "eventName": "Bought", "timestamp": iso(days_ago(days)), "properties": {"sku": "a", "n": days},
        });
        for (field, value) in more.as_object().unwrap() {
            event[field] = value.clone();
        }
        event
    };
    let events = json!([
        bought(1, json!({"userId": "ann"})),
        bought(2, json!({"serviceUserId": ids[0]})),
        bought(3, json!({"userId": "ann", "serviceUserId": ids[0]})),
        bought(20, json!({"userId": "bob"})),
        bought(1, json!({"userId": "stranger", "serviceUserId": ids[1]})),
        bought(1, json!({"userId": "stranger"})),
        {"userId": "cy", "eventName": "Viewed"},
    ]);
    workspace.api.post("/events/track", &events, 200).await;
    track_until(workspace, 7).await;
    news
}

#[tokio::test]
async fn all_ways_to_ask_agree_for_every_type_of_filter() {
    let workspace = Workspace::new().await;
    let news = eventful(&workspace).await;
    let bought = |operator: &str, value: Value| json!({"type": "event", "field": "Bought", "operator": operator, "value": value});
    let count = |op: &str, n: u32| json!({"count": {"op": op, "n": n}});
    let base = create(&workspace, "Base", &all(&[bought("performed", count("gte", 3))])).await;
    let filters = vec![
        (plan("pro"), vec!["ann", "cy"]),
        (bought("performed", json!({})), vec!["ann", "bob"]),
        (bought("not_performed", json!({})), vec!["cy"]),
        (bought("performed", count("equals", 3)), vec!["ann"]),
        (bought("performed", count("equals", 2)), vec!["bob"]),
        (bought("not_performed", count("gte", 3)), vec!["bob", "cy"]),
        (bought("performed", count("lte", 2)), vec!["bob", "cy"]),
        (bought("performed", count("lt", 0)), vec![]),
        (bought("not_performed", count("lt", 0)), vec!["ann", "bob", "cy"]),
        (
            bought("performed", json!({"withinDays": 7, "count": {"op": "equals", "n": 1}})),
            vec!["bob"],
        ),
        (
            bought("performed", json!({"properties": {"sku": "a", "n": [2, 20]}})),
            vec!["ann", "bob"],
        ),
        (bought("performed", json!({"properties": {"sku": "b"}})), vec![]),
        (json!({"type": "engagement", "operator": "sent"}), vec![]),
        (
            json!({"type": "engagement", "field": "email", "operator": "opened", "value": {"withinDays": 3}}),
            vec![],
        ),
        (json!({"type": "list", "field": news, "operator": "member"}), vec!["bob"]),
        (json!({"type": "list", "field": news, "operator": "not_member"}), vec!["ann", "cy"]),
        (
            json!({"type": "channel", "field": "email", "operator": "not_exists"}),
            vec!["ann", "bob", "cy"],
        ),
        (
            json!({"type": "profile", "field": "externalId", "operator": "in", "value": ["cy", "x"]}),
            vec!["cy"],
        ),
        (in_segment(&base, "member"), vec!["ann"]),
        (in_segment(&base, "not_member"), vec!["bob", "cy"]),
    ];
    let mut expected: Vec<(String, BTreeSet<String>)> = Vec::new();
    for (at, (filter, names)) in filters.iter().enumerate() {
        let name = format!("F{at:02}");
        let segment = create(&workspace, &name, &all(std::slice::from_ref(filter))).await;
        let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(members(&workspace, &segment).await, names, "{filter}");
        let member = all(&[in_segment(&segment, "member")]);
        assert_eq!(previewed(&workspace, &member).await, names, "{filter}");
        let outside = all(&[in_segment(&segment, "not_member")]);
        assert_eq!(previewed(&workspace, &outside).await.len(), 3 - names.len(), "{filter}");
        expected.push((name, names));
    }
    let page = workspace.api.get("/users", 200).await.json();
    for user in page["data"].as_array().unwrap() {
        let name = user["externalId"].as_str().unwrap();
        let of_user = expected.iter().filter(|(_, names)| names.contains(name));
        let mut of_user: Vec<&str> = of_user.map(|(segment, _)| segment.as_str()).collect();
        if name == "ann" {
            of_user.insert(0, "Base");
        }
        assert_eq!(segments(user), of_user, "in a list: {name}");
        assert_eq!(of(&workspace, name).await, of_user, "alone: {name}");
    }
}

#[tokio::test]
async fn many_segments_on_events_are_evaluated_for_one_profile() {
    let workspace = Workspace::new().await;
    person(&workspace, "ann", json!({})).await;
    let events: Vec<Value> = (0..60)
        .step_by(2)
        .map(|n| json!({"userId": "ann", "eventName": format!("E{n}")}))
        .collect();
    workspace.api.post("/events/track", &json!(events), 200).await;
    track_until(&workspace, 30).await;
    for n in 0..60 {
        let done = json!({"type": "event", "field": format!("E{n}"), "operator": "performed"});
        create(&workspace, &format!("S{n:02}"), &all(&[done])).await;
    }
    let expected: Vec<String> = (0..60).step_by(2).map(|n| format!("S{n:02}")).collect();
    assert_eq!(of(&workspace, "ann").await, expected);
}

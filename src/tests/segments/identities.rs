//! Segments of people with many identifiers: links and merges count for what was before them, too.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{all, create, in_segment, members, names, path, person, previewed, set};
use crate::{
    audience::fixture::track_until,
    identity::{link, merge},
    kit::{Workspace, eventually},
};

fn viewed(count: u32) -> Value {
    json!({"type": "event", "field": "Viewed", "operator": "performed", "value": {"count": {"op": "gte", "n": count}}})
}

/// The names of a profile's segments.
async fn segments_of(workspace: &Workspace, external_id: &str) -> BTreeSet<String> {
    let user = workspace.api.get(format!("/users/by-user-id/{external_id}"), 200).await.json();
    names(&user["segments"], "name")
}

/// Waits until ClickHouse has the links, by which audiences are found.
async fn until_members(workspace: &Workspace, segment: &Value, expected: &BTreeSet<String>) {
    eventually(&format!("the members are {expected:?}"), || async {
        let page = workspace.api.get(format!("{}/members", path(segment)), 200).await.json();
        (names(&page["data"], "externalId") == *expected).then_some(())
    })
    .await;
    assert_eq!(members(workspace, segment).await, *expected);
}

#[tokio::test]
async fn events_of_linked_and_merged_people_count_from_before_too() {
    let workspace = Workspace::new().await;
    let mut ids = Vec::new();
    for name in ["ann", "bob", "cy"] {
        let made = person(&workspace, name, json!({})).await;
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    let once = create(&workspace, "Once", &all(&[viewed(1)])).await;
    let twice = create(&workspace, "Twice", &all(&[viewed(2)])).await;
    let never = json!({"type": "event", "field": "Viewed", "operator": "not_performed"});
    create(&workspace, "Never", &all(&[never])).await;
    let event = |who: Value| {
        let mut event = who;
        event["eventName"] = json!("Viewed");
        event
    };
    let events = json!([
        event(json!({"anonymousId": "a1"})),
        // Of someone else, although the anonymous id will be Ann's.
        event(json!({"userId": "stranger", "anonymousId": "a1"})),
        event(json!({"userId": "bob"})),
    ]);
    workspace.api.post("/events/track", &events, 200).await;
    track_until(&workspace, 3).await;
    assert_eq!(members(&workspace, &once).await, set(["bob"]));
    assert_eq!(segments_of(&workspace, "ann").await, set(["Never"]));

    link(&workspace, "a1", &ids[0]).await;
    // Read by person, a link counts at once.
    assert_eq!(segments_of(&workspace, "ann").await, set(["Once"]));
    until_members(&workspace, &once, &set(["ann", "bob"])).await;
    assert_eq!(previewed(&workspace, &all(&[in_segment(&once, "not_member")])).await, set(["cy"]));

    merge(&workspace, "bob", "ann").await;
    for id in ["ann", "bob"] {
        assert_eq!(segments_of(&workspace, id).await, set(["Once", "Twice"]), "{id}");
    }
    until_members(&workspace, &twice, &set(["ann"])).await;
    until_members(&workspace, &once, &set(["ann"])).await;
    // A survivor without any event of its own.
    merge(&workspace, "ann", "cy").await;
    assert_eq!(segments_of(&workspace, "cy").await, set(["Once", "Twice"]));
    until_members(&workspace, &twice, &set(["cy"])).await;
    let page = workspace.api.get("/users", 200).await.json();
    assert_eq!(names(&page["data"][0]["segments"], "name"), set(["Once", "Twice"]));
}

#[tokio::test]
async fn merged_ids_in_a_segment_mean_the_survivor() {
    let workspace = Workspace::new().await;
    let old = person(&workspace, "old", json!({})).await;
    for name in ["older", "new", "other"] {
        person(&workspace, name, json!({})).await;
    }
    let external = create(&workspace, "External", &json!({"userIds": ["old"]})).await;
    let internal = create(&workspace, "Internal", &json!({"userIds": [old["id"]]})).await;
    let nested = create(&workspace, "Nested", &all(&[in_segment(&external, "member")])).await;
    merge(&workspace, "old", "older").await;
    merge(&workspace, "older", "new").await;
    for segment in [&external, &internal, &nested] {
        assert_eq!(members(&workspace, segment).await, set(["new"]), "{segment}");
        let filter = all(&[in_segment(segment, "member")]);
        assert_eq!(previewed(&workspace, &filter).await, set(["new"]), "{segment}");
    }
    let expected = set(["External", "Internal", "Nested"]);
    for id in ["old", "older", "new"] {
        assert_eq!(segments_of(&workspace, id).await, expected, "{id}");
    }
    assert_eq!(segments_of(&workspace, "other").await, set([]));
    // Beside another use of an id, each targeting keeps to its own.
    let both = json!({"userIds": ["other"], "filterGroups": [{"filters": [in_segment(&external, "not_member")]}]});
    assert_eq!(previewed(&workspace, &both).await, set(["other"]));
}

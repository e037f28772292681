//! Data of another workspace matches nothing.

use serde_json::json;

use super::fixture::{Asked, Person, TrackedEvent, days_ago, list, matching_ids, only, track};
use crate::kit::{Workspace, unique};

#[tokio::test]
async fn ids_of_another_workspace_match_no_profile() {
    let (ours, theirs) = (Workspace::new().await, Workspace::new().await);
    let shared = unique("shared");
    let their_list = list(&theirs, "Theirs").await;
    let mut our_person = Person::with(&shared, json!({"k": 1}));
    our_person.make(&ours).await;
    let mut their_person = Person::with(&shared, json!({"k": 1}));
    their_person.lists.push((their_list.clone(), "email", "subscribed"));
    their_person.tracked_events.push(TrackedEvent {
        name: "Bought",
        at: days_ago(1),
        properties: json!({}),
        tracked_by: "external",
    });
    their_person.make(&theirs).await;
    track(&theirs, std::slice::from_ref(&their_person)).await;

    let our_id = our_person.id.parse().unwrap();
    for (targeting, expected) in [
        (json!({}), vec![our_id]),
        (json!({"userIds": [shared]}), vec![our_id]),
        (json!({"userIds": [their_person.id]}), vec![]),
        (
            only(&json!({"type": "attribute", "field": "k", "operator": "equals", "value": 1})),
            vec![our_id],
        ),
        (only(&json!({"type": "list", "field": their_list, "operator": "member"})), vec![]),
        (
            only(&json!({"type": "list", "field": their_list, "operator": "not_member"})),
            vec![our_id],
        ),
        (only(&json!({"type": "event", "field": "Bought", "operator": "performed"})), vec![]),
        (
            only(&json!({"type": "event", "field": "Bought", "operator": "not_performed"})),
            vec![our_id],
        ),
    ] {
        let found: Vec<_> = matching_ids(&ours, &targeting).await.into_iter().collect();
        assert_eq!(found, expected, "{targeting}");
    }
    // Their list neither lets our people through nor keeps them out.
    let measured = Asked::new(&json!({})).under(&their_list).measure(ours.id).await;
    assert_eq!((measured.matched, measured.reachable), (1, 1));
}

#[tokio::test]
async fn deleted_profiles_are_in_no_audience() {
    let workspace = Workspace::new().await;
    let mut person = Person::with("gone", json!({"k": 1}));
    person.make(&workspace).await;
    assert_eq!(matching_ids(&workspace, &json!({})).await.len(), 1);
    let delete = workspace.api.request(reqwest::Method::DELETE, &format!("/users/{}", person.id));
    workspace.api.send(delete, 204).await;
    for targeting in [json!({}), json!({"userIds": ["gone", person.id]})] {
        assert!(matching_ids(&workspace, &targeting).await.is_empty(), "{targeting}");
    }
}

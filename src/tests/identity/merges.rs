//! Merges: what the survivor has afterwards, and what the ids of the merged profile answer.

use reqwest::Method;
use serde_json::{Value, json};

use super::{further, link, merge, profile, user};
use crate::kit::Workspace;

async fn consent(workspace: &Workspace, user: &str, channel: &str, status: &str) {
    let path = format!("/subscriptions/contacts/{user}/channels/{channel}");
    let body = json!({"channel": channel, "status": status});
    workspace.api.send(workspace.api.request(Method::PUT, &path).json(&body), 200).await;
}

async fn contact(workspace: &Workspace, user: &str) -> Value {
    workspace.api.get(format!("/subscriptions/contacts/{user}"), 200).await.json()
}

#[tokio::test]
async fn the_survivor_keeps_its_values_and_takes_those_it_has_none_of() {
    let workspace = Workspace::new().await;
    let from = json!({"externalId": "old", "email": "old@example.test", "phone": "+49301234567",
        "attributes": {"plan": "free", "city": "Berlin", "since": "2024-01-02"}});
    let into = json!({"externalId": "new", "email": "new@example.test",
        "attributes": {"plan": "pro", "score": 4.5}});
    let (from, into) = (user(&workspace, &from).await, user(&workspace, &into).await);
    assert_eq!(merge(&workspace, "old", &into).await, json!({"userId": into, "merged": true}));
    let survivor = workspace.api.get(format!("/users/{into}"), 200).await.json();
    assert_eq!(survivor["externalId"], "new");
    assert_eq!(survivor["email"], "new@example.test");
    assert_eq!(survivor["phone"], "+49301234567");
    let attributes = json!({"plan": "pro", "score": 4.5, "city": "Berlin", "since": "2024-01-02"});
    assert_eq!(survivor["attributes"], attributes);
    assert_eq!(
        further(&workspace, "new").await,
        ["external:old".to_owned(), format!("internal:{from}")]
    );

    // Again, also by the ids of the merged one, changes nothing.
    for (from, into) in [("old", "new"), (from.as_str(), into.as_str()), ("new", "old")] {
        let again = merge(&workspace, from, into).await;
        assert_eq!(again, json!({"userId": survivor["id"], "merged": false}));
    }
}

#[tokio::test]
async fn a_survivor_without_an_external_id_takes_that_of_the_merged_profile() {
    let workspace = Workspace::new().await;
    let from = profile(&workspace, "ann").await;
    let into = user(&workspace, &json!({"email": "ann@example.test"})).await;
    merge(&workspace, &from, &into).await;
    let survivor = workspace.api.get("/users/by-user-id/ann", 200).await.json();
    assert_eq!((&survivor["id"], &survivor["externalId"]), (&json!(into), &json!("ann")));
    assert_eq!(further(&workspace, "ann").await, [format!("internal:{from}")]);
}

#[tokio::test]
async fn a_merge_that_cannot_be_is_refused_and_changes_nothing() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let (ann, bob) = (profile(&workspace, "ann").await, profile(&workspace, "bob").await);
    let foreign = profile(&other, "foreign").await;
    let most = "x".repeat(256);
    for (body, status) in [
        (json!({"from": "ann", "into": "unknown"}), 404),
        (json!({"from": "unknown", "into": "ann"}), 404),
        (json!({"from": foreign, "into": "ann"}), 404),
        (json!({"from": "ann", "into": foreign}), 404),
        (json!({"from": "ann", "into": "ann"}), 400),
        (json!({"from": "ann", "into": ann}), 400),
        (json!({"from": "ann"}), 400),
        (json!({"into": "ann"}), 400),
        (json!({"from": 7, "into": "ann"}), 400),
        (json!({"from": "", "into": "ann"}), 400),
        (json!({"from": most, "into": "ann"}), 400),
        (json!([]), 400),
    ] {
        workspace.api.post("/users/merge", &body, status).await;
    }
    // Attributes of both within the limits of one.
    let many = |prefix: &str| -> Value {
        (0..120)
            .map(|n| (format!("{prefix}{n}"), json!(n)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    for (name, prefix) in [("ann", "a"), ("bob", "b")] {
        let body = json!({"externalId": name, "attributes": many(prefix)});
        workspace.api.post("/users", &body, 200).await;
    }
    let body = json!({"from": "ann", "into": "bob"});
    let errors = workspace.api.post("/users/merge", &body, 400).await.errors();
    assert!(errors[0].starts_with("attributes "), "{errors:?}");
    for (name, id) in [("ann", &ann), ("bob", &bob)] {
        let found = workspace.api.get(format!("/users/by-user-id/{name}"), 200).await.json();
        assert_eq!(found["id"], **id);
        assert!(further(&workspace, name).await.is_empty());
    }
}

/// The stricter of two statuses, written down by hand: `-` is silence.
const STRICTER: &[(&str, &str, &str)] = &[
    ("-", "-", "-"),
    ("-", "optedIn", "optedIn"),
    ("-", "subscribed", "subscribed"),
    ("-", "unsubscribed", "unsubscribed"),
    ("optedIn", "-", "optedIn"),
    ("optedIn", "optedIn", "optedIn"),
    ("optedIn", "subscribed", "subscribed"),
    ("optedIn", "unsubscribed", "unsubscribed"),
    ("subscribed", "-", "subscribed"),
    ("subscribed", "optedIn", "subscribed"),
    ("subscribed", "subscribed", "subscribed"),
    ("subscribed", "unsubscribed", "unsubscribed"),
    ("unsubscribed", "-", "unsubscribed"),
    ("unsubscribed", "optedIn", "unsubscribed"),
    ("unsubscribed", "subscribed", "unsubscribed"),
    ("unsubscribed", "unsubscribed", "unsubscribed"),
];

#[tokio::test]
async fn the_stricter_consent_of_the_two_stays() {
    let workspace = Workspace::new().await;
    for (number, (of_from, of_into, expected)) in STRICTER.iter().enumerate() {
        let mut ids = Vec::new();
        for (side, status) in [("from", of_from), ("into", of_into)] {
            let id = profile(&workspace, &format!("{side}-{number}")).await;
            for channel in ["email", "push"] {
                if *status != "-" {
                    consent(&workspace, &id, channel, status).await;
                }
            }
            ids.push(id);
        }
        merge(&workspace, &ids[0], &ids[1]).await;
        let expected = if *expected == "-" { Value::Null } else { json!(expected) };
        for id in &ids {
            let found = contact(&workspace, id).await;
            for channel in ["email", "push"] {
                let status = &found["channels"][channel]["status"];
                assert_eq!(*status, expected, "{of_from} into {of_into} on {channel}");
            }
        }
        let path = format!("/subscriptions/contacts/{}/history", ids[1]);
        let history = workspace.api.get(path, 200).await.json();
        let newest = &history["items"][0];
        assert_eq!(newest["action"], "merge", "{history}");
        assert_eq!(
            newest["metadata"]["reason"],
            format!("profile {} was merged into this one", ids[0])
        );
    }
}

#[tokio::test]
async fn lists_devices_and_history_move_and_suppressions_stay() {
    let workspace = Workspace::new().await;
    let mut lists = Vec::new();
    for name in ["only from", "out of from", "out of into", "both"] {
        let made = workspace.api.post("/lists", &json!({"name": name}), 201).await.json();
        lists.push(made["id"].as_str().unwrap().to_owned());
    }
    let from = user(&workspace, &json!({"externalId": "from", "email": "from@example.test"})).await;
    let into = user(&workspace, &json!({"externalId": "into", "email": "into@example.test"})).await;
    let subscribe = async |user: &str, list: &str| {
        let path = format!("/subscriptions/contacts/{user}/lists/{list}");
        workspace.api.post(&path, &json!({"channel": "email"}), 200).await;
    };
    let unsubscribe = async |user: &str, list: &str| {
        let path = format!("/subscriptions/contacts/{user}/lists/{list}");
        let request = workspace.api.request(Method::DELETE, &path);
        workspace.api.send(request.json(&json!({"channel": "email"})), 200).await;
    };
    subscribe(&from, &lists[0]).await;
    for list in &lists[1..] {
        subscribe(&from, list).await;
        subscribe(&into, list).await;
    }
    unsubscribe(&from, &lists[1]).await;
    unsubscribe(&into, &lists[2]).await;
    consent(&workspace, &from, "email", "unsubscribed").await;
    let suppressed = async || workspace.api.get("/suppressions?channel=email", 200).await.json();
    let before = suppressed().await;
    merge(&workspace, "from", "into").await;
    assert_eq!(suppressed().await, before);
    let memberships =
        workspace.api.get(format!("/subscriptions/contacts/{from}/lists"), 200).await.json();
    let rows = memberships.as_array().unwrap();
    assert_eq!(rows.len(), 4, "{memberships}");
    for (list, expected) in
        lists.iter().zip(["subscribed", "unsubscribed", "unsubscribed", "subscribed"])
    {
        let row = rows.iter().find(|row| row["listId"] == **list).unwrap();
        assert_eq!((&row["status"], &row["contactId"]), (&json!(expected), &json!(into)));
    }
    let found = contact(&workspace, &into).await;
    assert_eq!(found["channels"]["email"]["status"], "unsubscribed");
}

#[tokio::test]
async fn every_id_of_a_merged_profile_answers_as_the_survivor() {
    let workspace = Workspace::new().await;
    let (from, into) = (profile(&workspace, "old").await, profile(&workspace, "new").await);
    let third = profile(&workspace, "third").await;
    link(&workspace, "a1", &from).await;
    merge(&workspace, "old", "new").await;
    // A chain: the survivor is merged as well.
    merge(&workspace, "new", "third").await;
    for id in [&from, &into, &third] {
        assert_eq!(workspace.api.get(format!("/users/{id}"), 200).await.json()["id"], *third);
        contact(&workspace, id).await;
        consent(&workspace, id, "email", "subscribed").await;
        let put = workspace.api.request(Method::PUT, &format!("/users/{id}"));
        let answer = workspace.api.send(put.json(&json!({"phone": "+49301"})), 200).await.json();
        assert_eq!(answer["id"], *third);
        let answer = workspace.api.post("/users", &json!({"userId": id}), 200).await.json();
        assert_eq!(answer["id"], *third);
        workspace.api.get(format!("/users/{id}/events"), 200).await;
    }
    for name in ["old", "new", "third"] {
        let path = format!("/users/by-user-id/{name}");
        let found = workspace.api.get(&path, 200).await.json();
        assert_eq!((&found["id"], &found["externalId"]), (&json!(third), &json!("third")));
        let put = workspace.api.request(Method::PUT, &path);
        workspace.api.send(put.json(&json!({"attributes": {(name): 1}})), 200).await;
        let answer = workspace.api.post("/users", &json!({"externalId": name}), 200).await.json();
        assert_eq!(answer["id"], *third);
    }
    // Several ids of one person in one array are applied one after the other.
    let array = json!([{"externalId": "old", "attributes": {"n": 1}}, {"userId": into, "attributes": {"n": 2}},
        {"externalId": "third", "attributes": {"n": 3}}]);
    let answer = workspace.api.post("/users", &array, 200).await.json();
    assert_eq!((&answer["updated"], &answer["failed"]), (&json!(3), &json!([])));
    let survivor = workspace.api.get(format!("/users/{third}"), 200).await.json();
    assert_eq!(survivor["attributes"], json!({"old": 1, "new": 1, "third": 1, "n": 3}));

    // Merged profiles are neither in the list nor in the bin.
    assert_eq!(workspace.api.get("/users", 200).await.json()["pagination"]["total"], 1);
    let bin = workspace.api.get("/users/deleted", 200).await.json();
    assert_eq!((&bin["total"], &bin["items"]), (&json!(0), &json!([])));
    let bin = workspace.api.get("/users/deleted?query=old", 200).await.json();
    assert_eq!(bin["items"], json!([]));
    let targeting = json!({"targeting": {"userIds": ["old", into]}});
    let preview = workspace.api.post("/campaigns/preview", &targeting, 200).await.json();
    assert_eq!(preview["total"], 1, "{preview}");
}

#[tokio::test]
async fn a_deleted_survivor_leaves_all_its_ids_to_others() {
    let workspace = Workspace::new().await;
    let (from, into) = (profile(&workspace, "old").await, profile(&workspace, "new").await);
    merge(&workspace, "old", "new").await;
    let delete = workspace.api.request(Method::DELETE, &format!("/users/{into}"));
    workspace.api.send(delete, 204).await;
    for path in [format!("/users/{from}"), "/users/by-user-id/old".to_owned()] {
        workspace.api.get(path, 404).await;
    }
    let fresh = profile(&workspace, "old").await;
    assert_ne!(fresh, from);
    assert!(further(&workspace, "old").await.is_empty());
    let bin = workspace.api.get("/users/deleted", 200).await.json();
    assert_eq!(bin["total"], 1);
}

#[tokio::test]
async fn the_id_of_a_merged_profile_deletes_its_survivor() {
    let workspace = Workspace::new().await;
    let (from, into) = (profile(&workspace, "old").await, profile(&workspace, "new").await);
    merge(&workspace, "old", "new").await;
    for expected in [204, 404] {
        let delete = workspace.api.request(Method::DELETE, &format!("/users/{from}"));
        workspace.api.send(delete, expected).await;
    }
    workspace.api.get(format!("/users/{into}"), 404).await;
    let bin = workspace.api.get("/users/deleted", 200).await.json();
    assert_eq!((&bin["total"], &bin["items"][0]["originalId"]), (&json!(1), &json!(into)));
    profile(&workspace, "old").await;
}

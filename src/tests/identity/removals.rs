//! Removal of identifiers: which can be removed, and what becomes of their events.

use std::collections::BTreeSet;

use identity::model::{Linked, Trust};
use reqwest::Method;
use serde_json::json;

use super::{
    Wish, alias, events_of, further, leads_to::performers, link, link_all, link_publicly, merge,
    profile, removal, remove, track, until_mirrored,
};
use crate::{
    export::fixture::rows,
    kit::{Workspace, unique},
};

const OWN: &str = "is an id of the profile itself, or of one that was merged into it";
const ONE_OF: &str = "must name the identifiers by exactly one of ids and linkedBy";

/// Ann with a profile that was merged into hers, an alias and anonymous ids; and Bob.
async fn people(workspace: &Workspace) -> [String; 3] {
    let ann = profile(workspace, "ann").await;
    let (bob, old) = (profile(workspace, "bob").await, profile(workspace, "old").await);
    merge(workspace, "old", "ann").await;
    alias(workspace, "ann", "annie").await;
    link(workspace, "a1", &ann).await;
    link(workspace, "a2", &ann).await;
    link(workspace, "b1", &bob).await;
    [ann, bob, old]
}

#[tokio::test]
async fn what_cannot_be_removed_is_refused_and_nothing_is_removed() {
    let workspace = Workspace::new().await;
    let [ann, _, old] = people(&workspace).await;
    let before = further(&workspace, "ann").await;
    let many: Vec<String> = (0..1_001).map(|n| format!("a{n}")).collect();
    for (body, expected) in [
        (json!({}), ONE_OF),
        (json!({"ids": null}), ONE_OF),
        (json!({"ids": ["a1"], "linkedBy": "sdkKey"}), ONE_OF),
        (json!({"ids": []}), "ids must not be empty"),
        (json!({"ids": many}), "ids must have at most 1000 elements, received 1001"),
        (json!({"ids": "a1"}), "ids must be an array"),
        (json!({"ids": ["a1", 7]}), "ids[1] must be a string"),
        (json!({"ids": ["a1", ""]}), "ids[1] must be between 1 and 255 characters"),
        (json!({"ids": ["x".repeat(256)]}), "ids[0] must be between 1 and 255 characters"),
        (json!({"ids": ["a\0"]}), "ids[0] must not contain NUL characters"),
        (json!({"linkedBy": "apiKey"}), "linkedBy must be one of"),
        (json!({"linkedBy": true}), "linkedBy must be"),
    ] {
        let errors = removal(&workspace.api, "ann", &body, 400).await.errors();
        assert!(errors.len() == 1 && errors[0].contains(expected), "{body}: {errors:?}");
    }
    // One's own ids, and those of a profile that was merged.
    for id in ["ann", ann.as_str(), "old", old.as_str()] {
        let body = json!({"ids": ["a1", id]});
        let errors = removal(&workspace.api, &ann, &body, 400).await.errors();
        assert_eq!(errors, [format!("ids[1] {OWN}")], "{id}");
    }
    let body = json!({"ids": ["old", "a1", "ann"]});
    let errors = removal(&workspace.api, "ann", &body, 400).await.errors();
    assert_eq!(errors, [format!("ids[0] {OWN}"), format!("ids[2] {OWN}")]);
    assert_eq!(further(&workspace, "ann").await, before);
}

#[tokio::test]
async fn who_removes_needs_the_scope_and_a_profile_of_the_workspace() {
    let workspace = Workspace::new().await;
    let [ann, ..] = people(&workspace).await;
    let body = json!({"ids": ["a1"]});
    let reader = workspace.with_scopes("users:read").await;
    let refused = removal(&reader, "ann", &body, 403).await;
    assert!(refused.text.contains("users:write"), "{}", refused.text);
    for absent in ["a1", "carl", "00000000000000000000dead"] {
        removal(&workspace.api, absent, &body, 404).await;
    }
    let other = Workspace::new().await;
    for id in ["ann", ann.as_str()] {
        removal(&other.api, id, &body, 404).await;
    }
    let writer = workspace.with_scopes("users:write").await;
    assert_eq!(removal(&writer, &ann, &body, 200).await.json(), json!({"removed": 1}));
    let deletion = workspace.api.request(Method::DELETE, &format!("/users/{ann}"));
    workspace.api.send(deletion, 204).await;
    removal(&workspace.api, &ann, &json!({"ids": ["a2"]}), 404).await;
}

#[tokio::test]
async fn identifiers_of_others_are_passed_over_and_a_second_removal_changes_nothing() {
    let workspace = Workspace::new().await;
    let [ann, _, old] = people(&workspace).await;
    let body = json!({"ids": ["a1", "a1", "b1", "bob", "unknown"]});
    assert_eq!(remove(&workspace, "ann", &body).await, 1);
    assert_eq!(remove(&workspace, "ann", &body).await, 0);
    assert_eq!(further(&workspace, "bob").await, ["anonymous:b1"]);
    // By any id of the profile, as long as it is one.
    assert_eq!(remove(&workspace, &old, &json!({"ids": ["a2"]})).await, 1);
    assert_eq!(remove(&workspace, "annie", &json!({"ids": ["annie"]})).await, 1);
    removal(&workspace.api, "annie", &json!({"ids": ["annie"]}), 404).await;
    let left = ["external:old".to_owned(), format!("internal:{old}")];
    assert_eq!(further(&workspace, "ann").await, left);
    assert_eq!(remove(&workspace, "ann", &json!({"linkedBy": "sdkKey"})).await, 0);

    // One entry for each removal that removed something, with the profile's id and no other.
    let audit = workspace.api.get("/audit?action=user.identities_removed", 200).await.json();
    assert_eq!(audit["pagination"]["total"], 3, "{audit}");
    let entry = &audit["data"][2];
    assert_eq!((&entry["object"]["kind"], &entry["object"]["id"]), (&json!("user"), &json!(ann)));
    assert_eq!(entry["details"], json!({"by": "ids", "removed": 1}));
    assert!(!audit.to_string().contains("annie"), "{audit}");
}

#[tokio::test]
async fn a_thousand_identifiers_are_removed_at_once() {
    let workspace = Workspace::new().await;
    let ann = profile(&workspace, "ann").await;
    let ids: Vec<String> = (0..1_000).map(|n| format!("a{n}")).collect();
    let wishes = ids.iter().map(|id| Wish::new(id, &ann)).collect();
    let linked = link_all(workspace.id, wishes).await;
    assert_eq!(linked.iter().filter(|it| **it == Linked::New).count(), 998);
    assert_eq!(remove(&workspace, "ann", &json!({"ids": ids})).await, 998);
    assert_eq!(further(&workspace, "ann").await, [""; 0]);
    let wishes = ids.iter().map(|id| Wish::new(id, &ann)).collect();
    let linked = link_all(workspace.id, wishes).await;
    assert_eq!(linked.iter().filter(|it| **it == Linked::New).count(), 998);
}

#[tokio::test]
async fn an_alias_that_was_removed_names_a_new_profile() {
    let workspace = Workspace::new().await;
    let [ann, ..] = people(&workspace).await;
    workspace.api.get("/users/by-user-id/annie", 200).await;
    assert_eq!(remove(&workspace, "ann", &json!({"ids": ["annie"]})).await, 1);
    workspace.api.get("/users/by-user-id/annie", 404).await;
    workspace.api.get("/users/annie/identities", 404).await;
    let annie = profile(&workspace, "annie").await;
    assert_ne!(annie, ann);
    // An alias can be given again, also to another.
    alias(&workspace, "ann", "anna").await;
    assert_eq!(remove(&workspace, "ann", &json!({"ids": ["anna"]})).await, 1);
    alias(&workspace, "bob", "anna").await;
    let found = workspace.api.get("/users/by-user-id/anna", 200).await.json();
    assert_eq!(found["externalId"], "bob");
    assert_eq!(further(&workspace, "bob").await, ["alias:anna", "anonymous:b1"]);
    assert_eq!(remove(&workspace, "ann", &json!({"ids": ["anna"]})).await, 0);
}

#[tokio::test]
async fn a_flood_of_public_links_is_removed_and_a_browser_is_linked_again() {
    let workspace = Workspace::new().await;
    let ann = profile(&workspace, "ann").await;
    link(&workspace, "of the server", &ann).await;
    for round in 0..2 {
        let wish = |n: usize| Wish { trust: Trust::Public, ..Wish::new(&format!("p{n}"), &ann) };
        let linked = link_all(workspace.id, (0..500).map(wish).collect()).await;
        assert!(linked.iter().all(|it| *it == Linked::New), "{round}: {linked:?}");
        assert_eq!(link_publicly(&workspace, "browser", &ann).await, Linked::PublicFull);
        assert_eq!(remove(&workspace, "ann", &json!({"linkedBy": "sdkKey"})).await, 500);
        assert_eq!(further(&workspace, "ann").await, ["anonymous:of the server"]);
    }
    assert_eq!(link_publicly(&workspace, "browser", &ann).await, Linked::New);
    assert_eq!(link_publicly(&workspace, "p1", &ann).await, Linked::New);
    // What a public key linked stays that after a merge.
    profile(&workspace, "bob").await;
    merge(&workspace, "ann", "bob").await;
    assert_eq!(remove(&workspace, "ann", &json!({"linkedBy": "sdkKey"})).await, 2);
    assert!(further(&workspace, "bob").await.contains(&"anonymous:of the server".to_owned()));
    let audit = workspace.api.get("/audit?action=user.identities_removed", 200).await.json();
    assert_eq!(audit["data"][0]["details"], json!({"by": "linkedBy", "removed": 2}));
}

/// Whose the event is, asked in every way: for a profile by its id, else no one's.
async fn is_of(workspace: &Workspace, name: &str, owner: Option<&str>, profiles: &[&str]) {
    until_mirrored(workspace.id).await;
    for profile in profiles {
        let (found, total) = events_of(workspace, profile).await;
        let count = usize::from(owner == Some(*profile));
        assert_eq!((found, total), (vec![name.to_owned(); count], count as u64), "{profile}");
        let path = format!("/events/query?userId={profile}");
        let found = workspace.api.get(path, 200).await.json();
        assert_eq!(found.as_array().unwrap().len(), count, "{found}");
    }
    let owners: BTreeSet<String> = owner.iter().map(ToString::to_string).collect();
    for count in [json!({}), json!({"count": {"op": "equals", "n": 1}})] {
        for copies in [true, false] {
            let found = performers(workspace, name, count.clone(), copies).await;
            assert_eq!(found, owners, "audience, {count}, by copies: {copies}");
        }
    }
    let exported = rows(&workspace.api, "").await;
    assert_eq!(exported[0]["person_id"], json!(owner.unwrap_or("a1")));
    let question = json!({"series": [{"eventName": name}], "interval": "none", "from": "2026-03-01",
                          "to": "2026-03-01", "breakdown": {"profile": "name"}});
    let answer = workspace.api.post("/insights/trends", &question, 200).await.json();
    assert_eq!(answer["series"][0]["breakdown"], json!(owner), "{answer}");
}

#[tokio::test]
async fn events_are_no_ones_after_a_removal_and_anothers_after_another_link() {
    let workspace = Workspace::new().await;
    let (ann, bob) = (profile(&workspace, "ann").await, profile(&workspace, "bob").await);
    for id in [&ann, &bob] {
        let body = json!({"attributes": {"name": id}});
        let request = workspace.api.request(Method::PUT, &format!("/users/{id}"));
        workspace.api.send(request.json(&body), 200).await;
    }
    let name = unique("viewed");
    let event = json!({"anonymousId": "a1", "eventName": name, "clientEventId": name,
        "timestamp": "2026-03-01T12:00:00Z"});
    track(&workspace, &[event], 1).await;
    let profiles = [ann.as_str(), bob.as_str()];
    is_of(&workspace, &name, None, &profiles).await;
    assert_eq!(link(&workspace, "a1", &ann).await, Linked::New);
    is_of(&workspace, &name, Some(&ann), &profiles).await;
    assert_eq!(remove(&workspace, "ann", &json!({"ids": ["a1"]})).await, 1);
    is_of(&workspace, &name, None, &profiles).await;
    assert_eq!(link(&workspace, "a1", &bob).await, Linked::New);
    is_of(&workspace, &name, Some(&bob), &profiles).await;
    assert_eq!(remove(&workspace, "bob", &json!({"ids": ["a1"]})).await, 1);
    assert_eq!(link(&workspace, "a1", &ann).await, Linked::New);
    is_of(&workspace, &name, Some(&ann), &profiles).await;
}

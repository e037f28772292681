//! Links of anonymous ids: the first stays, and a profile has room for so many.

use std::collections::BTreeMap;

use identity::model::{IDENTIFIERS_MAX, Linked};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Wish, further, link, link_all, profile};
use crate::kit::Workspace;

#[tokio::test]
async fn the_first_link_of_an_anonymous_id_stays() {
    let workspace = Workspace::new().await;
    let (ann, bob) = (profile(&workspace, "ann").await, profile(&workspace, "bob").await);
    assert_eq!(link(&workspace, "a1", &ann).await, Linked::New);
    assert_eq!(link(&workspace, "a1", &ann).await, Linked::Known);
    assert_eq!(link(&workspace, "a1", &bob).await, Linked::OfAnother(ann.parse().unwrap()));
    let wishes = [("a2", &bob), ("a1", &bob), ("a2", &ann), ("a2", &bob), ("a3", &ann)];
    let wishes = wishes.map(|(anonymous, user)| Wish::new(anonymous, user));
    let (of_ann, of_bob) = (ann.parse().unwrap(), bob.parse().unwrap());
    assert_eq!(
        link_all(workspace.id, wishes.to_vec()).await,
        [
            Linked::New,
            Linked::OfAnother(of_ann),
            Linked::OfAnother(of_bob),
            Linked::Known,
            Linked::New,
        ]
    );
    assert_eq!(further(&workspace, "ann").await, ["anonymous:a1", "anonymous:a3"]);
    assert_eq!(further(&workspace, &bob).await, ["anonymous:a2"]);

    let all = workspace.api.get("/users/ann/identities", 200).await.json();
    let all = all["data"].as_array().unwrap();
    assert_eq!((&all[0]["type"], &all[0]["id"]), (&json!("internal"), &json!(ann)));
    assert_eq!((&all[1]["type"], &all[1]["id"]), (&json!("external"), &json!("ann")));
    assert_eq!(all[2]["source"], "identify");
    assert!(all.iter().all(|it| it["linkedAt"].is_string()));
}

#[tokio::test]
async fn links_that_cannot_be_are_refused_with_a_reason() {
    let workspace = Workspace::new().await;
    let ann = profile(&workspace, "ann").await;
    let longest = "é".repeat(255);
    for (anonymous, user, expected) in [
        ("", ann.as_str(), Linked::Unusable),
        ("a\0b", &ann, Linked::Unusable),
        (longest.as_str(), &ann, Linked::New),
        (&format!("{longest}x"), &ann, Linked::Unusable),
        ("a1", "00000000000000000000dead", Linked::NoProfile),
    ] {
        assert_eq!(link(&workspace, anonymous, user).await, expected, "{anonymous:?}");
        assert_eq!(expected.is_linked(), expected == Linked::New);
        assert!(!expected.to_string().is_empty());
    }
    // Another workspace's profile is none of this one.
    let other = Workspace::new().await;
    assert_eq!(link(&other, "a1", &ann).await, Linked::NoProfile);
    other.api.get(format!("/users/{ann}/identities"), 404).await;
}

#[tokio::test]
async fn a_profile_has_a_thousand_identifiers_and_not_one_more() {
    let workspace = Workspace::new().await;
    let ann = profile(&workspace, "ann").await;
    // Its own two count.
    let free = IDENTIFIERS_MAX - 2;
    let wishes = |count: usize| (0..count).map(|n| Wish::new(&format!("a{n}"), &ann)).collect();
    let outcomes = link_all(workspace.id, wishes(10_000)).await;
    let new = outcomes.iter().filter(|outcome| **outcome == Linked::New).count();
    assert_eq!(new, free);
    assert_eq!(outcomes[free - 1], Linked::New);
    assert_eq!(outcomes[free], Linked::Full);
    assert_eq!(Linked::Full.to_string(), "the profile has 1000 identifiers, the most it may have");
    assert_eq!(link(&workspace, "one-more", &ann).await, Linked::Full);
    assert_eq!(link(&workspace, "a0", &ann).await, Linked::Known);
    let all = workspace.api.get("/users/ann/identities", 200).await.json();
    assert_eq!(all["data"].as_array().unwrap().len(), IDENTIFIERS_MAX);

    // A profile that is full takes no other, nor is it taken by one.
    profile(&workspace, "bob").await;
    for (from, into) in [("ann", "bob"), ("bob", "ann")] {
        let body = json!({"from": from, "into": into});
        let errors = workspace.api.post("/users/merge", &body, 400).await.errors();
        assert!(errors[0].contains("at most 1000 identifiers"), "{errors:?}");
    }
    assert_eq!(workspace.api.get("/users", 200).await.json()["pagination"]["total"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_ten_thousand_profiles_one_gets_an_anonymous_id() {
    let workspace = Workspace::new().await;
    for part in 0..10 {
        let users: Value =
            (0..1000).map(|n| json!({"externalId": format!("u{part}-{n}")})).collect();
        workspace.api.post("/users", &users, 200).await;
    }
    let mut ids = Vec::new();
    for page in 0..50 {
        let path = format!("/users?limit=200&offset={}", page * 200);
        let page = workspace.api.get(path, 200).await.json();
        let users = page["data"].as_array().unwrap().clone();
        ids.extend(users.iter().map(|user| user["id"].as_str().unwrap().to_owned()));
    }
    assert_eq!(ids.len(), 10_000);
    let storm: Vec<_> = ids
        .chunks(500)
        .map(|some| {
            let wishes = some.iter().map(|user| Wish::new("shared-device", user)).collect();
            tokio::spawn(link_all(workspace.id, wishes))
        })
        .collect();
    let mut outcomes = Vec::new();
    for one in storm {
        outcomes.extend(one.await.unwrap());
    }
    let mut owners = BTreeMap::<String, usize>::new();
    for outcome in &outcomes {
        if let Linked::OfAnother(owner) = outcome {
            *owners.entry(owner.to_string()).or_default() += 1;
        }
    }
    let new = outcomes.iter().filter(|outcome| **outcome == Linked::New).count();
    assert_eq!((new, owners.len()), (1, 1), "{owners:?}");
    assert_eq!(owners.values().sum::<usize>(), 9_999);
    let (owner, _) = owners.pop_first().unwrap();
    assert_eq!(further(&workspace, &owner).await, ["anonymous:shared-device"]);
}

#[tokio::test]
async fn a_deleted_profile_leaves_its_anonymous_ids_to_others() {
    let workspace = Workspace::new().await;
    let (ann, bob) = (profile(&workspace, "ann").await, profile(&workspace, "bob").await);
    assert_eq!(link(&workspace, "a1", &ann).await, Linked::New);
    let delete = workspace.api.request(Method::DELETE, &format!("/users/{ann}"));
    workspace.api.send(delete, 204).await;
    workspace.api.get("/users/ann/identities", 404).await;
    assert_eq!(link(&workspace, "a1", &ann).await, Linked::NoProfile);
    assert_eq!(link(&workspace, "a1", &bob).await, Linked::New);
    assert_eq!(further(&workspace, "bob").await, ["anonymous:a1"]);
}

//! Aliases: by who sends them, and by which of the two ids has a profile.

use identity::model::{AliasRefusal, Aliased, Linked, Trust};
use serde_json::json;

use super::{alias, alias_by, further, link, link_publicly, profile};
use crate::kit::Workspace;

#[tokio::test]
async fn an_alias_links_names_or_merges() {
    let workspace = Workspace::new().await;
    for trust in [Trust::Server, Trust::Public] {
        let name = |suffix: &str| format!("{trust:?}-{suffix}");
        // `previous` has no profile: it is an anonymous id.
        let ann = profile(&workspace, &name("ann")).await;
        let (user, linked) = (ann.parse().unwrap(), Linked::New);
        assert_eq!(
            alias_by(&workspace, trust, &name("a1"), &name("ann")).await,
            Aliased::Linked { user, linked }
        );
        assert_eq!(
            alias_by(&workspace, trust, &name("a1"), &name("ann")).await,
            Aliased::Linked { user, linked: Linked::Known }
        );
        // Neither has one: `user` gets one.
        let made = alias_by(&workspace, trust, &name("a2"), &name("new")).await;
        let new = workspace.api.get(format!("/users/by-user-id/{}", name("new")), 200).await.json();
        let user = new["id"].as_str().unwrap().parse().unwrap();
        assert_eq!(made, Aliased::Linked { user, linked: Linked::New });
        // It stays with whom it was linked to first, and no profile is made for that.
        let owner = ann.parse().unwrap();
        let linked = Linked::OfAnother(owner);
        assert_eq!(
            alias_by(&workspace, trust, &name("a1"), &name("unknown")).await,
            Aliased::Linked { user: owner, linked }
        );
        workspace.api.get(format!("/users/by-user-id/{}", name("unknown")), 404).await;
    }
}

#[tokio::test]
async fn a_public_key_never_names_or_merges_profiles() {
    let workspace = Workspace::new().await;
    let (ann, bob) = (profile(&workspace, "ann").await, profile(&workspace, "bob").await);
    let refused = Aliased::Refused(AliasRefusal::PublicKey);
    for (previous, user) in [("ann", "bob"), ("ann", "new"), (ann.as_str(), bob.as_str())] {
        assert_eq!(alias_by(&workspace, Trust::Public, previous, user).await, refused);
    }
    workspace.api.get("/users/by-user-id/new", 404).await;
    assert_eq!(workspace.api.get("/users", 200).await.json()["pagination"]["total"], 2);
    let unusable = Aliased::Refused(AliasRefusal::Unusable);
    for (previous, user) in [("", "ann"), ("a1", ""), ("a\0", "ann"), ("a1", &"x".repeat(256))] {
        for trust in [Trust::Server, Trust::Public] {
            assert_eq!(alias_by(&workspace, trust, previous, user).await, unusable);
        }
    }
}

#[tokio::test]
async fn a_server_key_gives_a_profile_a_further_id() {
    let workspace = Workspace::new().await;
    let ann = profile(&workspace, "ann").await;
    assert_eq!(alias(&workspace, "ann", "anna").await, Aliased::Named(ann.parse().unwrap()));
    assert_eq!(alias(&workspace, "ann", "anna").await, Aliased::Known(ann.parse().unwrap()));
    assert_eq!(further(&workspace, "anna").await, ["alias:anna"]);
    let found = workspace.api.get("/users/by-user-id/anna", 200).await.json();
    assert_eq!((&found["id"], &found["externalId"]), (&json!(ann), &json!("ann")));
    // An upsert by the further id is of the same profile, and leaves its own id.
    let body = json!({"externalId": "anna", "attributes": {"plan": "pro"}});
    let updated = workspace.api.post("/users", &body, 200).await.json();
    assert_eq!((&updated["id"], &updated["externalId"]), (&json!(ann), &json!("ann")));
    assert_eq!(workspace.api.get("/users", 200).await.json()["pagination"]["total"], 1);

    // A profile without an external id gets its first.
    let lead = super::user(&workspace, &json!({"email": "lead@example.test"})).await;
    assert_eq!(alias(&workspace, &lead, "lead").await, Aliased::Named(lead.parse().unwrap()));
    let found = workspace.api.get(format!("/users/{lead}"), 200).await.json();
    assert_eq!(found["externalId"], "lead");
}

#[tokio::test]
async fn aliases_in_a_circle_are_one_person() {
    let workspace = Workspace::new().await;
    let mut ids = Vec::new();
    for name in ["a", "b", "c"] {
        ids.push(profile(&workspace, name).await);
        link(&workspace, &format!("of-{name}"), ids.last().unwrap()).await;
    }
    let b = ids[1].parse().unwrap();
    assert_eq!(alias(&workspace, "a", "b").await, Aliased::Merged(b));
    assert_eq!(alias(&workspace, "b", "a").await, Aliased::Known(b));
    let c = ids[2].parse().unwrap();
    assert_eq!(alias(&workspace, "b", "c").await, Aliased::Merged(c));
    assert_eq!(alias(&workspace, "c", "a").await, Aliased::Known(c));
    let mut expected = vec![
        "anonymous:of-a".to_owned(),
        "anonymous:of-b".to_owned(),
        "anonymous:of-c".to_owned(),
        "external:a".to_owned(),
        "external:b".to_owned(),
        format!("internal:{}", ids[0]),
        format!("internal:{}", ids[1]),
    ];
    expected.sort();
    for id in ["a", "b", "c", ids[0].as_str()] {
        assert_eq!(further(&workspace, id).await, expected, "{id}");
    }
    let page = workspace.api.get("/users", 200).await.json();
    assert_eq!(page["pagination"]["total"], 1);
}

#[tokio::test]
async fn an_anonymous_id_stays_with_whom_it_was_linked_to() {
    let workspace = Workspace::new().await;
    let (ann, bob) = (profile(&workspace, "ann").await, profile(&workspace, "bob").await);
    link(&workspace, "a1", &ann).await;
    let refused = Aliased::Refused(AliasRefusal::LinkedToAnother);
    assert_eq!(alias(&workspace, "bob", "a1").await, refused);
    let refused = Aliased::Refused(AliasRefusal::PublicKey);
    assert_eq!(alias_by(&workspace, Trust::Public, "bob", "a1").await, refused);
    let user = ann.parse().unwrap();
    assert_eq!(alias(&workspace, "ann", "a1").await, Aliased::Known(user));
    assert_eq!(further(&workspace, "ann").await, ["anonymous:a1"]);
    assert!(further(&workspace, "bob").await.is_empty());
    // A further anonymous id is of the same person.
    let linked = Linked::New;
    assert_eq!(alias(&workspace, "a2", "a1").await, Aliased::Linked { user, linked });
    assert_eq!(further(&workspace, "ann").await, ["anonymous:a1", "anonymous:a2"]);
    workspace.api.get("/users/by-user-id/a1", 404).await;
    // What an SDK key linked and a server may use as an id of users is free for the server.
    link_publicly(&workspace, "customer-77", &ann).await;
    let named = Aliased::Named(bob.parse().unwrap());
    assert_eq!(alias(&workspace, "bob", "customer-77").await, named);
}

#[tokio::test]
async fn a_circle_of_ids_without_profiles_lists_each_once() {
    let workspace = Workspace::new().await;
    let linked = alias(&workspace, "k1", "k2").await;
    let found = workspace.api.get("/users/by-user-id/k2", 200).await.json();
    let user = found["id"].as_str().unwrap().parse().unwrap();
    assert_eq!(linked, Aliased::Linked { user, linked: Linked::New });
    assert_eq!(alias(&workspace, "k2", "k3").await, Aliased::Named(user));
    for (previous, next) in [("k3", "k1"), ("k1", "k2"), ("k2", "k3")] {
        let again = alias(&workspace, previous, next).await;
        let known = Aliased::Linked { user, linked: Linked::Known };
        assert!(again == Aliased::Known(user) || again == known, "{again:?}");
    }
    assert_eq!(further(&workspace, "k2").await, ["alias:k3", "anonymous:k1"]);
    assert_eq!(workspace.api.get("/users", 200).await.json()["pagination"]["total"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_has_one_profile_although_alias_and_upsert_race() {
    let workspace = Workspace::new().await;
    for round in 0..15 {
        let old = profile(&workspace, &format!("old-{round}")).await;
        let new = format!("new-{round}");
        let body = json!({"externalId": new});
        let (client, name) = (workspace.api.clone(), format!("old-{round}"));
        let upsert = tokio::spawn(async move {
            let request = client.request(reqwest::Method::POST, "/users").json(&body);
            request.send().await.unwrap().json::<serde_json::Value>().await.unwrap()
        });
        let aliased = alias(&workspace, &name, &new).await;
        let upserted = upsert.await.unwrap()["id"].as_str().unwrap().to_owned();
        let found = workspace.api.get(format!("/users/by-user-id/{new}"), 200).await.json();
        let found = found["id"].as_str().unwrap();
        match aliased {
            // Either the id was free and names the old profile, or its profile took the old one over.
            Aliased::Named(user) => {
                assert_eq!((user.to_string(), found), (old.clone(), old.as_str()));
            }
            Aliased::Merged(user) => {
                assert_eq!((user.to_string(), found), (upserted.clone(), upserted.as_str()));
            }
            other => panic!("{other:?}"),
        }
        let by_old = workspace.api.get(format!("/users/{old}"), 200).await.json();
        assert_eq!(by_old["id"], found);
    }
}

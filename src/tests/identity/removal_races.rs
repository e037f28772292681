//! Removals of identifiers beside links, merges, aliases, upserts, deletions and other removals.

use identity::model::Linked;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{alias, further, link, link_publicly, merge, mirror::until_copied, profile, remove};
use crate::kit::{Client, Workspace};

const ROUNDS: usize = 12;

/// Sends a request and gives its status.
async fn status(client: Client, method: Method, path: String, body: Value) -> u16 {
    client.request(method, &path).json(&body).send().await.unwrap().status().as_u16()
}

fn anonymous(id: &str) -> String {
    format!("anonymous:{id}")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identifier_that_is_removed_and_linked_at_once_is_of_one_profile() {
    let workspace = Workspace::new().await;
    let (ann, bob) = (profile(&workspace, "ann").await, profile(&workspace, "bob").await);
    for round in 0..ROUNDS {
        let id = format!("a-{round}");
        let body = json!({"ids": [id]});
        assert_eq!(link(&workspace, &id, &ann).await, Linked::New);
        let (removed, to_ann, to_bob) = tokio::join!(
            remove(&workspace, "ann", &body),
            link(&workspace, &id, &ann),
            link_publicly(&workspace, &id, &bob)
        );
        let of_ann = further(&workspace, &ann).await.contains(&anonymous(&id));
        let of_bob = further(&workspace, &bob).await.contains(&anonymous(&id));
        assert_eq!(removed, 1);
        assert!(!(of_ann && of_bob), "round {round}: of both");
        assert_eq!(of_bob, to_bob == Linked::New, "round {round}: {to_bob:?}");
        match to_ann {
            Linked::New => assert!(of_ann && !of_bob, "round {round}"),
            Linked::Known => assert!(!of_ann, "round {round}"),
            other => assert!(of_bob, "round {round}: {other:?}"),
        }
    }
    until_copied(workspace.id.uuid(), ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removals_at_once_remove_each_identifier_once() {
    let workspace = Workspace::new().await;
    let ann = profile(&workspace, "ann").await;
    for round in 0..ROUNDS {
        let ids: Vec<String> = (0..10).map(|n| format!("a{n}-{round}")).collect();
        for id in &ids {
            link_publicly(&workspace, id, &ann).await;
        }
        let (first, second) = (json!({"ids": ids[..7]}), json!({"ids": ids[3..]}));
        let all = json!({"linkedBy": "sdkKey"});
        let (first, second, all) = tokio::join!(
            remove(&workspace, "ann", &first),
            remove(&workspace, &ann, &second),
            remove(&workspace, "ann", &all)
        );
        assert_eq!(first + second + all, 10, "round {round}");
        assert_eq!(further(&workspace, "ann").await, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_beside_a_merge_is_the_survivors() {
    let workspace = Workspace::new().await;
    for round in 0..ROUNDS {
        let names = [format!("from-{round}"), format!("into-{round}")];
        let from = profile(&workspace, &names[0]).await;
        profile(&workspace, &names[1]).await;
        let (gone, kept, name) =
            (format!("a-{round}"), format!("b-{round}"), format!("alias-{round}"));
        link(&workspace, &gone, &from).await;
        link(&workspace, &kept, &from).await;
        alias(&workspace, &names[0], &name).await;
        let body = json!({"ids": [gone, name]});
        let (removed, _) = tokio::join!(
            remove(&workspace, &names[0], &body),
            merge(&workspace, &names[0], &names[1])
        );
        assert_eq!(removed, 2, "round {round}");
        let found = further(&workspace, &names[1]).await;
        assert!(found.contains(&anonymous(&kept)), "{found:?}");
        // The other two are the ids of the merged profile.
        assert_eq!(found.len(), 3, "{found:?}");
        workspace.api.get(format!("/users/by-user-id/{name}"), 404).await;
    }
    until_copied(workspace.id.uuid(), 5 * ROUNDS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_removed_beside_a_deletion_is_free() {
    let workspace = Workspace::new().await;
    let bob = profile(&workspace, "bob").await;
    for round in 0..ROUNDS {
        let ann = profile(&workspace, &format!("ann-{round}")).await;
        let id = format!("a-{round}");
        link(&workspace, &id, &ann).await;
        let path = format!("/users/{ann}");
        let mut calls = JoinSet::new();
        let body = json!({"ids": [id]});
        calls.spawn(status(
            workspace.api.clone(),
            Method::DELETE,
            format!("{path}/identities"),
            body,
        ));
        calls.spawn(status(workspace.api.clone(), Method::DELETE, path, Value::Null));
        for status in calls.join_all().await {
            assert!([200, 204, 404].contains(&status), "{status}");
        }
        assert_eq!(link(&workspace, &id, &bob).await, Linked::New);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_that_is_removed_beside_upserts_is_anothers() {
    let workspace = Workspace::new().await;
    let ann = profile(&workspace, "ann").await;
    for round in 0..ROUNDS {
        let name = format!("alias-{round}");
        alias(&workspace, "ann", &name).await;
        let body = json!({"ids": [name]});
        let mut calls = JoinSet::new();
        for n in 0..4 {
            let body = json!({"externalId": name, "attributes": {format!("k{n}"): n}});
            calls.spawn(status(workspace.api.clone(), Method::POST, "/users".to_owned(), body));
        }
        assert_eq!(remove(&workspace, "ann", &body).await, 1);
        for status in calls.join_all().await {
            assert!([200, 201].contains(&status), "{status}");
        }
        // Each upsert was of one of the two profiles, and the id is a new one's from now on.
        let body = json!({"externalId": name, "attributes": {"last": 1}});
        let answer = workspace.api.request(Method::POST, "/users").json(&body);
        let answer = answer.send().await.unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
        let found = workspace.api.get(format!("/users/by-user-id/{name}"), 200).await.json();
        assert!(found["id"] != json!(ann) && found["externalId"] == json!(name), "{found}");
        assert_eq!(further(&workspace, "ann").await, [""; 0]);
    }
}

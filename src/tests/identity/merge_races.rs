//! Many merges of the same profiles at once, alone and beside other writes: no call fails, and others are answered.

use std::collections::BTreeSet;

use reqwest::{Method, header::RETRY_AFTER};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{merge, profile};
use crate::kit::{Client, Workspace};

/// A call and the status of its answer.
#[derive(Debug, Clone)]
struct Call {
    method: Method,
    path: String,
    body: Value,
}

impl Call {
    fn new(method: Method, path: impl Into<String>, body: Value) -> Self {
        Self { method, path: path.into(), body }
    }

    fn merge(from: &str, into: &str) -> Self {
        Self::new(Method::POST, "/users/merge", json!({"from": from, "into": into}))
    }

    /// Sends it, and again as long as the answer is 503 with `Retry-After`.
    async fn status(self, client: Client) -> u16 {
        loop {
            let request = client.request(self.method.clone(), &self.path).json(&self.body);
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            if status != 503 {
                return status;
            }
            assert!(answer.headers().contains_key(RETRY_AFTER), "{self:?}");
        }
    }
}

/// Profiles with these names; gives their internal ids.
async fn profiles(workspace: &Workspace, names: &[String]) -> Vec<String> {
    let mut ids = Vec::new();
    for name in names {
        ids.push(profile(workspace, name).await);
    }
    ids
}

/// Merges of each into each other, those of a profile far apart.
fn merges_of_all(names: &[String]) -> Vec<Call> {
    let mut pairs: Vec<(usize, usize)> = (0..names.len())
        .flat_map(|from| (0..names.len()).map(move |into| (from, into)))
        .filter(|(from, into)| from != into)
        .collect();
    pairs.sort_by_key(|(from, into)| (from * 31 + into * 17) % 53);
    pairs.into_iter().map(|(from, into)| Call::merge(&names[from], &names[into])).collect()
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}{n}")).collect()
}

/// The internal ids of the profiles that these names stand for.
async fn found(workspace: &Workspace, names: &[String]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in names {
        let user = workspace.api.get(format!("/users/by-user-id/{name}"), 200).await.json();
        found.insert(user["id"].as_str().unwrap().to_owned());
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn merges_of_many_callers_leave_one_profile_of_each_person() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let people = [names("a", 8), names("b", 4)];
    let mut calls = JoinSet::new();
    for names in &people {
        profiles(&workspace, names).await;
    }
    for call in people.iter().flat_map(|names| merges_of_all(names)) {
        calls.spawn(call.status(workspace.api.clone()));
    }
    let others = async {
        for n in 0..10 {
            profile(&other, &format!("other-{n}")).await;
            other.api.get("/users?limit=1", 200).await;
        }
    };
    let (statuses, ()) = tokio::join!(calls.join_all(), others);
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    for names in &people {
        assert_eq!(found(&workspace, names).await.len(), 1, "{names:?}");
    }
    let page = workspace.api.get("/users", 200).await.json();
    assert_eq!(page["pagination"]["total"], people.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_beside_many_merges_are_the_survivors() {
    let workspace = Workspace::new().await;
    let names = names("p", 6);
    let ids = profiles(&workspace, &names).await;
    let mut calls = JoinSet::new();
    for call in merges_of_all(&names) {
        calls.spawn(call.status(workspace.api.clone()));
    }
    for (n, (name, id)) in names.iter().zip(&ids).enumerate() {
        let email = json!({"channel": "email", "status": "unsubscribed"});
        for call in [
            Call::new(
                Method::PUT,
                format!("/users/{id}"),
                json!({"attributes": {format!("put{n}"): n}}),
            ),
            Call::new(
                Method::POST,
                "/users",
                json!({"externalId": name, "attributes": {format!("post{n}"): n}}),
            ),
            Call::new(Method::PUT, format!("/subscriptions/contacts/{id}/channels/email"), email),
        ] {
            calls.spawn(call.status(workspace.api.clone()));
        }
    }
    let statuses = calls.join_all().await;
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    assert_eq!(found(&workspace, &names).await.len(), 1);
    let survivor = workspace.api.get(format!("/users/{}", ids[0]), 200).await.json();
    let attributes = survivor["attributes"].as_object().unwrap();
    assert_eq!(attributes.len(), 2 * names.len(), "{survivor}");
    let contact =
        workspace.api.get(format!("/subscriptions/contacts/{}", ids[0]), 200).await.json();
    assert_eq!(contact["channels"]["email"]["status"], "unsubscribed", "{contact}");
}

#[tokio::test(flavor = "multi_thread")]
async fn deletions_beside_merges_take_whole_people() {
    let workspace = Workspace::new().await;
    for round in 0..4 {
        let names = names(&format!("p{round}-"), 6);
        let ids = profiles(&workspace, &names).await;
        // Half of them are merged already, so that deletions and merges change several rows.
        merge(&workspace, &ids[0], &ids[1]).await;
        merge(&workspace, &ids[5], &ids[4]).await;
        let mut calls = JoinSet::new();
        for call in merges_of_all(&ids) {
            calls.spawn(call.status(workspace.api.clone()));
        }
        for id in ids.iter().take(2) {
            let call = Call::new(Method::DELETE, format!("/users/{id}"), Value::Null);
            calls.spawn(call.status(workspace.api.clone()));
        }
        for status in calls.join_all().await {
            assert!([200, 204, 404].contains(&status), "{status}");
        }
        let mut active = BTreeSet::new();
        for id in &ids {
            let request = workspace.api.request(Method::GET, &format!("/users/{id}"));
            let answer = request.send().await.unwrap();
            if answer.status().as_u16() == 200 {
                let user: Value = answer.json().await.unwrap();
                active.insert(user["id"].as_str().unwrap().to_owned());
            }
        }
        // Those that are left are counted once each.
        let page = workspace.api.get("/users", 200).await.json();
        assert_eq!(page["pagination"]["total"], active.len(), "{page}");
        for id in &active {
            let call = Call::new(Method::DELETE, format!("/users/{id}"), Value::Null);
            assert_eq!(call.status(workspace.api.clone()).await, 204);
        }
    }
}

//! Many writers of few profiles: the last copy is the last state.

use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{COPIED_MAX, Stores, wait};
use crate::kit::{Client, Workspace};

const PROFILES: usize = 6;
const WRITERS: u64 = 6;
const WRITES: usize = 60;

/// A write of any kind to one of the profiles.
async fn write(api: &Client, random: &mut StdRng, users: &[String], lists: &[String]) {
    let number = random.random_range(0..users.len());
    let (user, list) = (&users[number], &lists[random.random_range(0..lists.len())]);
    let channel = ["email", "sms", "push"][random.random_range(0..3)];
    let status = ["optedIn", "subscribed", "unsubscribed"][random.random_range(0..3)];
    let key = ["a", "b", "c"][random.random_range(0..3)];
    let value: Value =
        [json!(random.random_range(0..1000)), json!("text")][random.random_range(0..2)].clone();
    let member = format!("/subscriptions/contacts/{user}/lists/{list}");
    let (method, path, body) = match random.random_range(0..5) {
        0 => {
            let path = format!("/subscriptions/contacts/{user}/channels/{channel}");
            (Method::PUT, path, json!({"channel": channel, "status": status}))
        }
        1 => (Method::POST, member, json!({"channel": channel})),
        2 => (Method::DELETE, member, json!({"channel": channel})),
        3 => {
            let email = format!("u{}@example.test", random.random_range(0..100));
            (Method::PUT, format!("/users/{user}"), json!({"email": email}))
        }
        _ => {
            let others = users.iter().map(|id| json!({"userId": id, "attributes": {key: value}}));
            (Method::POST, "/users".to_owned(), others.collect())
        }
    };
    api.send(api.request(method, &path).json(&body), 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_are_exact_after_writes_of_all_kinds_by_many_writers() {
    let workspace = Workspace::new().await;
    let (mut users, mut lists) = (Vec::new(), Vec::new());
    for number in 0..PROFILES {
        let body = json!({"externalId": format!("u{number}")});
        let made = workspace.api.post("/users", &body, 201).await.json();
        users.push(made["id"].as_str().unwrap().to_owned());
    }
    for name in ["news", "deals"] {
        let made = workspace.api.post("/lists", &json!({"name": name}), 201).await.json();
        lists.push(made["id"].as_str().unwrap().to_owned());
    }
    let mut writers = JoinSet::new();
    for seed in 0..WRITERS {
        let (api, users, lists) = (workspace.api.clone(), users.clone(), lists.clone());
        writers.spawn(async move {
            let mut random = StdRng::seed_from_u64(seed);
            for _ in 0..WRITES {
                write(&api, &mut random, &users, &lists).await;
            }
        });
    }
    writers.join_all().await;
    assert!(wait(&workspace, COPIED_MAX).await);
    let differences = Stores::shared().differences(Some(workspace.id.uuid())).await.unwrap();
    assert_eq!(differences, [""; 0]);
}

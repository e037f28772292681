//! Two servers on stores that others run: an erasure reaches the files of both, and the rows of the stores.

use std::{collections::BTreeSet, fs, path::PathBuf};

use serde_json::json;
use sqlx::Connection as _;

use super::{
    canary::{event, files_with, keep_dead_letters, token},
    ended, request, until_events,
};
use crate::{
    kit::{Client, MILLRACE, Process, data_dir, eventually},
    upgrade::{beside::make_key, previous::Previous},
};

const EVENTS: usize = 20;

struct Node {
    folder: PathBuf,
    process: Process,
    api: Client,
}

async fn nodes(stores: &Previous) -> [Node; 2] {
    let settings = stores.environment();
    let folders = ["erasing-node", "other-node"].map(data_dir);
    let (first, _) = Process::start(&folders[0], &settings).await;
    let key = make_key(MILLRACE.as_ref(), &folders[0], &settings);
    let (second, _) = Process::start(&folders[1], &settings).await;
    let [one, other] = folders;
    [(one, first), (other, second)].map(|(folder, process)| {
        let api = process.client(&key);
        Node { folder, process, api }
    })
}

/// Events of the person, every second one by each node.
async fn track(nodes: &[Node; 2]) {
    for (n, node) in (0..EVENTS).zip(nodes.iter().cycle()) {
        node.api.post("/events/track", &json!([event(n)]), 200).await;
    }
}

async fn clickhouse(stores: &Previous, sql: &str) -> String {
    let environment = stores.environment();
    let (_, url) = environment.iter().find(|(name, _)| *name == "CLICKHOUSE_URL").unwrap();
    let url: url::Url = url.parse().unwrap();
    let answer = reqwest::Client::new()
        .post(format!("http://{}:{}", url.host_str().unwrap(), url.port().unwrap()))
        .query(&[("database", url.path().trim_start_matches('/'))])
        .basic_auth(url.username(), url.password())
        .body(sql.to_owned())
        .send()
        .await
        .unwrap();
    let (status, text) = (answer.status(), answer.text().await.unwrap());
    assert!(status.is_success(), "{text}");
    text.trim().to_owned()
}

async fn rows_of_the_person(stores: &Previous, table: &str) -> String {
    let is_theirs = format!("positionCaseInsensitive(toString(tuple(*)), '{}') > 0", token(""));
    clickhouse(stores, &format!("SELECT count() FROM {table} WHERE {is_theirs}")).await
}

/// Erases the person. Meanwhile a month of events is detached: the erasure waits for it.
async fn erase_while_a_part_is_detached(stores: &Previous, api: &Client) {
    clickhouse(stores, "ALTER TABLE events DETACH PARTITION ID '202601'").await;
    let id = request(api, &json!({"type": "erase", "externalId": token("external")})).await;
    eventually("the erasure waits for the part", || async {
        let found = api.get(format!("/privacy/requests/{id}"), 200).await.json();
        assert_ne!(found["state"], "done");
        (found["step"] == "events").then_some(())
    })
    .await;
    clickhouse(stores, "ALTER TABLE events ATTACH PARTITION ID '202601'").await;
    assert_eq!(ended(api, &id).await["state"], "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_reaches_both_nodes_and_the_external_stores() {
    let stores = Previous::empty().await;
    let nodes = nodes(&stores).await;
    let [first, second] = &nodes;
    let body = json!({"externalId": token("external"), "email": format!("{}@example.test", token("mail"))});
    let made = second.api.post("/users", &body, 201).await.json();
    let user = made["id"].as_str().unwrap();
    track(&nodes).await;
    first
        .api
        .post("/events/track", &json!({"userId": "bystander", "eventName": "Seen"}), 200)
        .await;
    until_events(&second.api, &token("external"), EVENTS).await;
    until_events(&second.api, "bystander", 1).await;
    let mut postgres = stores.connect().await;
    let workspace: uuid::Uuid = sqlx::query_scalar("select workspace_id from users limit 1")
        .fetch_one(&mut postgres)
        .await
        .unwrap();
    postgres.close().await.unwrap();
    for node in &nodes {
        keep_dead_letters(&node.folder, &workspace.to_string());
        assert!(!files_with(&node.folder, user).is_empty());
    }

    erase_while_a_part_is_detached(&stores, &first.api).await;
    for node in &nodes {
        assert_eq!(files_with(&node.folder, user), BTreeSet::new());
        let letters = node.folder.join("dead-letters/00000000000000000001-202601.jsonl");
        assert_eq!(
            fs::read_to_string(letters).unwrap().lines().count(),
            1,
            "letters of others stay"
        );
        node.api.get(format!("/users/{user}"), 404).await;
    }
    for table in ["events", "timeline", "orders", "people", "identities"] {
        assert_eq!(rows_of_the_person(&stores, table).await, "0", "{table}");
    }

    // Late retries do not bring events back, whichever node takes them.
    track(&nodes).await;
    for node in &nodes {
        node.api
            .post("/events/track", &json!({"userId": "bystander", "eventName": "Seen"}), 200)
            .await;
    }
    until_events(&first.api, "bystander", 3).await;
    let all = first.api.get("/events/query?limit=100", 200).await.json();
    assert_eq!(
        all.as_array().unwrap().len(),
        3,
        "events of the person are not stored again: {all}"
    );
    let [first, second] = nodes;
    assert!(first.process.stop().await.success() && second.process.stop().await.success());
}

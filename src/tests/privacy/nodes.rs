//! Two servers on stores that others run: an erasure reaches the files of both, and the rows of the stores.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;
use sqlx::Connection as _;

use super::{
    canary::{event, files_with, keep_dead_letters, token},
    ended, request, until_events,
};
use crate::{
    kit::{Client, MILLRACE, Process, data_dir, engines::ClickHouseAddress, eventually},
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

async fn rows_of_the_person(stores: &Previous, table: &str) -> String {
    let is_theirs = format!("positionCaseInsensitive(toString(tuple(*)), '{}') > 0", token(""));
    stores.clickhouse().query(&format!("SELECT count() FROM {table} WHERE {is_theirs}")).await
}

/// Detaches a month of events. Beside its parts lie copies, as ClickHouse leaves some at a start after a crash.
async fn detach_a_month(clickhouse: &ClickHouseAddress) {
    clickhouse.query("ALTER TABLE events DETACH PARTITION ID '202601'").await;
    let paths = "SELECT path FROM system.detached_parts
        WHERE database = currentDatabase() AND table = 'events'";
    for part in clickhouse.query(paths).await.lines().map(Path::new) {
        let name = part.file_name().unwrap().to_str().unwrap();
        let copy = part.with_file_name(format!("ignored_{name}"));
        fs::create_dir(&copy).unwrap();
        for file in fs::read_dir(part).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), copy.join(file.file_name())).unwrap();
        }
    }
}

/// The detached parts of events, by whether they are copies.
async fn detached(clickhouse: &ClickHouseAddress, are_copies: bool) -> String {
    let sql = "SELECT count() FROM system.detached_parts
        WHERE database = currentDatabase() AND table = 'events' AND (reason = 'ignored') =";
    clickhouse.query(&format!("{sql} {are_copies}")).await
}

/// Erases the person. Meanwhile a month of events is detached: the erasure waits for it, and drops what are copies.
async fn erase_while_a_part_is_detached(stores: &Previous, api: &Client) {
    let clickhouse = stores.clickhouse();
    detach_a_month(clickhouse).await;
    assert_ne!(detached(clickhouse, true).await, "0");
    let id = request(api, &json!({"type": "erase", "externalId": token("external")})).await;
    eventually("the erasure drops the copies", || async {
        (detached(clickhouse, true).await == "0").then_some(())
    })
    .await;
    let found = api.get(format!("/privacy/requests/{id}"), 200).await.json();
    assert_eq!((&found["state"], &found["step"]), (&json!("running"), &json!("events")));
    assert_ne!(detached(clickhouse, false).await, "0", "only the operator drops others");
    clickhouse.query("ALTER TABLE events ATTACH PARTITION ID '202601'").await;
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

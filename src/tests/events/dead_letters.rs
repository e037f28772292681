//! `/dead-letters`: a workspace sees and retries its own rows, and no others.

use std::{fs, path::PathBuf, sync::Arc};

use kernel::Clock;
use serde_json::{Value, json};

use crate::{
    console::kit::Person,
    kit::{Client, TestServer, Workspace, data_dir, eventually, run, settings},
};

async fn started() -> Arc<TestServer> {
    // A retry waits for the longest query.
    let mut settings = settings(&data_dir("dead-letters"), &[]);
    settings.engines.clickhouse_query_seconds = 10;
    let start = move || run(settings, Clock::system());
    Arc::new(tokio::task::spawn_blocking(start).await.unwrap())
}

/// A letter as the server keeps it; ClickHouse takes its row if it has a timestamp.
fn letter(workspace: &Workspace, id: &str, at_ms: u64, timestamp: &str) -> Value {
    let row = json!({
        "workspace_id": workspace.id, "event_name": "Refused", "day": "2026-02-03", "timestamp": timestamp,
        "user_id": "ann", "event_id": id, "received_at": timestamp, "properties": "{}", "seq": at_ms,
    });
    json!({
        "id": id, "atMs": at_ms, "workspaceId": workspace.id, "eventId": id, "eventName": "Refused", "code": 27,
        "reason": format!("refused <b>{id}</b>"), "table": "events", "row": row,
    })
}

fn file(server: &TestServer) -> PathBuf {
    server.data_dir.join("dead-letters/00000000000000000001-202602.jsonl")
}

fn keep(server: &TestServer, letters: &[Value]) {
    let path = file(server);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let lines: Vec<String> = letters.iter().map(|letter| format!("{letter}\n")).collect();
    fs::write(path, lines.concat()).unwrap();
}

async fn ids(api: &Client, query: &str) -> (Vec<String>, u64) {
    let page = api.get(format!("/dead-letters{query}"), 200).await.json();
    let data = page["data"].as_array().unwrap().iter();
    let ids = data.map(|letter| letter["id"].as_str().unwrap().to_owned());
    (ids.collect(), page["pagination"]["total"].as_u64().unwrap())
}

const TAKEN: &str = "2026-02-03 04:05:06.000";

#[tokio::test]
async fn a_workspace_lists_and_retries_its_own_rows() {
    let server = started().await;
    by_the_api(&server).await;
    with_an_event_that_came_again(&server).await;
    in_the_console(&server).await;
}

async fn by_the_api(server: &Arc<TestServer>) {
    let (here, there) = (Workspace::on(server).await, Workspace::on(server).await);
    let unreadable =
        json!({"id": "frame-9", "atMs": 9, "code": 0, "reason": "damaged", "frame": "00"});
    keep(
        server,
        &[
            letter(&here, "first", 1_000, TAKEN),
            letter(&there, "theirs", 2_000, TAKEN),
            letter(&here, "second", 3_000, "no time"),
            unreadable,
            letter(&here, "third", 2_500, TAKEN),
        ],
    );
    assert_eq!(
        ids(&here.api, "").await,
        (["second", "third", "first"].map(str::to_owned).into(), 3)
    );
    assert_eq!(ids(&here.api, "?limit=1&offset=1").await, (vec!["third".to_owned()], 3));
    assert_eq!(ids(&there.api, "").await, (vec!["theirs".to_owned()], 1));
    let most = here.api.get("/dead-letters?limit=201", 200).await.json();
    assert_eq!(most["pagination"]["limit"], 200);
    let page = here.api.get("/dead-letters?limit=1", 200).await.json();
    let shown = &page["data"][0];
    assert_eq!(shown["at"], "1970-01-01T00:00:03.000Z");
    assert_eq!((&shown["table"], &shown["name"]), (&json!("events"), &json!("Refused")));
    assert_eq!((&shown["code"], &shown["row"]["user_id"]), (&json!(27), &json!("ann")));

    let lock = fs::File::create(file(server).with_file_name("lock")).unwrap();
    lock.lock().unwrap();
    let busy = here.api.post("/dead-letters/retry", &json!({}), 409).await.text;
    assert!(busy.contains("retried or removed already"), "{busy}");
    drop(lock);
    let retried = here.api.post("/dead-letters/retry", &json!({}), 200).await.json();
    assert_eq!(retried, json!({"inserted": 2, "refused": 1}));
    let page = here.api.get("/dead-letters", 200).await.json();
    assert_eq!(page["pagination"]["total"], 1);
    let reason = page["data"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("DateTime") && !reason.contains("<b>"), "{reason}");
    let query = "/events/query?eventName=Refused&startDate=2026-02-01&endDate=2026-02-28";
    eventually("the rows are found", || async {
        let found = here.api.get(query, 200).await.json();
        (found.as_array().unwrap().len() == 2).then_some(())
    })
    .await;
    // Others' rows and what cannot be read stay as they were.
    assert_eq!(ids(&there.api, "").await, (vec!["theirs".to_owned()], 1));
    assert!(fs::read_to_string(file(server)).unwrap().contains("frame-9"));
    let log = here.api.get("/audit?action=dead_letters.retried", 200).await.json();
    assert_eq!(log["pagination"]["total"], 1);
    assert_eq!(log["data"][0]["details"], json!({"letters": 3}));
    assert!(log["data"][0]["actor"].as_str().unwrap().starts_with("api_key:"), "{log}");
}

#[tokio::test]
async fn dead_letters_need_their_scopes() {
    let workspace = Workspace::new().await;
    let reader = workspace.with_scopes("events:read").await;
    let operator = workspace.with_scopes("settings:write").await;
    assert_eq!(ids(&reader, "").await, (Vec::new(), 0));
    let refused = reader.post("/dead-letters/retry", &json!({}), 403).await.text;
    assert!(refused.contains("settings:write"), "{refused}");
    assert!(operator.get("/dead-letters", 403).await.text.contains("events:read"));
    operator.post("/dead-letters/retry", &json!([]), 400).await;
    // Nothing to offer: nothing is done, and nothing logged.
    let retried = operator.post("/dead-letters/retry", &json!({}), 200).await.json();
    assert_eq!(retried, json!({"inserted": 0, "refused": 0}));
    let log = workspace.api.get("/audit?action=dead_letters.retried", 200).await.json();
    assert_eq!(log["pagination"]["total"], 0);
}

/// An event was sent again after it had been refused, and is stored already: it still counts once.
async fn with_an_event_that_came_again(server: &Arc<TestServer>) {
    let here = Workspace::on(server).await;
    let event = json!({
        "userId": "ann", "eventName": "Refused", "timestamp": "2026-02-03T04:05:06Z", "clientEventId": "twin",
    });
    let tracked = here.api.post("/events/track", &event, 200).await.json();
    let query = "/events/query?eventName=Refused&startDate=2026-02-01&endDate=2026-02-28";
    let count = async || here.api.get(query, 200).await.json().as_array().unwrap().len();
    eventually("the event is stored", async || (count().await == 1).then_some(())).await;
    keep(server, &[letter(&here, tracked["eventId"].as_str().unwrap(), 1_000, TAKEN)]);
    let retried = here.api.post("/dead-letters/retry", &json!({}), 200).await.json();
    assert_eq!(retried, json!({"inserted": 1, "refused": 0}));
    assert_eq!(count().await, 1);
    eventually("repeats are collapsed", || async {
        let metrics = Client::new(&server.admin_url, None).get("/metrics", 200).await.text;
        assert_eq!(count().await, 1);
        metrics.contains("millrace_clickhouse_months_not_unique 0").then_some(())
    })
    .await;
    assert_eq!(count().await, 1);
}

async fn in_the_console(server: &Arc<TestServer>) {
    const PAGE: &str = "/console/health/dead-letters";
    let (here, there) = (Workspace::on(server).await, Workspace::on(server).await);
    let person = Person::signed_in(&here, "settings:*,events:read").await;
    assert!(person.get("/console/health").await.text.contains(PAGE));
    assert!(person.get(PAGE).await.text.contains("No dead letters"));
    let letters = [letter(&here, "ours", 1_000, TAKEN), letter(&there, "theirs", 2_000, TAKEN)];
    keep(server, &letters);
    let seen = person.get(PAGE).await;
    assert!(
        seen.text.contains("refused &lt;b&gt;ours") && seen.text.contains("2026-02-03"),
        "{}",
        seen.text
    );
    assert!(!seen.text.contains("theirs"), "{}", seen.text);
    let retry = format!("{PAGE}/retry");
    assert_eq!(person.post_bare(&retry, &[]).await.status, 403);
    let reader = Person::signed_in(&here, "settings:read,events:read").await;
    assert!(!reader.get(PAGE).await.text.contains("Offer all"));
    assert_eq!(reader.post(&retry, &[]).await.status, 403);
    // Their number leads to the page where that may be opened.
    let counter = Person::signed_in(&here, "events:read").await;
    for (person, leads) in [(&counter, false), (&reader, true)] {
        let home = eventually("the number is shown", || async {
            let home = person.get("/console").await;
            home.text.contains("1 dead letters").then_some(home)
        })
        .await;
        assert_eq!(home.text.contains(PAGE), leads, "{}", home.text);
    }
    let operator = Person::signed_in(&here, "settings:read").await;
    let seen = operator.get(PAGE).await;
    assert_eq!(seen.status, 403);
    assert!(seen.text.contains("events:read"), "{}", seen.text);

    let seen = person.post(&retry, &[]).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, PAGE));
    let seen = person.get(PAGE).await;
    assert!(seen.text.contains("1 stored, 0 refused again."), "{}", seen.text);
    assert!(seen.text.contains("No dead letters"), "{}", seen.text);
    assert!(fs::read_to_string(file(server)).unwrap().contains("theirs"));
}

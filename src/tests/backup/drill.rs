//! A backup while events come in, and what a server has that is started on its restore.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use axum::{Json, Router, extract::State, routing::post};
use parking_lot::Mutex;
use serde_json::{Value, json};
use sqlx::Connection as _;

use super::{back_up, backups, beside, manifest, restore};
use crate::{
    campaigns::{self, call, email_with, id, in_ms, made, read},
    durability::{assert_exactly_once, event, shown},
    kit::{Client, Load, Process, data_dir, engines::clickhouse, eventually, server, unique},
};

/// A gateway that accepts everything, and what it was handed.
async fn gateway() -> (String, Arc<Mutex<Vec<Value>>>) {
    let calls = Arc::<Mutex<Vec<Value>>>::default();
    let accept = async |State(calls): State<Arc<Mutex<Vec<Value>>>>, Json(call): Json<Value>| {
        calls.lock().push(call);
        Json(json!({}))
    };
    let router = Router::new().route("/sms", post(accept)).with_state(Arc::clone(&calls));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/sms", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, calls)
}

fn environment(gateway: &str) -> Vec<(&'static str, String)> {
    vec![
        ("MILLRACE_CHANNELS__SMS__PROVIDER", "http".to_owned()),
        ("MILLRACE_CHANNELS__SMS__URL", gateway.to_owned()),
        ("MILLRACE_CHANNELS__EMAIL__PROVIDER", "http".to_owned()),
        ("MILLRACE_CHANNELS__EMAIL__URL", gateway.to_owned()),
    ]
}

/// What waits to be sent when the backup is made.
#[derive(Debug)]
struct Waiting {
    scheduled: Value,
    recurring: Value,
    transactional: uuid::Uuid,
}

/// Campaigns for later, and a message that no gateway takes.
async fn prepare(api: &Client) -> Waiting {
    let person = json!({"externalId": "ann", "phone": "+4915112345678", "attributes": {"plan": "pro\t\\N\n1"}});
    api.post("/users", &person, 201).await;
    let later = json!({"sendType": "scheduled", "scheduledAt": in_ms(86_400_000)});
    let scheduled = made(api, &email_with("Later", later)).await;
    let recurring = made(api, &campaigns::recurring("Daily")).await;
    call(api, &recurring, "send", 200).await;
    let message =
        json!({"userId": "ann", "channel": "sms", "message": {"body": "Hi {{ firstName }}"}});
    let sent = api.post("/campaigns/transactional/send", &message, 200).await.json();
    let transactional = sent["messageId"].as_str().unwrap().parse().unwrap();
    Waiting { scheduled, recurring, transactional }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_has_each_acknowledged_event_once_and_sends_nothing_by_itself() {
    let (folder, backups) = (data_dir("backup-source"), backups("backups"));
    // Nothing listens there: what is sent waits.
    let (process, key) = Process::start(&folder, &environment("http://127.0.0.1:9/sms")).await;
    let key = key.unwrap();
    let waiting = prepare(&process.client(&key)).await;
    let load = Load::start(process.client(&key), event);
    load.grow_by(5_000).await;
    let api = process.client(&key);
    eventually("some events have landed", || async { (total(&api).await > 0).then_some(()) }).await;
    let before = load.acknowledged();
    let backup = backups.join("one");
    let made = back_up(&folder, &backup).await;
    assert_eq!((made.status, made.stdout.as_str()), (0, ""), "{}", made.stderr);
    assert!(made.stderr.contains("PostgreSQL: users"), "{}", made.stderr);
    let is_busy = load.acknowledged().len() > before.len();
    assert!(is_busy, "events came in meanwhile");
    let acknowledged = load.finish().await;
    process.kill();

    let restored = data_dir("backup-restored");
    // The list of who was erased meanwhile may be there before.
    let erasures = restored.join("erasures.jsonl");
    std::fs::create_dir_all(&restored).unwrap();
    std::fs::write(&erasures, "\n").unwrap();
    let done = restore(&restored, &backup).await;
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert!(erasures.exists() && done.stderr.contains("2 campaigns are paused"), "{}", done.stderr);
    assert!(done.stderr.contains("there is no master key"), "{}", done.stderr);
    let (gateway, calls) = gateway().await;
    let (process, _) = Process::start(&restored, &environment(&gateway)).await;
    let api = process.client(&key);
    let there = eventually("the spool has landed", || async {
        // Pages shift while events come in.
        let begun = total(&api).await;
        let there = shown(&api).await;
        let is_whole = before.iter().all(|id| there.contains_key(id));
        (is_whole && total(&api).await == begun).then_some(there)
    })
    .await;
    let doubled: Vec<_> = there.iter().filter(|(_, times)| **times != 1).collect();
    assert!(doubled.is_empty(), "shown more than once: {doubled:?}");
    assert_eq!(total(&api).await, there.len() as u64, "the aggregate counts each once");
    check_messages(&api, &waiting, &restored).await;
    assert!(calls.lock().is_empty(), "{:?}", calls.lock());

    // Producers send again what the lost server acknowledged after the backup.
    let number = |id: &String| id.trim_start_matches("event-").parse().unwrap();
    for ids in acknowledged.iter().collect::<Vec<_>>().chunks(50) {
        let events: Vec<Value> = ids.iter().map(|id| event(number(id))).collect();
        api.post("/events/track", &json!(events), 200).await;
    }
    assert_exactly_once(&api, &acknowledged).await;
    let found = api.get("/users/by-user-id/ann", 200).await.json();
    assert_eq!(found["attributes"]["plan"], "pro\t\\N\n1", "{found}");
    assert!(process.stop().await.success());
    through_external_stores(&backups, &backup).await;
}

/// Events of the load by the aggregate.
async fn total(api: &Client) -> u64 {
    let answer = api.post("/events/aggregate", &json!({"eventName": "Loaded"}), 200).await.json();
    answer["data"]["total"].as_u64().unwrap()
}

async fn check_messages(api: &Client, waiting: &Waiting, data: &Path) {
    for (campaign, before) in [(&waiting.scheduled, "scheduled"), (&waiting.recurring, "active")] {
        assert_eq!(read(api, campaign).await["status"], "paused");
        let history = api.get(format!("/campaigns/{}/history", id(campaign)), 200).await.json();
        let last = &history["items"][0];
        assert_eq!((&last["action"], &last["actor"]["type"]), (&json!("paused"), &json!("system")));
        assert_eq!(last["changes"][0]["before"], before, "{history}");
    }
    let host = data.join("postgres").display().to_string();
    let database = format!("postgres://millrace@localhost:5432/millrace?host={host}");
    let mut connection = sqlx::PgConnection::connect(&database).await.unwrap();
    let ask = "select status from message where id = $1";
    loop {
        let status: String = sqlx::query_scalar(ask)
            .bind(waiting.transactional)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        // Whether it left is not known.
        if status == "unknown" {
            break;
        }
        assert_eq!(status, "sending");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    connection.close().await.unwrap();
    call(api, &waiting.scheduled, "resume", 200).await;
    assert_eq!(read(api, &waiting.scheduled).await["status"], "scheduled", "a person decides");
}

/// Rows of the tables of a store, by name.
fn rows(manifest: &Value, store: &str) -> BTreeMap<String, u64> {
    let tables = manifest[store].as_array().unwrap();
    let row = |table: &Value| {
        (table["name"].as_str().unwrap().to_owned(), table["rows"].as_u64().unwrap())
    };
    tables.iter().map(row).collect()
}

/// Restores into empty databases of the shared server's engines, backs these up, and compares.
async fn through_external_stores(backups: &Path, backup: &Path) {
    let database = unique("restored").replace('-', "_");
    let (db, name) = (server().db(), database.clone());
    server()
        .on(async move {
            let statement = sqlx::AssertSqlSafe(format!("create database {name}"));
            sqlx::query(statement).execute(&db).await.unwrap();
        })
        .await;
    let folder = server().data_dir.join("postgres").display().to_string();
    let there = clickhouse().await;
    let authority = there.url.trim_start_matches("http://").to_owned();
    let stores = [
        ("DATABASE_URL", format!("postgres://millrace@localhost:5432/{database}?host={folder}")),
        (
            "CLICKHOUSE_URL",
            format!("http://{}:{}@{authority}/{}", there.user, there.password, there.database),
        ),
    ];
    let (data, source) = (data_dir("backup-external"), backup.to_str().unwrap());
    let done = beside(&stores, &data, &["restore", source]).await;
    assert_eq!(done.status, 0, "{}", done.stderr);
    let again = beside(&stores, &data_dir("backup-external-2"), &["restore", source]).await;
    assert_eq!(again.status, 1);
    assert!(again.stderr.contains("DATABASE_URL names has tables"), "{}", again.stderr);
    let second = backups.join("two");
    let made = beside(&stores, &data, &["backup", second.to_str().unwrap()]).await;
    assert_eq!(made.status, 0, "{}", made.stderr);
    let (one, two) = (manifest(backup), manifest(&second));
    assert_eq!(rows(&one, "clickhouse"), rows(&two, "clickhouse"));
    assert!(rows(&one, "clickhouse")["events"] > 0);
    let (one, mut two) = (rows(&one, "postgres"), rows(&two, "postgres"));
    // The restore wrote that campaigns were paused and copies are to be made.
    assert_eq!(two["campaign_history"], one["campaign_history"] + 2);
    assert_eq!(two["identity_change"], one["identity"]);
    let rewritten = [
        "campaign_history",
        "people_rebuild",
        "people_change",
        "campaign_change",
        "identity_change",
    ];
    for name in rewritten {
        two.insert(name.to_owned(), one[name]);
    }
    assert_eq!(one, two);
}

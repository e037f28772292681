//! A person with unmistakable texts in every field is erased while the server is killed again and again. Afterwards no byte of
//! these texts is in any file of the data directory.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions};

use super::{DONE_MAX, request, tables, until_events};
use crate::{
    kit::{Client, Process, data_dir, engines::ClickHouseAddress, eventually},
    sending::fixture::{beside, environment, gateway},
};

/// In every text of the person.
const TOKEN: &str = "zqcanaryzq";
const PHONE: &str = "+4917298765432";
const EVENTS: usize = 300;

pub(super) fn token(name: &str) -> String {
    format!("{TOKEN}{name}")
}

async fn postgres(folder: &Path) -> PgConnection {
    let [(_, url), _] = beside(folder);
    url.parse::<PgConnectOptions>().unwrap().connect().await.unwrap()
}

/// Files of a folder that contain a text of the person in any case of letters, or the internal id as text or bytes.
pub(super) fn files_with(folder: &Path, user: &str) -> BTreeSet<String> {
    let texts = ["-i", "-F", "-e", TOKEN, "-e", PHONE.trim_start_matches('+'), "-e", user];
    let bytes: String = user
        .as_bytes()
        .chunks(2)
        .fold(String::new(), |pattern, byte| pattern + "\\x" + std::str::from_utf8(byte).unwrap());
    let mut found = BTreeSet::new();
    for pattern in [&texts[..], &["-P", "-e", &bytes]] {
        // Files come and go meanwhile, about which it complains.
        let grep = Command::new("grep")
            .args(["-r", "-l", "-a"])
            .args(pattern)
            .arg(folder)
            .env("LC_ALL", "C")
            .stderr(Stdio::null())
            .output()
            .unwrap();
        found.extend(String::from_utf8(grep.stdout).unwrap().lines().map(str::to_owned));
    }
    found
}

/// A person in everything that has a field for one.
async fn make_person(process: &Process, key: &str, folder: &Path) -> String {
    let api = &process.client(key);
    let list = api.post("/lists", &json!({"name": "news"}), 201).await.json();
    let body = json!({
        "externalId": token("external"), "email": format!("{}@example.test", token("mail")), "phone": PHONE,
        "attributes": {"firstName": token("First"), "lastName": token("Last"), "deep": {"x": [token("attribute")]}},
    });
    let made = api.post("/users", &body, 201).await.json();
    let user = made["id"].as_str().unwrap().to_owned();
    // Earlier states of the row lie in its table as well.
    for n in 0..5 {
        let body = json!({"attributes": {"note": format!("{}{n}", token("earlier"))}});
        let request = api.request(reqwest::Method::PUT, &format!("/users/{user}")).json(&body);
        api.send(request, 200).await;
    }
    // What was removed from the ledgers: by an operator, and by the opt-in that follows.
    let address = format!("{}@example.test", token("mail"));
    for (channel, identifier) in [("email", address.as_str()), ("sms", PHONE)] {
        let row = json!({"channel": channel, "identifier": identifier});
        api.post("/suppressions", &row, 201).await;
    }
    let path = format!("/suppressions/{address}?channel=email");
    api.send(api.request(reqwest::Method::DELETE, &path), 200).await;
    for (channel, status) in [("email", "unsubscribed"), ("sms", "optedIn")] {
        let path = format!("/subscriptions/contacts/{user}/channels/{channel}");
        let body = json!({"channel": channel, "status": status, "consentText": token("consent")});
        api.send(api.request(reqwest::Method::PUT, &path).json(&body), 200).await;
    }
    let path = format!("/subscriptions/contacts/{user}/lists/{}", list["id"].as_str().unwrap());
    api.post(&path, &json!({"channel": "sms", "consentText": token("list")}), 200).await;
    let identify = json!({
        "userId": token("external"), "anonymousId": token("anonymous"), "messageId": token("call"),
        "traits": {"trait": token("trait")},
    });
    let call = Client::new(&process.url, None);
    let call = call.request(reqwest::Method::POST, "/v1/identify").basic_auth(key, Some(""));
    api.send(call.json(&identify), 200).await;
    let mut postgres = postgres(folder).await;
    sqlx::query(
        "insert into device (workspace_id, token, user_id, platform, created_at, updated_at)
         select workspace_id, $1, id, 'ios', now(), now() from users where external_id = $2",
    )
    .bind(token("device"))
    .bind(token("external"))
    .execute(&mut postgres)
    .await
    .unwrap();
    assert_eq!(removed_suppressions(&mut postgres).await, 2);
    tables::fill(&mut postgres, &user, TOKEN).await;
    postgres.close().await.unwrap();
    user
}

async fn removed_suppressions(postgres: &mut PgConnection) -> i64 {
    let count = sqlx::query_scalar("select count(*) from suppression_removal");
    count.fetch_one(postgres).await.unwrap()
}

pub(super) fn event(n: usize) -> Value {
    json!({
        "userId": token("external"), "anonymousId": token("anonymous"), "sessionId": token("session"),
        "deviceId": token("phone"), "eventName": "Order Completed", "clientEventId": token(&format!("event{n}")),
        "timestamp": format!("2026-0{}-10T10:00:00Z", 1 + n % 9),
        "properties": {"orderId": token(&format!("order{n}")), "total": 2.5, "currency": "EUR", "of": token("property")},
    })
}

async fn make_events(api: &Client) {
    let events: Vec<Value> = (0..EVENTS).map(event).collect();
    for part in events.chunks(100) {
        api.post("/events/track", &json!(part), 200).await;
    }
    let anonymous = json!({"anonymousId": token("anonymous"), "eventName": "Seen", "properties": {"p": token("seen")}});
    let others = json!({"userId": "bystander", "eventName": "Seen", "properties": {"p": 1}});
    api.post("/events/track", &json!([anonymous, others]), 200).await;
    let refused = json!([{"userId": token("external"), "eventName": "", "properties": {"p": token("refused")}}]);
    api.post("/events/track", &refused, 200).await;
    until_events(api, "bystander", 1).await;
}

/// What ClickHouse refused, as the server keeps it.
pub(super) fn keep_dead_letters(folder: &Path, workspace: &str) {
    let letter = |id: &str, user: &str| {
        let row = json!({"workspace_id": workspace, "event_name": "Lost", "day": "2026-01-01", "event_id": id, "user_id": user});
        json!({
            "id": id, "atMs": 1, "workspaceId": workspace, "eventId": id, "eventName": "Lost", "code": 27,
            "reason": format!("cannot parse {user}"), "table": "events", "row": row,
        })
    };
    let folder = folder.join("dead-letters");
    fs::create_dir_all(&folder).unwrap();
    let lines = format!("{}\n{}\n", letter("1", &token("external")), letter("2", "bystander"));
    fs::write(folder.join("00000000000000000001-202601.jsonl"), lines).unwrap();
}

async fn nothing_is_found_by_queries(folder: &Path, user: &str, message: &str) {
    let mut postgres = postgres(folder).await;
    tables::assert_empty(&mut postgres, user).await;
    assert_eq!(removed_suppressions(&mut postgres).await, 0);
    postgres.close().await.unwrap();
    let clickhouse = ClickHouseAddress::of_server(folder).unwrap();
    let sql = "SELECT count() FROM events WHERE NOT startsWith(user_id, 'bystander')";
    let count = clickhouse.query(sql).await;
    assert_eq!(count, "0");
    for table in [
        "events",
        "timeline",
        "orders",
        "message_events",
        "message_outcomes",
        "people",
        "identities",
    ] {
        let sql = format!(
            "SELECT count() FROM {table} WHERE positionCaseInsensitive(toString(tuple(*)), '{TOKEN}') > 0"
        );
        assert_eq!(clickhouse.query(&sql).await, "0", "{table}");
    }
    let sql = format!("SELECT count() FROM message_events WHERE message_id = '{message}'");
    assert_eq!(clickhouse.query(&sql).await, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_byte_of_an_erased_person_is_left_whatever_is_killed_meanwhile() {
    let folder = data_dir("canary");
    let (url, log) = gateway();
    let environment = environment(&url);
    let (mut process, key) = Process::start(&folder, &environment).await;
    let key = key.unwrap();
    let mut api = process.client(&key);
    let user = make_person(&process, &key, &folder).await;
    make_events(&api).await;
    let send = json!({
        "userId": token("external"), "channel": "sms", "message": {
            "body": format!("Hi {} https://shop.test/{}", token("text"), token("link")), "shortenLinks": true,
        },
        "idempotencyKey": token("key"),
    });
    let sent = api.post("/campaigns/transactional/send", &send, 200).await.json();
    let message = sent["messageId"].as_str().unwrap().to_owned();
    eventually("the message was sent", || async { (!log.of("").is_empty()).then_some(()) }).await;
    let workspace = workspace_of(&folder).await;
    keep_dead_letters(&folder, &workspace);
    until_refused_is_listed(&api).await;
    assert!(files_with(&folder, &user).len() > 3, "the person is in the files before");

    let body = json!({"type": "erase", "externalId": token("external")});
    let id = request(&api, &body).await;
    let mut kills = vec!["rewrite", "events", "files"];
    let began = Instant::now();
    let done = loop {
        let found = api.get_when_back(&format!("/privacy/requests/{id}")).await.json();
        if found["state"] == "done" {
            break found;
        }
        assert!(began.elapsed() < DONE_MAX, "not done in time: {found}");
        let step = found["step"].as_str().unwrap_or_default();
        if kills.contains(&step) {
            kills.retain(|it| *it != step);
            process.kill();
            (process, _) = Process::start(&folder, &environment).await;
            api = process.client(&key);
        }
    };
    eprintln!("not killed in these steps: {kills:?}");
    assert!(kills.len() < 3, "it was never killed");
    assert_eq!(done["userId"], Value::Null);
    assert_eq!(files_with(&folder, &user), BTreeSet::new());
    nothing_is_found_by_queries(&folder, &user, &message).await;
    let letters = fs::read_to_string(folder.join("dead-letters/00000000000000000001-202601.jsonl"));
    assert_eq!(letters.unwrap().lines().count(), 1, "the letter of another person stays");
    until_events(&api, "bystander", 1).await;
    api.post("/privacy/requests", &body, 404).await;

    // Late retries do not bring events back.
    let late: Vec<Value> = (0..10).map(event).collect();
    api.post("/events/track", &json!(late), 200).await;
    let other = json!({"userId": "bystander", "eventName": "Seen"});
    api.post("/events/track", &other, 200).await;
    until_events(&api, "bystander", 2).await;
    until_events(&api, &token("external"), 0).await;
    bring_back(&folder, &user).await;
    api.get(format!("/users/{user}"), 200).await;
    assert!(process.stop().await.success());

    // The list beside the stores has everyone who was erased.
    (process, _) = Process::start(&folder, &environment).await;
    let api = process.client(&key);
    eventually("whom a backup brought back is erased again", || async {
        let found = api.get("/privacy/requests?state=done", 200).await.json();
        (found["data"][0]["requestedBy"] == "list_of_erasures").then_some(())
    })
    .await;
    api.get(format!("/users/{user}"), 404).await;
    assert_eq!(files_with(&folder.join("postgres"), &user), BTreeSet::new());
    assert!(process.stop().await.success());
}

async fn until_refused_is_listed(api: &Client) {
    eventually("the refused event is listed", || async {
        let listed = api.get("/events/rejected", 200).await.json();
        listed.to_string().contains(&token("refused")).then_some(())
    })
    .await;
}

/// Has the database know the person and nothing of the erasure, as an older backup does.
async fn bring_back(folder: &Path, user: &str) {
    let mut postgres = postgres(folder).await;
    for sql in [
        "insert into users (workspace_id, id, external_id, created_at, updated_at)
         select id, decode($1, 'hex'), $2, now(), now() from workspace",
        "delete from erased_person where $1 <> $2",
    ] {
        let query = sqlx::query(sql).bind(user).bind(token("restored"));
        query.execute(&mut postgres).await.unwrap();
    }
    postgres.close().await.unwrap();
}

async fn workspace_of(folder: &Path) -> String {
    let mut postgres = postgres(folder).await;
    let id: uuid::Uuid =
        sqlx::query_scalar("select id from workspace").fetch_one(&mut postgres).await.unwrap();
    postgres.close().await.unwrap();
    id.to_string()
}

//! Every event triggers its campaigns exactly once, whatever is killed.

use std::{collections::BTreeSet, path::Path};

use serde_json::{Value, json};
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use super::{EVENT, all, body, people};
use crate::{
    campaigns::{call, made},
    kit::{Load, Process, data_dir, eventually},
};

/// People whose events they are.
const PEOPLE: u64 = 7;
/// How often the server is killed.
const KILLS: usize = 4;

/// The store of a server, for questions that no endpoint asks. The link to its socket is short.
async fn store(data_dir: &Path, scratch: &Path) -> PgPool {
    let link = scratch.join("pg");
    if !link.exists() {
        std::os::unix::fs::symlink(data_dir.join("postgres"), &link).unwrap();
    }
    let options = PgConnectOptions::new_without_pgpass()
        .socket(link)
        .username("millrace")
        .database("millrace");
    PgPoolOptions::new().max_connections(1).connect_with(options).await.unwrap()
}

fn event(number: u64) -> Value {
    let user = format!("user-{}", number % PEOPLE);
    json!({"userId": user, "eventName": EVENT, "clientEventId": format!("event-{number}")})
}

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_event_triggers_once_across_server_kills() {
    let folder = data_dir("killed-triggers");
    let scratch = tempfile::tempdir().unwrap();
    let (mut process, key) = Process::start(&folder, &[]).await;
    let key = key.expect("the first start prints a key");
    let api = process.client(&key);
    let names: Vec<String> = (0..PEOPLE).map(|n| format!("user-{n}")).collect();
    people(&api, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut campaigns = Vec::new();
    for _ in 0..2 {
        let campaign = made(&api, &body(json!({"reEntry": "always"}), json!({}))).await;
        call(&api, &campaign, "send", 200).await;
        campaigns.push(campaign);
    }
    let load = Load::start(process.client(&key), event);
    for _ in 0..KILLS {
        load.set_target(Some(process.client(&key)));
        load.grow_by(300).await;
        process.kill();
        load.set_target(None);
        (process, _) = Process::start(&folder, &[]).await;
    }
    load.set_target(Some(process.client(&key)));
    load.grow_by(100).await;
    let acknowledged = load.finish().await;
    let db = store(&folder, scratch.path()).await;
    for campaign in &campaigns {
        let entered = eventually("every event triggered it", || async {
            let entered = all(db.clone(), campaign).await;
            let events: BTreeSet<&str> = entered.iter().map(|it| it.event.as_str()).collect();
            acknowledged.iter().all(|id| events.contains(id.as_str())).then_some(entered)
        })
        .await;
        let events: BTreeSet<&str> = entered.iter().map(|it| it.event.as_str()).collect();
        assert_eq!(events.len(), entered.len(), "an event has one entry and one message");
        let kept: i64 = sqlx::query_scalar("select count(*) from message where campaign_id = $1")
            .bind(campaign["id"].as_str().unwrap().parse::<uuid::Uuid>().unwrap())
            .fetch_one(&db)
            .await
            .unwrap();
        assert_eq!(
            usize::try_from(kept).unwrap(),
            entered.len(),
            "every message belongs to an event"
        );
        for user in &names {
            let mut numbers: Vec<i32> =
                entered.iter().filter(|it| it.user == *user).map(|it| it.occurrence).collect();
            numbers.sort_unstable();
            assert!(numbers.iter().copied().eq(1..=i32::try_from(numbers.len()).unwrap()));
        }
    }
    db.close().await;
    assert!(process.stop().await.success());
}

//! `millrace people rebuild`.

use serde_json::{Value, json};

use super::{RECOVERED_MAX, Stores};
use crate::{
    engines::command::millrace,
    kit::{Client, Process, data_dir, eventually},
};

/// More than a batch.
const PROFILES: usize = 12_000;

/// Creates or updates profiles, as many at once as may be.
pub(super) async fn upsert(client: &Client, numbers: std::ops::Range<usize>, round: u32) {
    for first in numbers.clone().step_by(1000) {
        let users: Vec<Value> = (first..numbers.end.min(first + 1000))
            .map(|n| {
                let email = format!("u{n}@example.test");
                json!({"externalId": format!("u{n}"), "email": email, "attributes": {"round": round, "plan": "pro"}})
            })
            .collect();
        client.post("/users", &json!(users), 200).await;
    }
}

async fn rebuild(folder: &std::path::Path) {
    let outcome = millrace(folder, &["people", "rebuild"]).await;
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, ""), "{}", outcome.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebuild_copies_everything_beside_a_server_and_without_one() {
    let folder = data_dir("people-rebuild");
    let (process, key) = Process::start(&folder, &[]).await;
    let client = process.client(&key.unwrap());
    let stores = Stores::of(&folder);
    upsert(&client, 0..PROFILES, 0).await;
    client.post("/campaigns", &crate::campaigns::email("March"), 201).await;
    let ann = client.get("/users/by-user-id/u7", 200).await.json();
    let path = format!("/users/{}", ann["id"].as_str().unwrap());
    client.send(client.request(reqwest::Method::DELETE, &path), 204).await;
    stores.until_equal(None, RECOVERED_MAX).await;

    for table in ["people", "campaigns"] {
        stores.clickhouse(&format!("TRUNCATE TABLE {table}")).await.unwrap();
    }
    assert!(!stores.differences(None).await.unwrap().is_empty());
    rebuild(&folder).await;
    assert_eq!(stores.differences(None).await.unwrap(), [""; 0]);

    // As after a backup of PostgreSQL was restored: ClickHouse has later versions, and profiles that it has not.
    for sql in [
        "INSERT INTO people (workspace_id, user_id, version, email)
         SELECT workspace_id, user_id, version + 1000000, 'later@example.test' FROM people LIMIT 100",
        "INSERT INTO people (workspace_id, user_id, version, email)
         SELECT workspace_id, toFixedString(substring(hex(user_id), 1, 12), 12), version, 'gone@example.test' FROM people LIMIT 1",
        "INSERT INTO campaigns (workspace_id, campaign_id, version, name)
         SELECT workspace_id, generateUUIDv4(), version + 2000000, 'gone' FROM campaigns",
    ] {
        stores.clickhouse(sql).await.unwrap();
    }
    assert!(process.stop().await.success());
    rebuild(&folder).await;
    let (process, _) = Process::start(&folder, &[]).await;
    let gone = "SELECT count() FROM people FINAL WHERE email = 'gone@example.test'";
    assert_eq!(stores.number(gone).await, 0);
    let differences = stores.differences(None).await.unwrap();
    // The invented profile stays as a deleted one, which PostgreSQL has no row for.
    let is_invented = |it: &&String| it.ends_with(r#"is not stored, its copy {"is_deleted":1}"#);
    assert_eq!(differences.iter().filter(is_invented).count(), 1, "{differences:#?}");
    assert_eq!(differences.len(), 1, "{differences:#?}");
    // Later changes count.
    let client = process.client(&client_key(&folder).await);
    upsert(&client, 20..40, 1).await;
    eventually("the changes are copied", async || {
        let sql = "SELECT count() FROM people FINAL WHERE numbers['round'] = 1";
        (stores.number(sql).await == 20).then_some(())
    })
    .await;
    assert!(process.stop().await.success());
}

/// A further key of the first workspace.
async fn client_key(folder: &std::path::Path) -> String {
    let create = ["keys", "create", "--workspace", "demo", "--scopes", "*"];
    let made = millrace(folder, &create).await;
    assert_eq!(made.status, 0, "{}", made.stderr);
    made.stdout.trim().to_owned()
}

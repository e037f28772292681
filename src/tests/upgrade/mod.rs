//! A new release beside the previous one: data are kept, and the previous one's statements still work.

pub(crate) mod beside;
mod event_days;
mod people;
pub(crate) mod previous;

use std::collections::BTreeSet;

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};

use self::previous::Previous;
use crate::kit::{Client, Process, data_dir, eventually};

/// The ids of the stored events.
async fn event_ids(client: &Client) -> Vec<String> {
    let found = client.get("/events/query?limit=100", 200).await.json();
    found
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["event_id"].as_str().unwrap().to_owned())
        .collect()
}

async fn until_events_are(client: &Client, expected: &[&str]) {
    eventually("each event is there once", || async {
        let mut found = event_ids(client).await;
        found.sort_unstable();
        (found == expected).then_some(())
    })
    .await;
}

#[tokio::test]
async fn this_release_runs_on_the_previous_releases_data_beside_it() {
    let previous = Previous::restore().await;
    let columns = previous.clickhouse_columns().await;
    let folder = data_dir("upgrade");
    previous::copy_spool(&folder);
    let (server, key) = Process::start(&folder, &previous.environment()).await;
    assert_eq!(key, None, "there is a workspace");
    let client = server.client(&previous::api_key());

    // What was stored, and what had not landed.
    let landed = ["spool-1", "spool-2", "spool-3", "web-1", "web-2", "web-3"];
    until_events_are(&client, &landed).await;
    let ann = client.get("/users/by-user-id/ann", 200).await.json();
    assert_eq!(
        (&ann["email"], &ann["attributes"]["plan"]),
        (&json!("ann@example.test"), &json!("pro"))
    );
    let bob = client.get("/users/by-user-id/bob", 200).await.json();
    assert_eq!(bob["email"], "bob2@example.test");
    let contact = format!("/subscriptions/contacts/{}", bob["id"].as_str().unwrap());
    let consent = client.get(&contact, 200).await.text;
    assert!(consent.contains("unsubscribed"), "{consent}");
    let suppressed = client.get("/suppressions?channel=email", 200).await.text;
    assert!(suppressed.contains("dead@example.test"), "{suppressed}");
    let deleted = client.get("/users/deleted", 200).await.json();
    assert_eq!(deleted["items"][0]["externalId"], "cy", "{deleted}");
    let campaigns = client.get("/campaigns", 200).await.json();
    let march = &campaigns["data"][0];
    assert_eq!((&march["name"], &march["status"]), (&json!("March"), &json!("failed")));
    let stats = format!("/campaigns/{}/stats", march["id"].as_str().unwrap());
    client.get(&stats, 200).await;

    // The other release continues inserting what it names by its columns; a retry over there counts once.
    previous.insert_as_the_previous("other-1").await;
    previous.insert_as_the_previous("web-1").await;
    let mut all = landed.to_vec();
    all.push("other-1");
    all.sort_unstable();
    until_events_are(&client, &all).await;
    let of_ann = format!("/users/{}/events", ann["id"].as_str().unwrap());
    let timeline = client.get(&of_ann, 200).await.text;
    for id in ["web-1", "spool-1", "other-1"] {
        assert!(timeline.contains(id), "{id}: {timeline}");
    }
    assert!(server.stop().await.success());
    statements_still_work(&previous).await;
    // Views are not asked.
    let columns_now = previous.clickhouse_columns().await;
    let gone: Vec<_> = columns.difference(&columns_now).filter(|it| !is_of_view(it)).collect();
    assert!(gone.is_empty(), "the other release asks for these: {gone:?}");
}

fn is_of_view(column: &str) -> bool {
    column.split('.').next().is_some_and(|table| table.ends_with("_from_events"))
}

/// Whether this schema still takes what the previous release asks, and answers in the types it reads.
async fn statements_still_work(previous: &Previous) {
    let mut connection = previous.connect().await;
    let mut faults = Vec::new();
    for (number, asked) in previous::lines("statements.jsonl").iter().enumerate() {
        let query = asked["query"].as_str().unwrap();
        let mut check = async |statement: String| -> Result<(), sqlx::Error> {
            connection.execute(AssertSqlSafe(statement)).await.map(drop)
        };
        if let Err(error) = check(format!("prepare before_{number} as {query}")).await {
            faults.push(format!("{error}: {query}"));
            continue;
        }
        // The planner looks for the unique index of an ON CONFLICT; preparing does not.
        if let Err(error) = check(format!("explain (generic_plan) {query}")).await {
            faults.push(format!("{error}: {query}"));
        }
        let types = sqlx::query(
            "select parameter_types::text[], coalesce(result_types::text[], '{}')
             from pg_prepared_statements where name = $1",
        )
        .bind(format!("before_{number}"))
        .fetch_one(&mut connection)
        .await
        .unwrap();
        let is = json!([types.get::<Vec<String>, _>(0), types.get::<Vec<String>, _>(1)]);
        if is != json!([asked["parameters"], asked["columns"]]) {
            faults.push(format!("the types are {is}: {query}"));
        }
    }
    connection.close().await.unwrap();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test]
async fn new_columns_have_defaults_for_the_previous_release() {
    // A statement can be prepared although the row it inserts would lack a value.
    let previous = Previous::restore().await;
    let columns = async |missing_value: bool| -> BTreeSet<(String, String)> {
        let mut connection = previous.connect().await;
        let rows = sqlx::query(
            "select table_name::text, column_name::text from information_schema.columns
             where table_schema = 'public' and (not $1 or (
                 is_nullable = 'NO' and column_default is null and is_generated = 'NEVER'
                 and is_identity = 'NO'))",
        )
        .bind(missing_value)
        .fetch_all(&mut connection)
        .await
        .unwrap();
        connection.close().await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    };
    let tables = |columns: &BTreeSet<(String, String)>| -> BTreeSet<String> {
        columns.iter().map(|(table, _)| table.clone()).collect()
    };
    let (known, needed) = (columns(false).await, columns(true).await);
    previous.migrate().await;
    let needed_now = columns(true).await;
    let known_tables = tables(&known);
    let new: Vec<_> =
        needed_now.difference(&needed).filter(|(table, _)| known_tables.contains(table)).collect();
    assert!(new.is_empty(), "the previous release gives these no value: {new:?}");
    let gone: Vec<_> = known.difference(&columns(false).await).cloned().collect();
    assert!(gone.is_empty(), "the previous release may name these: {gone:?}");
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_not_left_locked() {
    // A lock that stayed would make the next try wait without end, and with it the stop of the server.
    let previous = Previous::restore().await;
    let mut connection = previous.connect().await;
    let newer =
        "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
        values (9999, 'of a newer release', true, '\\x00', 0)";
    connection.execute(newer).await.unwrap();
    connection.close().await.unwrap();
    let pool = previous.pool();
    for _ in 0..2 {
        let refusal = web::db::migrate(&pool).await.unwrap_err().to_string();
        assert!(refusal.contains("9999"), "{refusal}");
    }
    eventually("the schema is unlocked", || async {
        let mut connection = previous.connect().await;
        let locks: i64 = sqlx::query_scalar(
            "select count(*) from pg_locks where locktype = 'advisory'
             and database = (select oid from pg_database where datname = current_database())",
        )
        .fetch_one(&mut connection)
        .await
        .unwrap();
        connection.close().await.unwrap();
        (locks == 0).then_some(())
    })
    .await;
    pool.close().await;
}

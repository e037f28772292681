//! The copy of identifiers in ClickHouse.

use std::collections::BTreeSet;

use serde_json::json;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{Wish, alias, link, link_all, merge, profile, remove};
use crate::kit::{Client, Workspace, eventually, server};

/// Type, identifier and internal id of the profile; empty where it was removed.
type Row = (String, String, String);

async fn copied(workspace: Uuid) -> BTreeSet<Row> {
    let sql = "SELECT toString(type), id, user_id FROM identities FINAL WHERE workspace_id = ?";
    server()
        .with(move |app| async move {
            let client = app.services().analytics().client().clone();
            let rows = client.query(sql).bind(workspace).fetch_all::<Row>().await.unwrap();
            rows.into_iter().collect()
        })
        .await
}

async fn stored(workspace: Uuid) -> BTreeSet<Row> {
    let (db, sql) = (
        server().db(),
        "select type, id, coalesce(encode(user_id, 'hex'), '') from identity where workspace_id = $1",
    );
    server()
        .on(async move {
            let rows: Vec<Row> = sqlx::query_as(sql).bind(workspace).fetch_all(&db).await.unwrap();
            rows.into_iter().collect()
        })
        .await
}

pub(super) async fn until_copied(workspace: Uuid, count: usize) {
    let stored = stored(workspace).await;
    assert_eq!(stored.len(), count);
    eventually("the identifiers are copied", || async {
        (copied(workspace).await == stored).then_some(())
    })
    .await;
}

#[tokio::test]
async fn clickhouse_has_every_link_and_where_merges_moved_it() {
    let workspace = Workspace::new().await;
    let id = workspace.id.uuid();
    let (ann, bob) = (profile(&workspace, "ann").await, profile(&workspace, "bob").await);
    let wishes = (0..700).map(|n| Wish::new(&format!("a{n}"), if n < 500 { &ann } else { &bob }));
    link_all(workspace.id, wishes.collect()).await;
    until_copied(id, 700).await;
    alias(&workspace, "ann", "anna").await;
    until_copied(id, 701).await;
    // Every identifier moves, and two come with the merge.
    merge(&workspace, "ann", "bob").await;
    until_copied(id, 703).await;
    assert!(copied(id).await.iter().all(|(_, _, user)| *user == bob));

    let metrics = Client::new(&server().admin_url, None).get("/metrics", 200).await.text;
    assert!(metrics.contains("millrace_identity_mirror_lag_seconds"), "{metrics}");
}

#[tokio::test]
async fn clickhouse_learns_what_was_removed_and_linked_again() {
    let workspace = Workspace::new().await;
    let id = workspace.id.uuid();
    let (ann, bob) = (profile(&workspace, "ann").await, profile(&workspace, "bob").await);
    link_all(workspace.id, (0..150).map(|n| Wish::new(&format!("a{n}"), &ann)).collect()).await;
    alias(&workspace, "ann", "anna").await;
    until_copied(id, 151).await;
    let mut ids: Vec<String> = (0..149).map(|n| format!("a{n}")).collect();
    ids.push("anna".to_owned());
    assert_eq!(remove(&workspace, &ann, &json!({"ids": ids})).await, 150);
    until_copied(id, 151).await;
    let led = copied(id).await.into_iter().filter(|(_, _, user)| !user.is_empty());
    assert_eq!(led.collect::<Vec<_>>(), [("anonymous".to_owned(), "a149".to_owned(), ann.clone())]);
    link(&workspace, "a0", &bob).await;
    link(&workspace, "a1", &ann).await;
    until_copied(id, 151).await;
}

/// The queue has a row of 50 versions, and 50 of 100. The row that reaches 5,000 belongs to the page, which is then more than
/// one statement to ClickHouse stores.
#[tokio::test]
async fn a_page_of_more_rows_than_a_statement_stores_is_copied_whole() {
    const PROFILES: usize = 6;
    const LINKS: usize = 5_050;
    let workspace = Workspace::new().await;
    let id = workspace.id.uuid();
    let mut profiles = Vec::new();
    for number in 0..PROFILES {
        profiles.push(profile(&workspace, &format!("person-{number}")).await);
    }
    let wishes = (0..LINKS).map(|n| Wish::new(&format!("device-{n}"), &profiles[n % PROFILES]));
    link_all(workspace.id, wishes.collect()).await;
    until_copied(id, LINKS).await;
    let (db, other) = (server().db(), profile(&workspace, "other").await);
    server()
        .on(async move {
            let mut tx = db.begin().await.unwrap();
            for which in
                ["in (select id from identity where workspace_id = $1 limit 50)", "like 'device-%'"]
            {
                let sql = format!(
                    "update identity set user_id = decode($2, 'hex'), version = default
                     where workspace_id = $1 and user_id <> decode($2, 'hex') and id {which}"
                );
                let sql = sqlx::query(AssertSqlSafe(sql)).bind(id).bind(&other);
                sql.execute(&mut *tx).await.unwrap();
            }
            tx.commit().await.unwrap();
        })
        .await;
    until_copied(id, LINKS).await;
}

/// Rows of the queue.
async fn queued(workspace: Uuid) -> i64 {
    let (db, sql) = (server().db(), "select count(*) from identity_change where workspace_id = $1");
    server()
        .on(async move { sqlx::query_scalar(sql).bind(workspace).fetch_one(&db).await.unwrap() })
        .await
}

async fn until_none_is_queued(workspace: Uuid) {
    eventually("the queue is empty", || async { (queued(workspace).await == 0).then_some(()) })
        .await;
}

/// An identifier that moves, or goes with an erasure, leaves versions in the queue that it no longer has.
#[tokio::test]
async fn versions_that_no_identifier_has_any_more_leave_the_queue() {
    let workspace = Workspace::new().await;
    let (db, id) = (server().db(), workspace.id.uuid());
    for versions in ["null", "array[-(random() * 1e15)::bigint, -(random() * 1e15)::bigint]"] {
        let db = db.clone();
        let sql = format!(
            "insert into identity_change (version, workspace_id, versions)
             select -(random() * 1e15)::bigint - n, $1, {versions} from generate_series(1, 3) n"
        );
        let sql = AssertSqlSafe(sql);
        server().on(async move { sqlx::query(sql).bind(id).execute(&db).await.unwrap() }).await;
        until_none_is_queued(id).await;
    }
}

#[tokio::test]
async fn only_a_new_version_is_queued() {
    let workspace = Workspace::new().await;
    let id = workspace.id.uuid();
    let ann = profile(&workspace, "ann").await;
    link_all(workspace.id, (0..205).map(|n| Wish::new(&format!("a{n}"), &ann)).collect()).await;
    until_copied(id, 205).await;
    until_none_is_queued(id).await;
    let db = server().db();
    let (unchanged, changed) = server()
        .on(async move {
            let mut tx = db.begin().await.unwrap();
            let mut queued = Vec::new();
            for change in ["linked_at = linked_at", "version = default"] {
                let sql = format!("update identity set {change} where workspace_id = $1");
                sqlx::query(AssertSqlSafe(sql)).bind(id).execute(&mut *tx).await.unwrap();
                let sql = "select cardinality(versions), version = (select max(v) from unnest(versions) v)
                           from identity_change where workspace_id = $1 order by 1";
                let rows: Vec<(Option<i32>, Option<bool>)> =
                    sqlx::query_as(sql).bind(id).fetch_all(&mut *tx).await.unwrap();
                queued.push(rows);
            }
            (queued.remove(0), queued.remove(0))
        })
        .await;
    assert_eq!(unchanged, []);
    assert_eq!(changed, [5, 100, 100].map(|versions| (Some(versions), Some(true))));
}

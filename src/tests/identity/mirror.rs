//! The copy of identifiers in ClickHouse.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{Wish, alias, link_all, merge, profile};
use crate::kit::{Client, Workspace, eventually, server};

/// Type, identifier and internal id of the profile.
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
        "select type, id, encode(user_id, 'hex') from identity where workspace_id = $1",
    );
    server()
        .on(async move {
            let rows: Vec<Row> = sqlx::query_as(sql).bind(workspace).fetch_all(&db).await.unwrap();
            rows.into_iter().collect()
        })
        .await
}

async fn until_copied(workspace: Uuid, count: usize) {
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

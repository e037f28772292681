//! The limits of a workspace.

use serde_json::json;

use super::{create, delete, path};
use crate::kit::{Workspace, server};

/// Stores segments of this workspace as they would have been created one by one. `$1` is the workspace, `$2` how many.
async fn store(workspace: &Workspace, count: i32, statement: &'static str) {
    let (db, workspace) = (server().db(), workspace.id.uuid());
    let work = async move { sqlx::query(statement).bind(workspace).bind(count).execute(&db).await };
    let done = server().on(work).await.unwrap();
    assert_eq!(done.rows_affected(), u64::from(count.unsigned_abs()));
}

#[tokio::test]
async fn a_workspace_has_a_thousand_segments() {
    let workspace = Workspace::new().await;
    store(
        &workspace,
        999,
        "insert into segment (workspace_id, id, name, targeting, filters, event_filters, listed_values, created_by,
             updated_by, created_at, updated_at)
         select $1, gen_random_uuid(), 'S' || n, '{}', 0, 0, 0, 'system', 'system', now(), now()
         from generate_series(1, $2) n",
    )
    .await;
    let last = create(&workspace, "Last", &json!({})).await;
    let body = json!({"name": "One more", "targeting": {}});
    let refused = workspace.api.post("/segments", &body, 400).await;
    assert_eq!(refused.json()["message"], "A workspace has at most 1000 segments");
    delete(&workspace.api, &path(&last), 204).await;
    create(&workspace, "One more", &json!({})).await;
    let page = workspace.api.get("/segments?limit=200&offset=900", 200).await.json();
    assert_eq!(page["pagination"]["total"], 1000);
    assert_eq!(page["data"].as_array().unwrap().len(), 100);
    // A profile is in all of them, and is answered so.
    let user = json!({"externalId": "ann"});
    let user = workspace.api.post("/users", &user, 201).await.json();
    assert_eq!(user["segments"].as_array().unwrap().len(), 1000);
}

#[tokio::test]
async fn the_targetings_of_a_workspace_have_sixteen_mebibytes() {
    let workspace = Workspace::new().await;
    // Seven of about 2.2 MB each.
    store(
        &workspace,
        7,
        "insert into segment (workspace_id, id, name, targeting, filters, event_filters, listed_values, created_by,
             updated_by, created_at, updated_at)
         select $1, gen_random_uuid(), 'S' || n, jsonb_build_object('userIds',
             (select jsonb_agg(rpad(i::text, 220, 'x')) from generate_series(1, 10000) i)),
             0, 0, 10000, 'system', 'system', now(), now()
         from generate_series(1, $2) n",
    )
    .await;
    let ids = |count: usize| -> Vec<String> { (0..count).map(|n| format!("{n:0>200}")).collect() };
    let body = json!({"name": "Large", "targeting": {"userIds": ids(9000)}});
    let refused = workspace.api.post("/segments", &body, 400).await.json();
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "The targetings of a workspace's segments have at most 16777216 bytes in all, received "
        ),
        "{message}"
    );
    let small = create(&workspace, "Small", &json!({"userIds": ids(10)})).await;
    let change = json!({"targeting": {"userIds": ids(9000)}});
    super::put(&workspace.api, &path(&small), &change, 400).await;
    assert_eq!(workspace.api.get(path(&small), 200).await.json(), small);
}

//! Queries checked at compile time fit the migrated schema.

use std::{fs, path::Path};

use sqlx::{AssertSqlSafe, Executor as _};

use crate::kit::server;

#[tokio::test]
async fn every_cached_query_can_be_prepared_on_the_migrated_schema() {
    let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join(".sqlx");
    let mut queries = Vec::new();
    for entry in fs::read_dir(cache).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let cached: serde_json::Value = serde_json::from_str(&text).unwrap();
        queries.push(cached["query"].as_str().unwrap().to_owned());
    }
    assert!(!queries.is_empty());
    // Readiness comes after the migrations.
    let db = server().db();
    server()
        .on(async move {
            for (number, query) in queries.into_iter().enumerate() {
                let mut connection = db.acquire().await.unwrap();
                let statement = format!("prepare cached_{number} as {query}");
                let prepared = connection.execute(AssertSqlSafe(statement)).await;
                assert!(prepared.is_ok(), "{prepared:?}: {query}");
            }
        })
        .await;
}

//! Waiting for copies.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{COPIED_MAX, copied, wait};
use crate::kit::{Client, Workspace, eventually, server};

/// The lock of the process that copies.
const LOCK: &str = "select pg_advisory_xact_lock(hashtextextended('millrace.people_mirror', 0))";

#[tokio::test]
async fn who_waits_learns_whether_the_changes_are_copied() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    // Nothing waits in a workspace without changes, however short the time is.
    assert!(wait(&other, Duration::ZERO).await);
    let db = server().db();
    let lock = server()
        .on(async move {
            let mut tx = db.begin().await.unwrap();
            sqlx::query(LOCK).execute(&mut *tx).await.unwrap();
            tx
        })
        .await;
    let ann = workspace.api.post("/users", &json!({"externalId": "ann"}), 201).await.json();
    let began = Instant::now();
    assert!(!wait(&workspace, Duration::from_millis(300)).await, "no process copies");
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert!(wait(&other, Duration::ZERO).await, "changes of others are not waited for");
    eventually("the lag is seen", async || {
        let metrics = Client::new(&server().admin_url, None).get("/metrics", 200).await.text;
        let mut lines = metrics.lines();
        let lag = lines.find_map(|it| it.strip_prefix("millrace_people_mirror_lag_seconds "));
        (lag.unwrap().parse::<f64>().unwrap() > 0.0).then_some(())
    })
    .await;
    server().on(async move { lock.rollback().await.unwrap() }).await;
    assert!(wait(&workspace, COPIED_MAX).await);
    assert_eq!(copied(&workspace, ann["id"].as_str().unwrap()).await["external_id"], "ann");
}

//! Waiting for copies.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{COPIED_MAX, copied, wait};
use crate::kit::{Client, Workspace, eventually, server};

/// The lock of the process that copies.
const LOCK: &str = "select pg_advisory_xact_lock(hashtextextended('millrace.people_mirror', 0))";

/// Whether copies of profiles are as new as this call, without waiting.
async fn wait_for_profiles(workspace: &Workspace) -> bool {
    let id = workspace.id;
    server()
        .with(move |app| async move {
            people_mirror::ops::wait_for_profiles(app.db(), id, Duration::ZERO).await.unwrap()
        })
        .await
}

#[tokio::test]
async fn who_waits_learns_whether_the_changes_are_copied() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let of_campaigns = Workspace::new().await;
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
    of_campaigns.api.post("/campaigns", &crate::campaigns::email("March"), 201).await;
    assert!(!wait(&of_campaigns, Duration::ZERO).await);
    assert!(wait_for_profiles(&of_campaigns).await, "no question reads copies of campaigns");
    assert!(!wait_for_profiles(&workspace).await);
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

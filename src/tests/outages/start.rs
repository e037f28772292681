//! Workers that cannot start.

use std::time::Duration;

use serde_json::json;

use super::{metric, readiness, until_readiness};
use crate::kit::{Client, Process, data_dir, eventually, run, settings};

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_pipeline_start_is_retried_and_readiness_waits() {
    let folder = data_dir("pipeline-start");
    let (process, key) = Process::start(&folder, &[]).await;
    let key = key.unwrap();
    let client = process.client(&key);
    client.post("/events/track", &json!({"userId": "ann", "eventName": "First"}), 200).await;
    eventually("it is stored", || async {
        client.get("/events/query", 200).await.text.contains("First").then_some(())
    })
    .await;
    assert!(process.stop().await.success());

    // The note of its cuts cannot be read.
    let cuts = folder.join("spool/clickhouse.cuts");
    drop(std::fs::remove_file(&cuts));
    std::fs::create_dir(&cuts).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut settings = settings(&folder, &[]);
    settings.admin_listen = ([127, 0, 0, 1], port).into();
    let admin_url = format!("http://127.0.0.1:{port}");
    let starting = tokio::task::spawn_blocking(move || run(settings, kernel::Clock::system()));
    eventually("PostgreSQL is ready", || async {
        let answer = reqwest::get(format!("{admin_url}/readyz?for=control")).await.ok()?;
        answer.status().is_success().then_some(())
    })
    .await;
    // Longer than readiness used to take to come back without a pipeline.
    for _ in 0..8 {
        assert_eq!(readiness(&admin_url, "").await, 503);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(!starting.is_finished(), "the server is not ready without its pipeline");
    std::fs::remove_dir(&cuts).unwrap();
    let server = starting.await.unwrap();
    let client = Client::new(&server.url, Some(&key));
    client.post("/events/track", &json!({"userId": "ann", "eventName": "Second"}), 200).await;
    eventually("it is stored", || async {
        client.get("/events/query", 200).await.text.contains("Second").then_some(())
    })
    .await;
    until_readiness(&server.admin_url, "", 200).await;
    let alive = metric(&server.admin_url, "millrace_worker_alive{name=\"pipeline-insert\"}").await;
    assert!(alive > 0.0);
    until_readiness(&server.admin_url, "?for=delivery", 200).await;
}

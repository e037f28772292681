//! An event at which a worker panics each time it is tried.

use std::{path::Path, time::Duration};

use ingest::{
    record::{Batch, BatchBuilder, EventView},
    spool::{Durability, Entry, Spool, SpoolOptions},
};
use serde_json::json;
use uuid::Uuid;

use super::{metric, until_readiness};
use crate::kit::{Process, data_dir, eventually};

fn open_spool(folder: &Path) -> Spool {
    let options = SpoolOptions {
        dir: folder.join("spool"),
        segment_bytes: 64 << 20,
        limit_bytes: 8 << 30,
        reserve_bytes: 0,
        queue_bytes: 1 << 20,
        durability: Durability::Fsync,
    };
    Spool::open(options).unwrap().0
}

/// The workspace of the events in a spool.
fn workspace_of(folder: &Path, spool: &Spool) -> Uuid {
    let mut consumer = spool.consumer("probe").unwrap();
    let frame = consumer.receive(Duration::from_secs(10)).unwrap().unwrap();
    let workspace = Batch::header_of(&frame.payload).unwrap().workspace_id;
    drop(consumer);
    std::fs::remove_file(folder.join("spool/probe.cursor")).unwrap();
    workspace
}

/// An event of Ann's, received at this time.
fn event(workspace: Uuid, id: &str, received_at_ms: i64) -> Batch {
    let mut builder = BatchBuilder::with_capacity(0);
    builder.push(&EventView {
        event_name: "Poisoned",
        timestamp_ms: received_at_ms,
        day: 20_000,
        user_id: "ann",
        event_id: id,
        properties: "{}",
        ..EventView::default()
    });
    builder.finish(workspace, received_at_ms, 1 << 40).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn triggers_skip_an_event_that_panics_and_continue() {
    let folder = data_dir("poison");
    let environment = [
        ("MILLRACE_CHANNELS__EMAIL__URL", "smtp://127.0.0.1:9".to_owned()),
        ("MILLRACE_CHANNELS__EMAIL__FROM", "shop@example.test".to_owned()),
    ];
    let (process, key) = Process::start(&folder, &environment).await;
    let client = process.client(&key.unwrap());
    client.post("/users", &json!({"externalId": "ann", "email": "ann@example.test"}), 201).await;
    client.post("/events/track", &json!({"userId": "ann", "eventName": "Before"}), 200).await;
    let campaign = json!({
        "name": "Poisoned", "channel": "email", "sendType": "triggered",
        "triggerConfig": {"type": "event", "eventName": "Poisoned", "delayMinutes": 600},
        "variants": [{"id": "a", "name": "A", "weight": 100,
            "message": {"subject": "Hello", "html": "<p>Hello</p>"}}],
    });
    let id = client.post("/campaigns", &campaign, 201).await.json()["id"].clone();
    let id = id.as_str().unwrap();
    client.post(&format!("/campaigns/{id}/send"), &json!({}), 200).await;
    assert!(process.stop().await.success());

    let spool = open_spool(&folder);
    let workspace = workspace_of(&folder, &spool);
    let now_ms = kernel::Clock::system().now().millis();
    let poison = event(workspace, "poison", i64::MAX);
    // No request can bring this time of receipt; reading the frame panics.
    spool.append(Entry { at_ms: 1, ..Entry::from(&poison) }).await.unwrap();
    spool.append(Entry::from(&event(workspace, "good", now_ms))).await.unwrap();
    spool.close().await;
    drop(spool);

    let (process, _) = Process::start(&folder, &environment).await;
    eventually("the event after it triggers the campaign", || async {
        let entered = metric(&process.admin_url, "millrace_trigger_entries_total").await;
        (entered >= 1.0).then_some(())
    })
    .await;
    let left_out =
        metric(&process.admin_url, "millrace_trigger_faults_total{kind=\"panic\"}").await;
    assert!(left_out >= 1.0);
    let runs =
        metric(&process.admin_url, "millrace_worker_restarts_total{name=\"triggers\"}").await;
    assert!(runs >= 3.0, "{runs}");
    until_readiness(&process.admin_url, "", 200).await;
    assert!(
        (metric(&process.admin_url, "millrace_worker_alive{name=\"triggers\"}").await - 1.0).abs()
            < 0.1
    );
    assert!(process.stop().await.success());
}

//! Stores that are frozen: they take connections and answer nothing.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Frozen, metric, readiness, until_readiness};
use crate::kit::{Process, data_dir, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn with_a_frozen_engine_readiness_fails_reads_time_out_and_tracking_continues() {
    let folder = data_dir("frozen");
    let environment = [("MILLRACE_ENGINES__CLICKHOUSE_QUERY_SECONDS", "6".to_owned())];
    let (process, key) = Process::start(&folder, &environment).await;
    let client = process.client(&key.unwrap());
    let event = json!({"userId": "ann", "eventName": "Before"});
    client.post("/events/track", &event, 200).await;
    for query in ["", "?for=ingest", "?for=control", "?for=delivery"] {
        until_readiness(&process.admin_url, query, 200).await;
    }
    let refused = process.client("").get("/readyz?for=everything", 400).await;
    assert!(refused.text.contains("for must be one of"), "{}", refused.text);

    let frozen = (Frozen::postgres(&folder), Frozen::clickhouse(&folder));
    for query in ["", "?for=control", "?for=delivery"] {
        until_readiness(&process.admin_url, query, 503).await;
    }
    assert_eq!(readiness(&process.admin_url, "?for=ingest").await, 200);
    let began = Instant::now();
    let reads = (0..30).map(|_| {
        let client = client.clone();
        async move {
            let answer =
                client.request(reqwest::Method::GET, "/events/query").send().await.unwrap();
            (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
        }
    });
    for (status, body) in futures_util::future::join_all(reads).await {
        assert_eq!(status, 503, "{body}");
        assert_eq!(body["statusCode"], 503, "{body}");
    }
    // Without a deadline they would hang until the stores go on.
    assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
    client.post("/events/track", &json!({"userId": "ann", "eventName": "Meanwhile"}), 200).await;

    drop(frozen);
    until_readiness(&process.admin_url, "", 200).await;
    eventually("what was taken meanwhile is there", || async {
        let found = client.get_when_back("/events/query?eventName=Meanwhile").await;
        found.text.contains("Meanwhile").then_some(())
    })
    .await;
    assert!(process.stop().await.success());
}

/// Settings of a spool that is soon full: 8 MiB, of which triggers may keep 2.
fn small_spool() -> [(&'static str, String); 3] {
    [
        ("MILLRACE_SPOOL__LIMIT_BYTES", (8 << 20).to_string()),
        ("MILLRACE_SPOOL__SEGMENT_BYTES", (1 << 20).to_string()),
        ("MILLRACE_TRIGGERS__BACKLOG_BYTES", (2 << 20).to_string()),
    ]
}

/// Tracks three times what the spool holds. A refusal is tried again: the pipeline has to catch up.
async fn track_much(client: &crate::kit::Client) {
    let properties = json!({"text": "x".repeat(20_000)});
    for number in 0..60 {
        let events: Vec<_> = (0..20)
            .map(|part| {
                json!({"userId": "ann", "eventName": "Much", "properties": properties,
                    "clientEventId": format!("{number}-{part}")})
            })
            .collect();
        let events = json!(events);
        eventually("the events are taken", || async {
            let request = client.request(reqwest::Method::POST, "/events/track").json(&events);
            request.send().await.unwrap().status().is_success().then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_triggered_campaigns_a_frozen_postgres_does_not_fill_the_spool() {
    let folder = data_dir("frozen-postgres");
    let (process, key) = Process::start(&folder, &small_spool()).await;
    let client = process.client(&key.unwrap());
    // The key is known from here on, and so is that no campaign waits.
    client.post("/events/track", &json!({"userId": "ann", "eventName": "Before"}), 200).await;
    eventually("it is stored", || async {
        client.get_when_back("/events/query").await.text.contains("Before").then_some(())
    })
    .await;
    eventually("it was processed", || async {
        let waits = metric(&process.admin_url, "millrace_trigger_backlog_events").await;
        (waits < 1.0).then_some(())
    })
    .await;
    let frozen = Frozen::postgres(&folder);
    track_much(&client).await;
    let shed = metric(&process.admin_url, "millrace_trigger_shed_events_total").await;
    assert!(shed < 1.0, "no campaign waited for them: {shed}");
    assert_eq!(readiness(&process.admin_url, "?for=ingest").await, 200);
    drop(frozen);
    until_readiness(&process.admin_url, "", 200).await;
    assert!(process.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn with_triggered_campaigns_a_frozen_postgres_drops_their_oldest_events_first() {
    let folder = data_dir("frozen-triggers");
    let mut environment = small_spool().to_vec();
    // Nothing is sent within the test.
    environment.extend([
        ("MILLRACE_CHANNELS__EMAIL__URL", "smtp://127.0.0.1:9".to_owned()),
        ("MILLRACE_CHANNELS__EMAIL__FROM", "shop@example.test".to_owned()),
    ]);
    let (process, key) = Process::start(&folder, &environment).await;
    let client = process.client(&key.unwrap());
    client.post("/users", &json!({"externalId": "ann", "email": "ann@example.test"}), 201).await;
    let campaign = json!({
        "name": "Much", "channel": "email", "sendType": "triggered",
        "triggerConfig": {"type": "event", "eventName": "Much", "reEntry": "always", "delayMinutes": 600},
        "variants": [{"id": "a", "name": "A", "weight": 100,
            "message": {"subject": "Hello", "html": "<p>Hello</p>"}}],
    });
    let id = client.post("/campaigns", &campaign, 201).await.json()["id"].clone();
    let id = id.as_str().unwrap();
    client.post(&format!("/campaigns/{id}/send"), &json!({}), 200).await;
    let entered = || metric(&process.admin_url, "millrace_trigger_entries_total");
    let event = json!({"userId": "ann", "eventName": "Much"});
    client.post("/events/track", &event, 200).await;
    eventually("it is set off", || async { (entered().await >= 1.0).then_some(()) }).await;

    let frozen = Frozen::postgres(&folder);
    track_much(&client).await;
    eventually("some were shed", || async {
        let shed = metric(&process.admin_url, "millrace_trigger_shed_events_total").await;
        (shed >= 1.0).then_some(())
    })
    .await;
    drop(frozen);
    until_readiness(&process.admin_url, "", 200).await;
    let before = entered().await;
    client.post("/events/track", &event, 200).await;
    eventually("events trigger it again", || async { (entered().await > before).then_some(()) })
        .await;
    assert!(process.stop().await.success());
}

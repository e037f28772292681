//! `/metrics`: what is scraped is what the catalogue and the README name.

use std::collections::BTreeSet;

use serde_json::json;
use web::telemetry::catalogue::METRICS;

use crate::kit::{Client, Workspace, eventually, server, snapshots};

/// Names whose metrics come from the process, not from the catalogue.
const PROCESS_PREFIX: &str = "process_";

async fn scrape() -> String {
    Client::new(&server().admin_url, None).get("/metrics", 200).await.text
}

#[tokio::test]
async fn every_scraped_metric_is_in_the_catalogue_with_its_kind() {
    let workspace = Workspace::new().await;
    workspace.api.post("/events/track", &json!({"userId": "ann", "eventName": "A"}), 200).await;
    workspace.api.post("/events/track", &json!([{"eventName": "A"}]), 200).await;
    let text = eventually("the event was drained", || async {
        let text = scrape().await;
        text.contains("clickhouse_insert_rows_total").then_some(text)
    })
    .await;
    let mut seen = BTreeSet::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        if name.starts_with(PROCESS_PREFIX) {
            continue;
        }
        let metric = METRICS.iter().find(|metric| metric.name == name);
        let metric = metric.unwrap_or_else(|| panic!("{name} is not in the catalogue"));
        assert_eq!(metric.kind.name(), kind, "{name}");
        seen.insert(name.to_owned());
    }
    for name in [
        "http_requests_total",
        "http_request_duration_seconds",
        "http_requests_in_flight",
        "ingest_events_accepted_total",
        "ingest_events_rejected_total",
        "ingest_events_enqueued_total",
        "ingest_events_drained_total",
        "ingest_visible_lag_seconds",
        "wal_frames_appended_total",
        "wal_fsync_duration_seconds",
        "wal_used_bytes",
        "wal_limit_bytes",
        "clickhouse_insert_duration_seconds",
        "clickhouse_insert_rows_total",
        "postgres_connections",
    ] {
        assert!(seen.contains(name), "{name} was not scraped");
    }
    assert!(
        text.contains("process_resident_memory_bytes")
            && text.contains("process_cpu_seconds_total")
    );
}

#[tokio::test]
async fn labels_are_never_what_a_caller_can_choose() {
    let workspace = Workspace::new().await;
    workspace.api.get("/nowhere/secret-path", 404).await;
    workspace.api.get("/users/feedfeedfeedfeedfeedfeed/events", 404).await;
    let text = scrape().await;
    for chosen in ["secret-path", "feedfeed", workspace.name.as_str()] {
        assert!(!text.contains(chosen), "{chosen}");
    }
    assert!(text.contains("route=\"/users/{userId}/events\""), "{text}");
}

#[test]
fn the_readme_lists_exactly_the_catalogue() {
    let readme = include_str!("../../../README.md");
    for metric in METRICS {
        let row = format!("| `{}` | {} | {} |", metric.name, metric.kind.name(), metric.help);
        assert!(readme.contains(&row), "README lacks: {row}");
    }
}

#[test]
fn names_kinds_and_units_are_the_reviewed_ones() {
    let mut lines: Vec<String> = METRICS
        .iter()
        .map(|it| format!("{} {} {}", it.name, it.kind.name(), it.unit.as_str()))
        .collect();
    lines.sort();
    snapshots("snapshots").bind(|| insta::assert_snapshot!("metrics", lines.join("\n")));
}

//! `/metrics`: what is scraped is what the catalogue and the operator's document name.

use std::collections::BTreeSet;

use metrics_catalogue::{METRICS, Metric};
use serde_json::json;

use crate::kit::{Client, Workspace, eventually, server, snapshots};

/// Names whose metrics come from the process, not from the catalogue.
const PROCESS_PREFIX: &str = "process_";

/// Where the list of metrics stands.
const OPERATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/server/README.md");
const LIST_BEGIN: &str = "<!-- metrics: begin -->";
const LIST_END: &str = "<!-- metrics: end -->";
/// Columns of a line of the document.
const DOCUMENT_WIDTH: usize = 120;

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
        text.contains("millrace_clickhouse_insert_rows_total").then_some(text)
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
        "millrace_http_requests_total",
        "millrace_http_request_duration_seconds",
        "millrace_http_requests_in_flight",
        "millrace_ingest_events_accepted_total",
        "millrace_ingest_events_rejected_total",
        "millrace_ingest_events_enqueued_total",
        "millrace_ingest_events_drained_total",
        "millrace_ingest_visible_lag_seconds",
        "millrace_spool_frames_appended_total",
        "millrace_spool_fsync_duration_seconds",
        "millrace_spool_used_bytes",
        "millrace_spool_limit_bytes",
        "millrace_clickhouse_insert_duration_seconds",
        "millrace_clickhouse_insert_rows_total",
        "millrace_postgres_connections",
    ] {
        assert!(seen.contains(name), "{name} was not scraped");
    }
    assert!(
        text.contains("process_resident_memory_bytes")
            && text.contains("process_cpu_seconds_total")
    );
}

#[tokio::test]
async fn metric_labels_never_contain_caller_input() {
    let workspace = Workspace::new().await;
    workspace.api.get("/nowhere/secret-path", 404).await;
    workspace.api.get("/users/feedfeedfeedfeedfeedfeed/events", 404).await;
    let text = scrape().await;
    for chosen in ["secret-path", "feedfeed", workspace.name.as_str()] {
        assert!(!text.contains(chosen), "{chosen}");
    }
    assert!(text.contains("route=\"/users/{userId}/events\""), "{text}");
}

/// A name with the names of its labels, as Prometheus shows them.
fn with_labels(metric: &Metric) -> String {
    match metric.labels {
        [] => metric.name.to_owned(),
        labels => format!("{}{{{}}}", metric.name, labels.join(",")),
    }
}

/// The list of metrics in the operator's document: one item a metric, wrapped.
fn rendered_catalogue() -> String {
    let mut text = String::new();
    for metric in METRICS {
        let item = format!("- `{}` ({}): {}", with_labels(metric), metric.kind.name(), metric.help);
        let mut column = 0;
        for word in item.split(' ') {
            let width = word.chars().count();
            if column > 0 && column + 1 + width > DOCUMENT_WIDTH {
                text.push_str("\n  ");
                column = 2;
            } else if column > 0 {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += width;
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_operations_readme_lists_the_metrics_catalogue() {
    let document = std::fs::read_to_string(OPERATIONS).unwrap();
    let (before, rest) = document.split_once(LIST_BEGIN).expect("the marker before the list");
    let (listed, after) = rest.split_once(LIST_END).expect("the marker after the list");
    let expected = format!("\n{}", rendered_catalogue());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let updated = format!("{before}{LIST_BEGIN}{expected}{LIST_END}{after}");
        std::fs::write(OPERATIONS, updated).unwrap();
        return;
    }
    assert!(
        listed == expected,
        "src/server/README.md differs from the catalogue; run this test with UPDATE_DOCS=1"
    );
}

#[test]
fn metric_names_labels_kinds_and_units_match_the_snapshot() {
    let mut lines: Vec<String> = METRICS
        .iter()
        .map(|it| format!("{} {} {}", with_labels(it), it.kind.name(), it.unit.as_str()))
        .collect();
    lines.sort();
    snapshots("snapshots").bind(|| insta::assert_snapshot!("metrics", lines.join("\n")));
}

//! Dashboards of Grafana: one for a look at everything, and one with every metric of the catalogue.

use metrics_catalogue::{Kind, METRICS, Metric};
use serde_json::{Value, json};

/// The data source that provisioning makes.
const DATASOURCE: &str = "millrace-prometheus";
const PANEL_HEIGHT: usize = 8;
const PANEL_WIDTH: usize = 8;
const ROW_WIDTH: usize = 24;

/// A query and the legend of its series.
struct Target {
    expr: String,
    legend: &'static str,
}

struct Panel {
    title: String,
    description: String,
    unit: &'static str,
    targets: Vec<Target>,
}

/// Panels below a heading.
struct Row {
    title: String,
    panels: Vec<Panel>,
}

fn target(expr: &str, legend: &'static str) -> Target {
    Target { expr: expr.to_owned(), legend }
}

fn panel(title: &str, unit: &'static str, description: &str, targets: Vec<Target>) -> Panel {
    Panel { title: title.to_owned(), description: description.to_owned(), unit, targets }
}

/// Two quantiles of a histogram.
fn quantiles(metric: &str, labels: &str) -> Vec<Target> {
    let of = |quantile: &str| {
        format!(
            "histogram_quantile({quantile}, sum by (le) (rate({metric}_bucket{labels}[$__rate_interval])))"
        )
    };
    vec![target(&of("0.5"), "p50"), target(&of("0.99"), "p99")]
}

/// The file and the text of each dashboard.
pub(super) fn rendered() -> [(&'static str, String); 2] {
    let text = |it: Value| format!("{it:#}\n");
    [
        ("overview.json", text(dashboard("millrace-overview", "Millrace: overview", &overview()))),
        (
            "metrics.json",
            text(dashboard("millrace-metrics", "Millrace: every metric", &every_metric())),
        ),
    ]
}

fn overview() -> Vec<Row> {
    let row = |title: &str, panels| Row { title: title.to_owned(), panels };
    vec![
        row("Objectives", objectives()),
        row("Events", events()),
        row("Messages", messages()),
        row("Process", process()),
    ]
}

fn objectives() -> Vec<Panel> {
    vec![
        panel(
            "Acknowledged later than 25 ms",
            "percentunit",
            "Share of tracking calls; one in a hundred may be.",
            vec![
                target("millrace:acknowledged_late:ratio_rate5m", "5 min"),
                target("millrace:acknowledged_late:ratio_rate1h", "1 h"),
            ],
        ),
        panel(
            "Visible later than 1 s",
            "percentunit",
            "Share of stored events; one in a hundred may be.",
            vec![
                target("millrace:visible_late:ratio_rate5m", "5 min"),
                target("millrace:visible_late:ratio_rate1h", "1 h"),
            ],
        ),
        panel(
            "Answers by status",
            "reqps",
            "All routes.",
            vec![target(
                "sum by (status) (rate(millrace_http_requests_total[$__rate_interval]))",
                "{{status}}",
            )],
        ),
    ]
}

fn events() -> Vec<Panel> {
    vec![
        panel(
            "Events",
            "eps",
            "Acknowledged, refused by a rule, stored.",
            vec![
                target(
                    "sum(rate(millrace_ingest_events_accepted_total[$__rate_interval]))",
                    "acknowledged",
                ),
                target(
                    "sum(rate(millrace_ingest_events_rejected_total[$__rate_interval]))",
                    "rejected",
                ),
                target(
                    "sum(rate(millrace_ingest_events_drained_total[$__rate_interval]))",
                    "stored",
                ),
            ],
        ),
        panel(
            "Backlog",
            "short",
            "Events in the spool that are not stored yet.",
            vec![target(
                "millrace_ingest_events_enqueued_total - millrace_ingest_events_drained_total",
                "{{instance}}",
            )],
        ),
        panel(
            "Spool",
            "percentunit",
            "At 100 % events are refused with 503.",
            vec![target("millrace_spool_used_bytes / millrace_spool_limit_bytes", "{{instance}}")],
        ),
        panel(
            "Visible after",
            "s",
            "From an event's arrival until queries see it.",
            quantiles("millrace_ingest_visible_lag_seconds", ""),
        ),
        panel(
            "fsync",
            "s",
            "Of one group commit.",
            quantiles("millrace_spool_fsync_duration_seconds", ""),
        ),
        panel(
            "Dead letters and damage",
            "short",
            "In the last hour.",
            vec![
                target("sum(increase(millrace_ingest_dead_letters_total[1h]))", "dead letters"),
                target("sum(increase(millrace_spool_frames_corrupt_total[1h]))", "damaged frames"),
                target(
                    "sum(increase(millrace_trigger_shed_events_total[1h]))",
                    "not seen by triggers",
                ),
            ],
        ),
    ]
}

fn messages() -> Vec<Panel> {
    vec![
        panel(
            "Messages",
            "cps",
            "By channel and outcome.",
            vec![target(
                "sum by (channel, outcome) (rate(millrace_delivery_messages_total[$__rate_interval]))",
                "{{channel}} {{outcome}}",
            )],
        ),
        panel(
            "Oldest due message",
            "s",
            "How long it has waited.",
            vec![target("max(millrace_delivery_oldest_due_seconds)", "waited")],
        ),
        panel(
            "Due messages",
            "short",
            "Counted up to 100,000.",
            vec![target("max(millrace_delivery_due_messages)", "due")],
        ),
        panel(
            "Trigger lag",
            "s",
            "From an event until its message is queued.",
            quantiles("millrace_trigger_lag_seconds", ""),
        ),
        panel(
            "Copies in ClickHouse",
            "s",
            "How long the oldest change waits.",
            vec![
                target("max(millrace_people_mirror_lag_seconds)", "people"),
                target("max(millrace_identity_mirror_lag_seconds)", "identities"),
            ],
        ),
        panel(
            "Reports of providers",
            "cps",
            "By source and outcome.",
            vec![target(
                "sum by (source, outcome) (rate(millrace_callbacks_reports_total[$__rate_interval]))",
                "{{source}} {{outcome}}",
            )],
        ),
    ]
}

fn process() -> Vec<Panel> {
    vec![
        panel(
            "Workers that hang",
            "short",
            "0 is well.",
            vec![target("count by (name) (millrace_worker_alive == 0) or vector(0)", "{{name}}")],
        ),
        panel(
            "Restarts",
            "short",
            "In the last hour.",
            vec![
                target("sum by (name) (increase(millrace_worker_restarts_total[1h]))", "{{name}}"),
                target(
                    "sum by (engine) (increase(millrace_engine_restarts_total[1h]))",
                    "{{engine}}",
                ),
            ],
        ),
        panel(
            "Memory and processors",
            "short",
            "Of the program, without its engines.",
            vec![
                target(
                    "process_resident_memory_bytes{job=\"millrace\"} / 2^30",
                    "GiB {{instance}}",
                ),
                target(
                    "rate(process_cpu_seconds_total{job=\"millrace\"}[$__rate_interval])",
                    "processors {{instance}}",
                ),
            ],
        ),
    ]
}

/// A row for each area of the catalogue, and a panel for each metric.
fn every_metric() -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for metric in METRICS {
        let area = metric.name.split('_').nth(1).unwrap_or_default();
        if rows.last().is_none_or(|row| row.title != area) {
            rows.push(Row { title: area.to_owned(), panels: Vec::new() });
        }
        let at = rows.len() - 1;
        rows[at].panels.push(of_metric(metric));
    }
    rows
}

fn of_metric(metric: &Metric) -> Panel {
    let name = metric.name;
    let by = if metric.labels.is_empty() {
        "sum".to_owned()
    } else {
        format!("sum by ({})", metric.labels.join(", "))
    };
    let unit = if name.contains("_seconds") {
        "s"
    } else if name.contains("_bytes") {
        "bytes"
    } else {
        "short"
    };
    let targets = match metric.kind {
        Kind::Counter => {
            vec![target(&format!("{by} (rate({name}[$__rate_interval]))"), "__auto")]
        }
        Kind::Gauge => vec![target(&format!("{by} ({name})"), "__auto")],
        Kind::Histogram => quantiles(name, ""),
    };
    let unit = match (metric.kind, unit) {
        (Kind::Counter, "bytes") => "Bps",
        (Kind::Counter, _) => "cps",
        (_, unit) => unit,
    };
    panel(name, unit, metric.help, targets)
}

fn dashboard(uid: &str, title: &str, rows: &[Row]) -> Value {
    let (mut panels, mut id, mut y) = (Vec::new(), 0, 0);
    for row in rows {
        id += 1;
        panels.push(json!({
            "id": id, "type": "row", "title": row.title, "collapsed": false, "panels": [],
            "gridPos": {"x": 0, "y": y, "w": ROW_WIDTH, "h": 1},
        }));
        y += 1;
        for (at, panel) in row.panels.iter().enumerate() {
            id += 1;
            let per_line = ROW_WIDTH / PANEL_WIDTH;
            let (x, line) = (at % per_line * PANEL_WIDTH, at / per_line);
            panels.push(chart(
                id,
                panel,
                json!({
                    "x": x, "y": y + line * PANEL_HEIGHT, "w": PANEL_WIDTH, "h": PANEL_HEIGHT,
                }),
            ));
        }
        y += row.panels.len().div_ceil(ROW_WIDTH / PANEL_WIDTH) * PANEL_HEIGHT;
    }
    json!({
        "uid": uid, "title": title, "tags": ["millrace"], "timezone": "browser", "schemaVersion": 39,
        "refresh": "10s", "time": {"from": "now-1h", "to": "now"}, "panels": panels,
    })
}

fn chart(id: usize, panel: &Panel, position: Value) -> Value {
    let source = json!({"type": "prometheus", "uid": DATASOURCE});
    let targets: Vec<Value> = panel
        .targets
        .iter()
        .zip('A'..='Z')
        .map(|(it, letter)| {
            json!({"refId": letter.to_string(), "datasource": source, "expr": it.expr, "legendFormat": it.legend})
        })
        .collect();
    json!({
        "id": id, "type": "timeseries", "title": panel.title, "description": panel.description,
        "datasource": source, "gridPos": position, "targets": targets,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
    })
}

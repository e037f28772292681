//! `operations/`: rules, dashboards, the runbook and the unit agree with the catalogue of metrics and with each other.

mod alerts;
mod dashboards;
mod expressions;
mod rules;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use web::telemetry::recorder::DURATION_SECONDS_BUCKETS;

use crate::kit::{Client, Workspace, eventually, server};

/// Exposure that `systemd-analyze security` may compute for the unit: of 10, the smaller the better.
const EXPOSURE_MAX: u32 = 20;
/// Tests of the rules: those of objectives over days are evaluated at longer intervals.
const RULE_TESTS: [&str; 2] = ["prometheus/alerts.test.yml", "prometheus/objectives.test.yml"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("operations")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Compares a file with what it is written from, or writes it.
fn is_written(name: &str, expected: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(folder().join(name), expected).unwrap();
        return;
    }
    assert!(read(name) == expected, "operations/{name} differs; run this test with UPDATE_DOCS=1");
}

#[test]
fn rules_and_dashboards_are_those_of_the_sources() {
    is_written("prometheus/millrace.rules.yml", &rules::rendered());
    for (name, text) in dashboards::rendered() {
        is_written(&format!("grafana/dashboards/{name}"), &text);
    }
}

/// Expressions of the panels of a dashboard.
fn panel_expressions(dashboard: &str) -> Vec<String> {
    let dashboard: Value = serde_json::from_str(dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_series_of_rules_and_dashboards_is_in_the_catalogue_with_its_labels() {
    let recorded: BTreeSet<String> =
        alerts::recordings().into_iter().map(|recording| recording.record).collect();
    let mut expressions: Vec<String> = Vec::new();
    expressions.extend(alerts::recordings().into_iter().map(|it| it.expr));
    expressions.extend(alerts::alerts().into_iter().map(|it| it.expr));
    for (_, text) in dashboards::rendered() {
        expressions.extend(panel_expressions(&text));
    }
    assert!(expressions.len() > 100, "{}", expressions.len());
    for expr in &expressions {
        expressions::check(expr);
        let words = expr.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
        for word in words.filter(|word| word.starts_with("millrace:")) {
            assert!(recorded.contains(word), "{word} is not recorded: {expr}");
        }
    }
    let all = panel_expressions(&dashboards::rendered()[1].1).join("\n");
    for metric in metrics_catalogue::METRICS {
        assert!(all.contains(metric.name), "no panel shows {}", metric.name);
    }
}

#[tokio::test]
async fn objectives_are_at_buckets_of_scraped_histograms() {
    let workspace = Workspace::new().await;
    let event = json!({"userId": "ann", "eventName": "A"});
    workspace.api.post("/events/track", &event, 200).await;
    let admin = Client::new(&server().admin_url, None);
    let text = eventually("the event is visible", || async {
        let text = admin.get("/metrics", 200).await.text;
        text.contains("millrace_ingest_visible_lag_seconds_bucket").then_some(text)
    })
    .await;
    for (metric, bucket) in alerts::objective_buckets() {
        let seconds: f64 = bucket.parse().unwrap();
        assert!(DURATION_SECONDS_BUCKETS.contains(&seconds), "{metric} {bucket}");
        let of_metric = format!("{metric}_bucket{{");
        let le = format!("le=\"{bucket}\"");
        let mut lines = text.lines().filter(|line| line.starts_with(&of_metric));
        assert!(lines.any(|line| line.contains(&le)), "{metric} has no {le}");
    }
    let tracked =
        "millrace_http_request_duration_seconds_bucket{route=\"/events/track\",le=\"0.025\"}";
    assert!(text.contains(tracked), "the route that the objective is on");
}

#[test]
fn every_alert_has_a_section_in_the_runbook_and_a_test() {
    let runbook = read("RUNBOOK.md");
    let sections: Vec<&str> = runbook.split("\n## ").skip(1).collect();
    let titles: BTreeSet<String> =
        sections.iter().map(|it| it.lines().next().unwrap().to_owned()).collect();
    let names: BTreeSet<String> = alerts::alerts().into_iter().map(|alert| alert.name).collect();
    assert_eq!(titles, names, "sections of the runbook, and alerts");
    assert_eq!(sections.len(), titles.len(), "a section is there twice");
    for section in sections {
        for part in ["**Means**", "**Look**", "**Do**"] {
            assert_eq!(section.matches(part).count(), 1, "{part} in {section}");
        }
    }
    let tests = RULE_TESTS.map(read).concat();
    for name in names {
        let tested = format!("alertname: {name}\n");
        let fires = tests.match_indices(&tested).any(|(at, _)| {
            let case = &tests[at..];
            let end = case[1..].find("alertname: ").map_or(case.len(), |end| end + 1);
            case[..end].contains("exp_labels")
        });
        assert!(fires, "{name} fires in no test");
    }
}

/// A program, if this machine has it.
fn program(name: &str) -> Option<Command> {
    let is_there = Command::new(name).arg("--version").output().is_ok();
    if !is_there {
        eprintln!("SKIPPED: there is no {name}");
    }
    is_there.then(|| Command::new(name))
}

fn succeeds(command: &mut Command) -> String {
    let output = command.current_dir(folder()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

#[test]
fn promtool_accepts_the_rules_and_their_tests_pass() {
    let checks = [
        ["check", "rules", "prometheus/millrace.rules.yml"],
        ["check", "config", "prometheus/prometheus.yml"],
    ];
    for arguments in checks.into_iter().chain(RULE_TESTS.map(|file| ["test", "rules", file])) {
        let Some(mut promtool) = program("promtool") else { return };
        eprintln!("{}", succeeds(promtool.args(arguments)));
    }
}

#[test]
fn the_unit_is_hardened() {
    let unit = read("systemd/millrace.service");
    assert!(unit.contains("\nExecStart=/usr/local/bin/millrace serve\n"), "{unit}");
    let Some(mut analyze) = program("systemd-analyze") else { return };
    let version = Command::new("systemd-analyze").arg("--version").output().unwrap().stdout;
    let version = String::from_utf8_lossy(&version).into_owned();
    let number =
        version.split_whitespace().nth(1).and_then(|it| it.split('.').next()?.parse().ok());
    if number.is_none_or(|number: u32| number < 250) {
        eprintln!("SKIPPED: systemd-analyze {version} cannot examine files");
        return;
    }
    let threshold = format!("--threshold={EXPOSURE_MAX}");
    let arguments = ["security", "--offline=true", &threshold, "systemd/millrace.service"];
    eprintln!("{}", succeeds(analyze.args(arguments)));
}

#[test]
fn files_that_the_compose_file_mounts_exist() {
    let compose = read("compose.yml");
    let mounts: Vec<&str> = compose
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ./")?.split(':').next())
        .collect();
    assert!(mounts.len() >= 4, "{mounts:?}");
    for mount in mounts {
        assert!(folder().join(mount).exists(), "{mount}");
    }
    let config = read("prometheus/prometheus.yml");
    assert!(config.contains("job_name: millrace"), "alerts ask for this job");
    let source = read("grafana/provisioning/datasources/prometheus.yml");
    let overview: Value = serde_json::from_str(&dashboards::rendered()[0].1).unwrap();
    let wanted = overview["panels"][1]["datasource"]["uid"].as_str().unwrap();
    assert!(source.contains(&format!("uid: {wanted}\n")), "{source}");
}

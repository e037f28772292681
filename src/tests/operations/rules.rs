//! The rules in Prometheus' form.

use std::fmt::Write as _;

use super::alerts::{Alert, Recording, alerts, recordings};

const HEAD: &str = "# Written from src/tests/operations/alerts.rs: UPDATE_DOCS=1 cargo test --test integration operations\n";
/// Where the sections of alerts are; headings are their names.
const RUNBOOK: &str = "operations/RUNBOOK.md";

/// A text in YAML: in single quotes, which only a quote ends.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub(super) fn rendered() -> String {
    let mut text =
        format!("{HEAD}groups:\n  - name: millrace-objectives\n    interval: 30s\n    rules:\n");
    for Recording { record, expr } in recordings() {
        let _ = write!(text, "      - record: {record}\n        expr: {}\n", quoted(&expr));
    }
    text.push_str("  - name: millrace-alerts\n    rules:\n");
    for Alert { name, expr, hold, severity, summary } in alerts() {
        let _ = write!(
            text,
            "      - alert: {name}\n        expr: {}\n        for: {hold}\n        labels:\n          severity: {}\n        \
             annotations:\n          summary: {}\n          runbook: {RUNBOOK}#{}\n",
            quoted(&expr),
            severity.as_str(),
            quoted(&summary),
            name.to_lowercase(),
        );
    }
    text
}

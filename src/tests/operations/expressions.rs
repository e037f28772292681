//! Series that expressions of Prometheus name, with the labels that they use.

use std::collections::BTreeSet;

use metrics_catalogue::{Kind, METRICS, Metric};

const PREFIX: &str = "millrace_";
/// Labels that Prometheus adds, and that of buckets.
const LABELS_ADDED: [&str; 3] = ["job", "instance", "le"];
const KEYWORDS: [&str; 5] = ["by", "without", "on", "group_left", "ignoring"];

/// A series of an expression.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) labels: BTreeSet<String>,
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

/// The series of the service in a text, each with the labels of its selector.
pub(super) fn series(text: &str) -> Vec<Series> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(PREFIX) {
        let starts = !text[..at].ends_with(is_name);
        let rest = &text[at..];
        let name = rest.split(|c| !is_name(c)).next().unwrap();
        if starts {
            let after = &rest[name.len()..];
            found.push(Series { name: name.to_owned(), labels: selector_labels(after) });
        }
    }
    found
}

/// The labels in braces at the beginning of a text.
fn selector_labels(text: &str) -> BTreeSet<String> {
    let Some(inside) = text.strip_prefix('{') else { return BTreeSet::new() };
    let (mut labels, mut word, mut is_quoted) = (BTreeSet::new(), String::new(), false);
    for c in inside.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '}' => break,
            '=' | '!' if !word.is_empty() => {
                labels.insert(std::mem::take(&mut word));
            }
            _ if is_name(c) => word.push(c),
            _ => word.clear(),
        }
    }
    labels
}

/// The labels that an expression groups by.
pub(super) fn grouping_labels(expr: &str) -> BTreeSet<String> {
    let mut labels = BTreeSet::new();
    for keyword in KEYWORDS {
        for (at, _) in expr.match_indices(&format!("{keyword} (")) {
            let inside = &expr[at + keyword.len() + 2..];
            let list = inside.split(')').next().unwrap();
            labels.extend(list.split(',').map(|label| label.trim().to_owned()));
        }
    }
    labels
}

/// The metric of a series: itself, or the histogram of a `_bucket`, `_sum` or `_count`.
pub(super) fn metric_of(name: &str) -> Option<&'static Metric> {
    let of = |name: &str| METRICS.iter().find(|metric| metric.name == name);
    of(name).filter(|metric| metric.kind != Kind::Histogram).or_else(|| {
        let stem = ["_bucket", "_sum", "_count"].iter().find_map(|it| name.strip_suffix(it))?;
        of(stem).filter(|metric| metric.kind == Kind::Histogram)
    })
}

/// Panics unless every series of an expression is in the catalogue with all labels that are used.
pub(super) fn check(expr: &str) {
    let found = series(expr);
    for Series { name, labels } in &found {
        let metric = metric_of(name).unwrap_or_else(|| panic!("{name} of {expr} is no series"));
        for label in labels {
            let is_known =
                metric.labels.contains(&label.as_str()) || LABELS_ADDED.contains(&label.as_str());
            assert!(is_known, "{name} has no label {label}: {expr}");
        }
    }
    for label in grouping_labels(expr) {
        let is_known = LABELS_ADDED.contains(&label.as_str())
            || found
                .iter()
                .filter_map(|it| metric_of(&it.name))
                .any(|it| it.labels.contains(&label.as_str()));
        assert!(is_known, "no series has the label {label}: {expr}");
    }
}

#[test]
fn series_are_found_with_their_labels() {
    let expr = r#"sum by (job, le) (rate(millrace_a_bucket{route=~"/x{y}",le="1"}[5m])) / millrace:b > millrace_c"#;
    let found: Vec<_> = series(expr)
        .into_iter()
        .map(|it| (it.name, it.labels.into_iter().collect::<Vec<_>>().join(" ")))
        .collect();
    let expected = [("millrace_a_bucket", "le route"), ("millrace_c", "")];
    assert_eq!(found, expected.map(|(name, labels)| (name.to_owned(), labels.to_owned())));
    assert_eq!(grouping_labels(expr).into_iter().collect::<Vec<_>>().join(" "), "job le");
}

#[test]
fn names_and_labels_that_do_not_exist_are_refused() {
    check("sum by (status) (rate(millrace_http_requests_total{route=\"/x\"}[5m]))");
    check("rate(millrace_spool_fsync_duration_seconds_count[5m])");
    for wrong in [
        "millrace_no_such_total",
        "millrace_spool_fsync_duration_seconds",
        "millrace_spool_used_bytes_bucket",
        "millrace_http_requests_total{colour=\"red\"}",
        "sum by (colour) (millrace_http_requests_total)",
    ] {
        assert!(std::panic::catch_unwind(|| check(wrong)).is_err(), "{wrong}");
    }
}

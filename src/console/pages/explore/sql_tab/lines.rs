//! Lines of a chart, from rows that are over time.

use std::collections::BTreeMap;

use kernel::Timestamp;
use serde_json::Value;

use super::answer::Rows;
use crate::view::Series;

/// Lines of one chart.
const SERIES_MAX: usize = 10;

/// Lines of a chart over their times.
#[derive(Debug)]
pub(super) struct Lines {
    /// The times, in seconds since 1970.
    pub(super) times: Vec<i64>,
    pub(super) labels: Vec<String>,
    pub(super) series: Vec<Series>,
}

/// The lines of rows whose first column is a time: one for each column of numbers, or, where the second column is a
/// text, one for each text. None where the rows are otherwise, or the lines would be too many.
pub(super) fn over_time(rows: &Rows) -> Option<Lines> {
    let (first, others) = rows.columns.split_first()?;
    if !first.is_time() || rows.values.len() < 2 {
        return None;
    }
    let is_by_text = others.first()?.is_text();
    let numbers = if is_by_text { &others[1..] } else { others };
    if numbers.is_empty() || numbers.iter().any(|column| !column.is_number()) {
        return None;
    }
    if is_by_text && numbers.len() > 1 {
        return None;
    }
    // By time: its text and the value of each line.
    let mut points: BTreeMap<i64, Point> = BTreeMap::new();
    let mut names: Vec<String> = if is_by_text {
        Vec::new()
    } else {
        numbers.iter().map(|column| column.name.clone()).collect()
    };
    for row in &rows.values {
        let label = row.first()?.as_str()?;
        let point = points.entry(seconds(label)?).or_insert_with(|| Point::new(label));
        let texts = is_by_text.then(|| row.get(1).and_then(Value::as_str).unwrap_or("(none)"));
        let values = &row[1 + usize::from(is_by_text)..];
        for (at, value) in values.iter().enumerate() {
            let line = match texts {
                None => at,
                Some(text) => names.iter().position(|name| name == text).unwrap_or_else(|| {
                    names.push(text.to_owned());
                    names.len() - 1
                }),
            };
            // Two rows of one time and line are no point of a chart.
            if point.values.insert(line, number(value)).is_some() {
                return None;
            }
        }
    }
    if names.len() > SERIES_MAX || points.len() < 2 {
        return None;
    }
    let series = names.into_iter().enumerate().map(|(line, label)| Series {
        label,
        values: points.values().map(|point| point.values.get(&line).copied().flatten()).collect(),
        is_compared: false,
    });
    let series = series.collect();
    let labels = points.values().map(|point| point.label.clone()).collect();
    Some(Lines { times: points.into_keys().collect(), labels, series })
}

/// The values at one time, by line.
#[derive(Debug)]
struct Point {
    label: String,
    values: BTreeMap<usize, Option<f64>>,
}

impl Point {
    fn new(label: &str) -> Self {
        Self { label: label.to_owned(), values: BTreeMap::new() }
    }
}

/// A number, which is a text where JSON could not hold it.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// The seconds of a time as ClickHouse writes it.
fn seconds(text: &str) -> Option<i64> {
    let text = match text.split_once(' ') {
        Some((day, clock)) => format!("{day}T{clock}Z"),
        None => format!("{text}T00:00:00Z"),
    };
    text.parse::<Timestamp>().ok().map(|at| at.millis() / 1_000)
}

#[cfg(test)]
mod tests {
    use super::{super::answer, *};

    fn of(text: &str) -> Option<Lines> {
        over_time(&answer::of_text(text))
    }

    #[test]
    fn columns_of_numbers_are_lines() {
        let lines = of("[\"day\",\"a\",\"b\"]\n[\"Date\",\"UInt64\",\"Float64\"]\n[\"2026-03-02\",2,null]\n[\"2026-03-01\",1,0.5]\n").unwrap();
        assert_eq!(lines.labels, ["2026-03-01", "2026-03-02"]);
        assert_eq!(lines.series[0].values, [Some(1.0), Some(2.0)]);
        assert_eq!(lines.series[1].values, [Some(0.5), None]);
    }

    #[test]
    fn texts_are_lines_of_their_own() {
        let lines = of("[\"at\",\"event\",\"n\"]\n[\"DateTime('UTC')\",\"LowCardinality(String)\",\"UInt64\"]\n[\"2026-03-01 10:00:00\",\"A\",1]\n[\"2026-03-01 11:00:00\",\"B\",2]\n").unwrap();
        assert_eq!(lines.times[1] - lines.times[0], 3_600);
        assert_eq!(lines.series[0].values, [Some(1.0), None]);
        assert_eq!(lines.series[1].label, "B");
    }

    #[test]
    fn other_rows_have_no_lines() {
        let head = "[\"day\",\"n\"]\n[\"Date\",\"UInt64\"]\n";
        for text in [
            format!("{head}[\"2026-03-01\",1]\n"),
            format!("{head}[\"2026-03-01\",1]\n[\"2026-03-01\",2]\n"),
            "[\"n\",\"m\"]\n[\"UInt64\",\"UInt64\"]\n[1,1]\n[2,2]\n".to_owned(),
            "[\"day\",\"a\"]\n[\"Date\",\"String\"]\n[\"2026-03-01\",\"x\"]\n[\"2026-03-02\",\"y\"]\n".to_owned(),
        ] {
            assert!(of(&text).is_none(), "{text}");
        }
    }
}

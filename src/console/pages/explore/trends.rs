//! Trends as lines.

use http::Method;
use kernel::{Timestamp, zone::Zone};
use maud::{Markup, html};
use serde::Deserialize;

use super::{
    ANSWER_MAX,
    address::Address,
    csv,
    fields::{self, Known},
    question, statement,
};
use crate::{
    failure::PageResult,
    view::{self, Chart, Choice, Column, Series, Unit},
    visitor::Visitor,
};

const METRICS: [(&str, &str); 11] = [
    ("count", "Count"),
    ("unique", "People"),
    ("perUser", "Events per person"),
    ("sum", "Sum"),
    ("avg", "Average"),
    ("min", "Minimum"),
    ("max", "Maximum"),
    ("p50", "Median"),
    ("p90", "90th percentile"),
    ("p95", "95th percentile"),
    ("p99", "99th percentile"),
];
/// Events of one question.
const EVENTS_MAX: usize = 10;

/// The answer of the API.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Trends {
    #[serde(default)]
    complete_from: Option<Timestamp>,
    intervals: Vec<Timestamp>,
    series: Vec<Line>,
}

#[derive(Debug, Deserialize)]
struct Line {
    label: String,
    #[serde(default)]
    breakdown: Option<String>,
    other: bool,
    compared: bool,
    values: Vec<Option<f64>>,
    #[serde(default)]
    total: Option<f64>,
}

pub(super) fn form(asked: &Address, known: &Known) -> Markup {
    let metrics: Vec<Choice<'_>> =
        METRICS.iter().map(|(value, label)| Choice { value, label }).collect();
    let metric = if asked.metric.is_empty() { "count" } else { &asked.metric };
    let interval = if asked.interval.is_empty() { "day" } else { &asked.interval };
    let intervals = view::choices(&["hour", "day", "week", "month", "none"]);
    let compare = [
        Choice { value: "", label: "Nothing" },
        Choice { value: "previous_period", label: "The period before" },
    ];
    let fields = html! {
        (fields::events(&["Event (empty: all)"], "And", EVENTS_MAX, asked))
        div class="filters" {
            (view::select("metric", "Metric", metric, &metrics))
            (fields::property("field", "Of the property", &asked.field, "For sums, averages and percentiles"))
            (view::select("interval", "Interval", interval, &intervals))
            (view::select("compare", "Compare with", &asked.compare, &compare))
        }
        div class="filters" { (fields::range(asked)) (fields::breakdown(asked)) }
    };
    fields::form(asked, known, &fields)
}

pub(super) async fn answer(visitor: &Visitor, asked: &Address) -> PageResult<Markup> {
    let body = question::body(visitor, asked)?;
    let call = visitor.call(Method::POST, "/insights/trends").json(&body)?;
    let trends: Trends = call.within(ANSWER_MAX).shared().read().await?;
    let sql = if trends.series.iter().any(|line| line.other) {
        Err("the values beyond the largest are added up")
    } else {
        statement::trends(asked, visitor.zone())
    };
    let sources = csv::sources(visitor, asked, &body, &sql);
    let title = asked.title();
    let has_broken_down = !asked.breakdown.is_empty();
    let names: Vec<String> = trends.series.iter().map(|it| name(it, has_broken_down)).collect();
    let chart = chart(&trends, &names, title, asked, visitor.zone());
    Ok(html! {
        section class="card" {
            h2 class="unseen" { "Answer" }
            (view::complete_from(trends.complete_from, visitor.zone()))
            @if trends.intervals.len() > 1 { (view::chart(&chart, &sources)) }
            (totals(&trends, &names))
            @if trends.intervals.len() <= 1 { (view::sources(&sources)) }
            @if let Err(reason) = sql { (view::without_sql(reason)) }
        }
    })
}

/// The name of a line: that of the event, with the value of the breakdown.
fn name(line: &Line, is_broken_down: bool) -> String {
    let mut name = line.label.clone();
    if is_broken_down {
        let value = match (&line.breakdown, line.other) {
            (_, true) => "others",
            (Some(value), false) => value,
            (None, false) => "(none)",
        };
        name = format!("{name}: {value}");
    }
    if line.compared { format!("{name} (before)") } else { name }
}

fn chart(trends: &Trends, names: &[String], title: String, asked: &Address, zone: Zone) -> Chart {
    let format = match asked.interval.as_str() {
        "hour" => "%b %-d %H:%M",
        "month" => "%b %Y",
        _ => "%b %-d",
    };
    let label = |at: &Timestamp| zone.clock_at(*at).format(format).to_string();
    let series = trends.series.iter().zip(names).map(|(line, name)| Series {
        label: name.clone(),
        values: line.values.clone(),
        is_compared: line.compared,
    });
    Chart {
        title,
        unit: Unit::Number,
        times: trends.intervals.iter().map(|at| at.millis() / 1_000).collect(),
        labels: trends.intervals.iter().map(label).collect(),
        series: series.collect(),
    }
}

fn totals(trends: &Trends, names: &[String]) -> Markup {
    let columns = [Column::text("Series"), Column::number("Total")];
    let row = |(line, name): (&Line, &String)| {
        let total = line.total.map_or_else(|| "–".to_owned(), view::decimal);
        vec![html! { (name) }, html! { (total) }]
    };
    let rows: Vec<Vec<Markup>> = trends.series.iter().zip(names).map(row).collect();
    view::table("Totals of the whole range", &columns, &rows)
}

//! Charts: drawn by a script from the numbers in their attributes, with the same numbers in a table behind them.

use maud::{Markup, html};
use serde::Serialize;

use super::{
    card::copyable,
    numbers::decimal,
    table::{Column, table},
};
use crate::assets;

/// What the values of a chart are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    Number,
}

/// A line of a chart.
#[derive(Debug, Clone, Serialize)]
pub struct Series {
    pub label: String,
    pub values: Vec<Option<f64>>,
    /// Drawn with dashes: the period before of the line that stands before it.
    #[serde(rename = "isCompared")]
    pub is_compared: bool,
}

/// The numbers of a chart.
#[derive(Debug, Clone, Serialize)]
pub struct Chart {
    #[serde(skip)]
    pub title: String,
    pub unit: Unit,
    /// The beginnings of intervals, in seconds since 1970.
    pub times: Vec<i64>,
    /// The intervals as people read them.
    pub labels: Vec<String>,
    pub series: Vec<Series>,
}

/// Ways to the same numbers without the console.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// A command that asks the API.
    pub api: Option<String>,
    /// The question in SQL.
    pub sql: Option<String>,
    /// The address of the numbers as CSV.
    pub csv: Option<String>,
}

/// A chart, with its numbers and where they come from.
pub fn chart(chart: &Chart, sources: &Sources) -> Markup {
    // Numbers and texts can be written as JSON.
    let data = serde_json::to_string(chart).unwrap_or_default();
    html! {
        figure class="chart" {
            link rel="stylesheet" href=(assets::url("uplot.css"));
            script type="module" src=(assets::url("chart.js")) {}
            div class="chart-canvas" data-chart=(data) role="img" aria-label=(chart.title) {}
            details class="chart-data" {
                summary { "Show data" }
                (data_table(chart))
            }
            figcaption { (self::sources(sources)) }
        }
    }
}

/// Ways to the same numbers without the console.
pub fn sources(sources: &Sources) -> Markup {
    html! {
        div class="sources" {
            @if let Some(api) = &sources.api {
                details { summary { "API call" } (copyable(api)) }
            }
            @if let Some(sql) = &sources.sql {
                details { summary { "SQL" } (copyable(sql)) }
            }
            @if let Some(csv) = &sources.csv { a href=(csv) download { "CSV" } }
        }
    }
}

/// The sentence where a question has no statement in SQL: why there is none.
pub fn without_sql(reason: &str) -> Markup {
    html! { p class="quiet" { "No plain SQL answers this the same: " (reason) "." } }
}

fn data_table(chart: &Chart) -> Markup {
    let first = Column::text("Interval");
    let labels = chart.series.iter().map(|series| Column::number(&series.label));
    let columns: Vec<Column<'_>> = std::iter::once(first).chain(labels).collect();
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), decimal);
    let rows: Vec<Vec<Markup>> = chart
        .labels
        .iter()
        .enumerate()
        .map(|(at, label)| {
            let values = chart.series.iter().map(|it| it.values.get(at).copied().flatten());
            std::iter::once(html! { (label) })
                .chain(values.map(|value| html! { (number(value)) }))
                .collect()
        })
        .collect();
    table(&chart.title, &columns, &rows)
}

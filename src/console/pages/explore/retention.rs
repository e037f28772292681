//! Retention as a table of cohorts.

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
    view::{self, Choice, Column, Field, Kind},
    visitor::Visitor,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Retention {
    #[serde(default)]
    complete_from: Option<Timestamp>,
    cohorts: Vec<Cohort>,
}

#[derive(Debug, Deserialize)]
struct Cohort {
    from: Timestamp,
    size: u64,
    values: Vec<Option<u64>>,
}

pub(super) fn form(asked: &Address, known: &Known) -> Markup {
    let modes = [
        Choice { value: "", label: "In that interval" },
        Choice { value: "rolling", label: "In it or later" },
    ];
    let interval = if asked.interval.is_empty() { "week" } else { &asked.interval };
    let intervals = if asked.intervals.is_empty() { "8" } else { &asked.intervals };
    let fields = html! {
        (fields::events(&["First", "Came back (empty: the same)"], "", 2, asked))
        div class="filters" {
            (view::select("interval", "Interval", interval, &view::choices(&["day", "week", "month"])))
            (view::field(&Field::text("intervals", "Intervals", intervals).of(Kind::Number)))
            (view::select("mode", "Returned", &asked.mode, &modes))
        }
        div class="filters" { (fields::range(asked)) }
    };
    fields::form(asked, known, &fields)
}

pub(super) async fn answer(visitor: &Visitor, asked: &Address) -> PageResult<Markup> {
    let body = question::body(visitor, asked)?;
    let call = visitor.call(Method::POST, "/insights/retention").json(&body)?;
    let retention: Retention = call.within(ANSWER_MAX).shared().read().await?;
    let sql = statement::retention(asked, visitor.zone());
    let sources = csv::sources(visitor, asked, &body, &sql);
    Ok(html! {
        section class="card" {
            h2 { "Cohorts" }
            (view::complete_from(retention.complete_from, visitor.zone()))
            (cohorts(&retention, visitor.zone()))
            (view::sources(&sources))
            @if let Err(reason) = sql { (view::without_sql(reason)) }
        }
    })
}

fn cohorts(retention: &Retention, zone: Zone) -> Markup {
    let intervals = retention.cohorts.iter().map(|cohort| cohort.values.len()).max().unwrap_or(0);
    let labels: Vec<String> = (0..intervals).map(|interval| interval.to_string()).collect();
    let fixed = [Column::text("From"), Column::number("People")];
    let columns: Vec<Column<'_>> =
        fixed.into_iter().chain(labels.iter().map(|label| Column::number(label))).collect();
    let row = |cohort: &Cohort| {
        let from = html! { (zone.clock_at(cohort.from).format("%Y-%m-%d").to_string()) };
        let values = cohort.values.iter().map(|value| cell(*value, cohort.size));
        [from, html! { (view::count(cohort.size)) }].into_iter().chain(values).collect()
    };
    let rows: Vec<Vec<Markup>> = retention.cohorts.iter().map(row).collect();
    view::table("People who came back, by the interval they began in", &columns, &rows)
}

/// The share of a cohort, coloured by its tenth; what lies ahead is empty.
fn cell(value: Option<u64>, size: u64) -> Markup {
    let Some(value) = value else { return html! {} };
    if size == 0 {
        return html! { "–" };
    }
    #[expect(clippy::cast_precision_loss, reason = "numbers of people are exact")]
    let share = value as f64 / size as f64;
    let tenth = (value.saturating_mul(10) / size).min(10);
    html! {
        span class={ "heat heat-" (tenth) } title={ (view::count(value)) " people" } {
            (view::percent(share))
        }
    }
}

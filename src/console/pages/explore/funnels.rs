//! Funnels as steps with their shares.

use http::Method;
use kernel::Timestamp;
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
    view::{self, Choice, Column, Field},
    visitor::Visitor,
};

/// Steps of one funnel.
const STEPS_MAX: usize = 20;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Funnel {
    #[serde(default)]
    complete_from: Option<Timestamp>,
    entered: u64,
    steps: Vec<Step>,
    #[serde(default)]
    breakdown: Option<Vec<FunnelOfValue>>,
}

#[derive(Debug, Deserialize)]
struct FunnelOfValue {
    #[serde(default)]
    breakdown: Option<String>,
    other: bool,
    entered: u64,
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    label: String,
    people: u64,
    from_previous: Option<f64>,
    from_start: Option<f64>,
    interval: Option<[f64; 2]>,
    median_seconds_from_previous: Option<f64>,
}

pub(super) fn form(asked: &Address, known: &Known) -> Markup {
    let orders = [
        Choice { value: "", label: "Others may come between" },
        Choice { value: "strict", label: "Directly after each other" },
    ];
    let window = if asked.window.is_empty() { "7d" } else { &asked.window };
    let fields = html! {
        (fields::events(&["First step", "Second step"], "Next step", STEPS_MAX, asked))
        div class="filters" {
            (view::field(&Field::text("window", "Within", window).hint("Such as 30min, 24h, 7d or 4w")))
            (view::select("order", "Order", &asked.order, &orders))
            (fields::breakdown(asked))
        }
        div class="filters" { (fields::range(asked)) }
    };
    fields::form(asked, known, &fields)
}

pub(super) async fn answer(visitor: &Visitor, asked: &Address) -> PageResult<Markup> {
    let body = question::body(visitor, asked)?;
    let call = visitor.call(Method::POST, "/insights/funnels").json(&body)?;
    let funnel: Funnel = call.within(ANSWER_MAX).shared().read().await?;
    let window = question::window_ms(&body);
    let sql = window.map_or(Err("its window cannot be read"), |window| {
        statement::funnel(asked, window, visitor.zone())
    });
    let sources = csv::sources(visitor, asked, &body, &sql);
    let values = funnel.breakdown.as_deref().unwrap_or_default();
    let name = |value: &FunnelOfValue| match (&value.breakdown, value.other) {
        (_, true) => "Others".to_owned(),
        (Some(text), false) => text.clone(),
        (None, false) => "(none)".to_owned(),
    };
    Ok(html! {
        section class="card" {
            h2 { (view::count(funnel.entered)) " people entered" }
            (view::complete_from(funnel.complete_from, visitor.zone()))
            (steps("All people", &funnel.steps))
            (view::sources(&sources))
            @if let Err(reason) = sql { (view::without_sql(reason)) }
        }
        @for value in values {
            @let name = name(value);
            section class="card" {
                h2 { bdi { (name) } ": " (view::count(value.entered)) " people" }
                (steps(&name, &value.steps))
            }
        }
    })
}

fn steps(caption: &str, steps: &[Step]) -> Markup {
    let columns = [
        Column::text("Step"),
        Column::text("Share"),
        Column::number("People"),
        Column::number("From start"),
        Column::number("95 % interval"),
        Column::number("From previous"),
        Column::number("Median time"),
    ];
    let percent = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), view::percent);
    let row = |(index, step): (usize, &Step)| {
        let between = step.interval.map_or_else(
            || "–".to_owned(),
            |[low, high]| format!("{} – {}", view::percent(low), view::percent(high)),
        );
        let median =
            step.median_seconds_from_previous.map_or_else(|| "–".to_owned(), view::duration);
        vec![
            html! { (index + 1) ". " (step.label) },
            html! { progress class="bar" max="1" value=(step.from_start.unwrap_or(0.0)) aria-label=(step.label) {} },
            html! { (view::count(step.people)) },
            html! { (percent(step.from_start)) },
            html! { (between) },
            html! { (percent(step.from_previous)) },
            html! { (median) },
        ]
    };
    let rows: Vec<Vec<Markup>> = steps.iter().enumerate().map(row).collect();
    view::table(caption, &columns, &rows)
}

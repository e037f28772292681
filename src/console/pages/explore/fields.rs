//! Fields that the forms share: events, ranges, filters and breakdowns, with what is known of the workspace's events.

use std::time::Duration;

use maud::{Markup, html};
use serde::Deserialize;

use super::{ENTRY, address::Address};
use crate::{
    failure::{Failure, PageResult, ShownAt, at_fields},
    in_process::path,
    view::{self, Choice, Field, Kind},
    visitor::Visitor,
};

/// Operators of filters, as the API names them.
const OPERATORS: [&str; 15] = [
    "equals",
    "not_equals",
    "contains",
    "not_contains",
    "starts_with",
    "ends_with",
    "in",
    "not_in",
    "gt",
    "gte",
    "lt",
    "lte",
    "exists",
    "not_exists",
    "is_true",
];
/// Ranges to choose from: in the address, and as people read them.
const RANGES: [(&str, &str); 7] = [
    ("24h", "Last 24 hours"),
    ("7d", "Last 7 days"),
    ("30d", "Last 30 days"),
    ("90d", "Last 90 days"),
    ("12w", "Last 12 weeks"),
    ("6m", "Last 6 months"),
    ("12m", "Last 12 months"),
];
/// Names of events that are offered.
const NAMES_MAX: &str = "200";
/// How long names are offered again without a look for new ones: any name can be typed.
const KNOWN_FOR: Duration = Duration::from_secs(10);

/// The names of the workspace's events, and the properties of the first one that is asked about.
#[derive(Debug, Default)]
pub(super) struct Known {
    names: Vec<String>,
    properties: Vec<String>,
}

#[derive(Deserialize)]
struct Named {
    data: Vec<Name>,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

impl Known {
    /// What is known; nothing where the API cannot say it now, since any name can be typed.
    pub(super) async fn read(visitor: &Visitor, asked: &Address) -> Self {
        let names = visitor.get(path(["insights", "events"])).query("limit", NAMES_MAX);
        let names: PageResult<Named> = names.shared_for(KNOWN_FOR).read().await;
        let properties: Option<PageResult<Named>> = match asked.events.first() {
            Some(event) => {
                let call = visitor.get(path(["insights", "properties"]));
                Some(call.query("eventName", event).shared_for(KNOWN_FOR).read().await)
            }
            None => None,
        };
        let all = |named: PageResult<Named>| {
            let data = named.map(|named| named.data).unwrap_or_default();
            data.into_iter().map(|it| it.name).collect()
        };
        Self { names: all(names), properties: properties.map(all).unwrap_or_default() }
    }

    /// The lists that fields offer while something is typed.
    fn lists(&self) -> Markup {
        html! {
            datalist id="known-events" { @for name in &self.names { option value=(name) {} } }
            datalist id="known-properties" { @for name in &self.properties { option value=(name) {} } }
        }
    }
}

/// The fields of the forms, by the paths of a question.
const SHOWN_AT: &[ShownAt<'_>] = &[
    at("series[].eventName", "event-0", "Event"),
    at("series[].field", "field", "Of the property"),
    at("series[].metric", "metric", "Metric"),
    at("series[].filters", "fp-0", "Filters"),
    at("series", "event-0", "Event"),
    at("steps[].filters", "fp-0", "Filters"),
    at("steps", "event-0", "Steps"),
    at("start.filters", "fp-0", "Filters"),
    at("start", "event-0", "First"),
    at("return", "event-1", "Came back"),
    at("filters", "fp-0", "Filters"),
    at("window", "window", "Within"),
    at("order", "order", "Order"),
    at("intervals", "intervals", "Intervals"),
    at("interval", "interval", "Interval"),
    at("mode", "mode", "Returned"),
    at("compare", "compare", "Compare with"),
    at("breakdown", "breakdown", "Break down by"),
    at("last", "last", "Range"),
    at("from", "from", "From"),
    at("to", "to", "To"),
    at("name", "name", "Save this question as"),
];

const fn at(path: &'static str, field: &'static str, label: &'static str) -> ShownAt<'static> {
    ShownAt { path, field, label }
}

/// Why a question is not asked or not saved, at its fields.
pub(super) fn faults(failure: &Failure, is_shown: impl Fn(&str) -> bool) -> Markup {
    let own = |error: &String| error.strip_prefix("question.").unwrap_or(error).to_owned();
    let errors: Vec<String> = failure.errors.iter().map(own).collect();
    let (mut found, others) = at_fields(&errors, SHOWN_AT);
    found.retain(|fault| !is_shown(&fault.field));
    html! {
        @if failure.errors.is_empty() { (view::alert(&failure.text())) }
        @if !found.is_empty() || !others.is_empty() {
            div class="alert" role="alert" {
                p { "The question is not right:" }
                (view::faults(&found))
                @if !others.is_empty() { ul { @for error in &others { li { (error) } } } }
            }
        }
    }
}

/// The form of a question.
pub(super) fn form(asked: &Address, known: &Known, fields: &Markup) -> Markup {
    html! {
        form class="card" method="get" action=(ENTRY.path) autocomplete="off" {
            (view::hidden("tab", asked.kind.name()))
            @if !asked.insight.is_empty() { (view::hidden("insight", &asked.insight)) }
            (fields)
            (filter_rows(asked))
            button class="button primary" type="submit" { "Show" }
            (known.lists())
        }
    }
}

/// One field for each event, and one more while there may be more.
pub(super) fn events(labels: &[&str], more: &str, events_max: usize, asked: &Address) -> Markup {
    let rows = (asked.events.len() + 1).clamp(labels.len().max(1), events_max);
    html! {
        div class="filters" {
            @for index in 0..rows {
                @let id = format!("event-{index}");
                div class="field" {
                    label for=(id) { (labels.get(index).copied().unwrap_or(more)) }
                    input id=(id) name="event" type="text" list="known-events" autocomplete="off"
                        value=(asked.events.get(index).map(String::as_str).unwrap_or_default());
                }
            }
        }
    }
}

/// The range: so many days until now, or two dates.
pub(super) fn range(asked: &Address) -> Markup {
    let chosen = if asked.last.is_empty() { "30d" } else { &asked.last };
    let mut ranges: Vec<Choice<'_>> =
        RANGES.iter().map(|(value, label)| Choice { value, label }).collect();
    if !ranges.iter().any(|range| range.value == chosen) {
        ranges.push(Choice { value: chosen, label: chosen });
    }
    html! {
        (view::select("last", "Range", chosen, &ranges))
        (view::field(&Field::text("from", "From", &asked.from).of(Kind::Date)
            .hint("With a date here the range is not used")))
        (view::field(&Field::text("to", "To", &asked.to).of(Kind::Date)))
    }
}

/// A field for a property, with the known ones offered.
pub(super) fn property(name: &str, label: &str, value: &str, hint: &str) -> Markup {
    html! {
        div class="field" {
            label for=(name) { (label) }
            input id=(name) name=(name) type="text" list="known-properties" autocomplete="off"
                value=(value) aria-describedby={ (name) "-hint" };
            p class="hint" id={ (name) "-hint" } { (hint) }
        }
    }
}

pub(super) fn breakdown(asked: &Address) -> Markup {
    property(
        "breakdown",
        "Break down by",
        &asked.breakdown,
        "A property, or profile:NAME for an attribute of the profile",
    )
}

fn filter_rows(asked: &Address) -> Markup {
    let mut rows = asked.filter_rows();
    let is_open = !rows.is_empty();
    rows.push(super::address::FilterRow::default());
    html! {
        details open[is_open] class="field" {
            summary { "Filters" }
            @for (index, row) in rows.iter().enumerate() {
                div class="filters" {
                    @let (property, operator, value) =
                        (format!("fp-{index}"), format!("fo-{index}"), format!("fv-{index}"));
                    div class="field" {
                        label for=(property) { "Property" }
                        input id=(property) name="fp" type="text" list="known-properties"
                            autocomplete="off" value=(row.property);
                    }
                    div class="field" {
                        label for=(operator) { "Operator" }
                        select id=(operator) name="fo" {
                            @if !row.operator.is_empty() && !OPERATORS.contains(&row.operator.as_str()) {
                                option value=(row.operator) selected { (row.operator.replace('_', " ")) }
                            }
                            @for name in OPERATORS {
                                option value=(name) selected[name == row.operator] { (name.replace('_', " ")) }
                            }
                        }
                    }
                    div class="field" {
                        label for=(value) { "Value" }
                        input id=(value) name="fv" type="text" autocomplete="off" value=(row.value);
                    }
                }
            }
            p class="hint" { "Numbers, true, false and [lists] are read as such; \"12\" is a text." }
        }
    }
}

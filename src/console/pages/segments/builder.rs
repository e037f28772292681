//! The form of a segment. Every button works without scripts; with them only the form is replaced.

use maud::{Markup, html};

use super::{
    COUNT,
    draft::{Draft, Group, Rows, Rules},
    names::{self, Names},
    row::{KINDS, Row},
};
use crate::{
    failure::Failure,
    view::{self, Choice, Field, Kind},
    visitor::Visitor,
};

/// Fields of the form that show their own faults.
const FIELDS: &[&str] = &["name", "description", "targeting"];

/// The form with all that it shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Builder<'b> {
    pub(super) visitor: &'b Visitor,
    pub(super) draft: &'b Draft,
    pub(super) names: &'b Names,
    /// Where the form is sent.
    pub(super) action: &'b str,
    pub(super) failure: Option<&'b Failure>,
    /// The number of people, and some of them.
    pub(super) count: &'b Markup,
}

impl Builder<'_> {
    pub(super) fn form(&self) -> Markup {
        let fault = |name: &str| self.failure.and_then(|failure| failure.at(name));
        let (name, description) = (fault("name"), fault("description"));
        let draft = self.draft;
        html! {
            form id="segment-form" method="post" action=(self.action) data-keep="segment-form"
                data-typed[self.failure.is_some()] {
                (self.visitor.csrf_field())
                // The button that the Enter key presses.
                button class="unseen" type="submit" name="do" value="save" tabindex="-1" { "Save" }
                @if let Some(rest) = self.failure.and_then(|failure| failure.elsewhere(FIELDS)) {
                    (view::alert(&rest))
                }
                (view::field(&Field::text("name", "Name", &draft.name).required().fault(name.as_deref())))
                (view::field(&Field::text("description", "Description", &draft.description)
                    .fault(description.as_deref())))
                @match &draft.rules {
                    Rules::Rows(rows) => { (self.names.offers()) (self.rows(rows)) },
                    Rules::Json(json) => (self.json(json)),
                }
                div id="segment-count" hx-post=(COUNT) hx-trigger="change from:#segment-form delay:400ms"
                    hx-include="#segment-form" hx-swap="innerHTML" { (self.count) }
                div class="actions" {
                    button class="button primary" type="submit" name="do" value="save" { "Save" }
                    (self.button("refresh", "Count now"))
                    @match &draft.rules {
                        Rules::Rows(_) => (self.button("to-json", "Advanced: as JSON")),
                        Rules::Json(_) => (self.button("to-rows", "As rows")),
                    }
                }
            }
        }
    }

    /// A button that changes the form.
    fn button(&self, does: &str, label: &str) -> Markup {
        html! {
            button class="button" type="submit" formnovalidate name="do" value=(does)
                hx-post=(self.action) hx-target="#segment-form" hx-select="#segment-form"
                hx-swap="outerHTML" { (label) }
        }
    }

    fn json(&self, json: &str) -> Markup {
        let errors = self.failure.map(|failure| failure.errors.as_slice()).unwrap_or_default();
        let own: Vec<&str> = errors
            .iter()
            .filter_map(|error| error.strip_prefix("targeting"))
            .map(|rest| rest.trim_start_matches(['.', ' ']))
            .collect();
        let fault = (!own.is_empty()).then(|| own.join("; "));
        view::field(
            &Field::text("targeting", "Targeting", json)
                .of(Kind::Lines(16))
                .hint("As in the API: filterGroups, filterOperator, excludeFilterGroups, userIds")
                .fault(fault.as_deref()),
        )
    }

    fn rows(&self, rows: &Rows) -> Markup {
        let joins = [
            Choice { value: "AND", label: "All groups match" },
            Choice { value: "OR", label: "Any group matches" },
        ];
        html! {
            @if rows.groups.is_empty() { p class="quiet" { "Without a filter: everyone." } }
            @if rows.groups.len() > 1 {
                (view::select("join", "People of whom", if rows.is_any { "OR" } else { "AND" }, &joins))
            } @else if rows.is_any {
                (view::hidden("join", "OR"))
            }
            @for (index, group) in rows.groups.iter().enumerate() { (self.group(rows, index, group)) }
            p { (self.button("add-group", "Add a group")) }
        }
    }

    fn group(&self, rows: &Rows, index: usize, group: &Group) -> Markup {
        let joins = [
            Choice { value: "AND", label: "All filters" },
            Choice { value: "OR", label: "Any filter" },
        ];
        let kinds = [
            Choice { value: "include", label: "Include" },
            Choice { value: "exclude", label: "Leave out" },
        ];
        let kind = if group.is_excluded { "exclude" } else { "include" };
        let join = if group.is_any { "OR" } else { "AND" };
        let own_fault = self.own_fault(&rows.api_path(index));
        let content = html! {
            div class="filters" {
                (view::select(&format!("g{index}.kind"), "People", kind, &kinds))
                (view::select(&format!("g{index}.join"), "Who match", join, &joins))
            }
            @if let Some(fault) = own_fault { p class="fault" { (fault) } }
            @for (at, row) in group.rows.iter().enumerate() {
                (self.row(RowPlace { rows, group: index, row: at }, row))
            }
            p { (self.button(&format!("add-row {index}"), "Add a filter")) }
        };
        view::card(&format!("Group {}", index + 1), &content)
    }

    /// A fault of a group that is not of one of its filters.
    fn own_fault(&self, path: &str) -> Option<String> {
        let errors = &self.failure?.errors;
        errors.iter().find_map(|error| {
            let rest = error.strip_prefix(path)?;
            let is_of_row = rest.starts_with(".filters[");
            (!is_of_row).then(|| rest.trim_start_matches(['.', ' ']).to_owned())
        })
    }

    fn row(&self, place: RowPlace<'_>, row: &Row) -> Markup {
        let name = |field: &str| format!("g{}.r{}.{field}", place.group, place.row);
        let kinds = KINDS.map(|(value, label)| Choice { value, label });
        let labels: Vec<String> =
            row.operators().iter().map(|operator| operator.replace('_', " ")).collect();
        let operators: Vec<Choice<'_>> = row
            .operators()
            .iter()
            .zip(&labels)
            .map(|(value, label)| Choice { value, label })
            .collect();
        let fault = Faults::of(self.failure, &place);
        html! {
            div class="filters" role="group" aria-label={ "Filter " (place.row + 1) " of group " (place.group + 1) } {
                div hx-post=(self.action) hx-trigger="change" hx-include="#segment-form"
                    hx-target="#segment-form" hx-select="#segment-form" hx-swap="outerHTML" {
                    (view::select(&name("type"), "Type", &row.kind, &kinds))
                }
                (self.subject(&name("field"), row, fault.field.as_deref()))
                (view::select(&name("operator"), "Condition", &row.operator, &operators))
                (operand(row, &name, self.names, fault.value.as_deref()))
                (self.button(&format!("remove-row {} {}", place.group, place.row), "Remove"))
            }
            @if let Some(other) = fault.other { p class="fault" { (other) } }
        }
    }

    /// What a filter is about.
    fn subject(&self, name: &str, row: &Row, fault: Option<&str>) -> Markup {
        let text = |label, hint, offers| {
            let field = Field::text(name, label, &row.field).hint(hint);
            view::field(&field.offers(offers).fault(fault))
        };
        let choose = |label, choices: &[Choice<'_>]| {
            html! {
                div {
                    (view::select(name, label, &row.field, choices))
                    @if let Some(fault) = fault { p class="fault" { (fault) } }
                }
            }
        };
        let channels = ["email", "sms", "whatsapp", "push", "viber"];
        match row.kind.as_str() {
            "profile" => choose(
                "Field",
                &view::choices(&["email", "phone", "externalId", "createdAt", "updatedAt"]),
            ),
            "event" => {
                text("Event", "Its name, such as Order Completed", self.names.events.offered())
            }
            "segment" => choose("Segment", &names::choices(&self.names.segments, &row.field)),
            "list" => match &self.names.lists {
                Some(lists) => choose("List", &names::choices(lists, &row.field)),
                None => text("List", "Its id; names need the scope settings:read", None),
            },
            "channel" => choose("Channel", &view::choices(&channels)),
            "engagement" => {
                let any = Choice { value: "", label: "Any channel" };
                let mut choices = vec![any];
                choices.extend(view::choices(&channels));
                choose("Channel", &choices)
            }
            _ => text("Attribute", "Its name; dots lead into it", None),
        }
    }
}

/// What a filter compares with.
fn operand(row: &Row, name: &dyn Fn(&str) -> String, names: &Names, fault: Option<&str>) -> Markup {
    let days = || {
        let name = name("days");
        view::field(
            &Field::text(&name, "In the last days", &row.days).of(Kind::Number).hint("Empty: ever"),
        )
    };
    let offering = |label, hint, offers| {
        let name = name("value");
        let field = Field::text(&name, label, &row.value).hint(hint);
        view::field(&field.offers(offers).fault(fault))
    };
    let value = |label, hint| offering(label, hint, None);
    let below = html! { @if let Some(fault) = fault { p class="fault" { (fault) } } };
    match (row.kind.as_str(), row.operator.as_str()) {
        ("segment" | "list", _) => below,
        ("event", _) => {
            let operators = [
                Choice { value: "gte", label: "at least" },
                Choice { value: "lte", label: "at most" },
                Choice { value: "equals", label: "exactly" },
                Choice { value: "gt", label: "more than" },
                Choice { value: "lt", label: "fewer than" },
            ];
            let chosen = if row.times_operator.is_empty() { "gte" } else { &row.times_operator };
            let times = name("times");
            html! {
                (view::select(&name("times_operator"), "How often", chosen, &operators))
                (view::field(&Field::text(&times, "Times", &row.times).of(Kind::Number).hint("Empty: once")))
                (days())
                (below)
            }
        }
        ("engagement", _) => html! {
            (offering("Campaign id", "Empty: any campaign", names.campaigns.offered()))
            (days())
        },
        ("channel", _) => value("Status", "optedIn, subscribed or unsubscribed"),
        (_, "in" | "not_in") => value("Values", "Between commas"),
        (_, "between") => value("From, to", "Two numbers or dates"),
        (_, "within_last" | "not_within_last") => value("Time", "Days, or such as 12 hours"),
        ("attribute", "equals" | "not_equals" | "contains" | "not_contains") => {
            value("Value", "A number in \"quotation marks\" is a text")
        }
        // Kept in the form, so that it is there again with another condition.
        _ => value("Value", "None for exists, is true and is false"),
    }
}

/// Where a row stands.
#[derive(Clone, Copy)]
struct RowPlace<'p> {
    rows: &'p Rows,
    group: usize,
    row: usize,
}

/// The faults of a row, each without its path.
#[derive(Default)]
struct Faults {
    field: Option<String>,
    value: Option<String>,
    other: Option<String>,
}

impl Faults {
    fn of(failure: Option<&Failure>, place: &RowPlace<'_>) -> Self {
        let path = format!("{}.filters[{}]", place.rows.api_path(place.group), place.row);
        let mut faults = Self::default();
        let errors = failure.map(|failure| failure.errors.as_slice()).unwrap_or_default();
        for rest in errors.iter().filter_map(|error| error.strip_prefix(&path)) {
            let inner = rest.trim_start_matches(['.', ' ']);
            let (slot, text) = match (inner.strip_prefix("field "), inner.strip_prefix("value")) {
                (Some(text), _) => (&mut faults.field, text),
                (None, Some(text)) => (&mut faults.value, text.trim_start_matches(['.', ' '])),
                (None, None) => (&mut faults.other, inner),
            };
            slot.get_or_insert_with(|| text.to_owned());
        }
        faults
    }
}

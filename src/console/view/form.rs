//! Fields of forms, each with its label, its hint and its fault.

use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::assets;

/// How a field is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Search,
    Number,
    Date,
    Email,
    /// One that browsers fill in.
    Password,
    /// One that browsers may suggest and remember.
    NewPassword,
    /// Several lines; so many are shown.
    Lines(u32),
    /// Lines of code, in an editor where scripts run. See [`code_editor`].
    Code {
        /// Lines shown without scripts.
        rows: u32,
        /// The language, as the editor names it.
        mode: &'static str,
    },
}

/// A field of a form. Its id is its name.
#[derive(Debug, Clone, Copy)]
pub struct Field<'f> {
    pub name: &'f str,
    pub label: &'f str,
    pub kind: Kind,
    pub value: &'f str,
    pub hint: Option<&'f str>,
    /// Why the value was refused, in the API's words.
    pub fault: Option<&'f str>,
    /// The id of a list of values that are offered while something is typed. See [`offers`].
    pub offers: Option<&'f str>,
    pub is_required: bool,
}

impl<'f> Field<'f> {
    /// A field for a line of text.
    pub const fn text(name: &'f str, label: &'f str, value: &'f str) -> Self {
        let kind = Kind::Text;
        Self { name, label, kind, value, hint: None, fault: None, offers: None, is_required: false }
    }

    #[must_use]
    pub const fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    #[must_use]
    pub const fn hint(self, hint: &'f str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    #[must_use]
    pub const fn fault(self, fault: Option<&'f str>) -> Self {
        Self { fault, ..self }
    }

    #[must_use]
    pub const fn offers(self, list: Option<&'f str>) -> Self {
        Self { offers: list, ..self }
    }

    #[must_use]
    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// The ids of hint and fault, for screen readers.
    fn described_by(&self) -> Option<String> {
        let hint = self.hint.map(|_| format!("{}-hint", self.name));
        let fault = self.fault.map(|_| format!("{}-fault", self.name));
        let ids: Vec<String> = hint.into_iter().chain(fault).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }
}

/// A field with its label, hint and fault.
pub fn field(field: &Field<'_>) -> Markup {
    let described_by = field.described_by();
    let invalid = field.fault.map(|_| "true");
    let kind = match field.kind {
        Kind::Text | Kind::Lines(_) | Kind::Code { .. } => "text",
        Kind::Search => "search",
        Kind::Number => "number",
        Kind::Date => "date",
        Kind::Email => "email",
        Kind::Password | Kind::NewPassword => "password",
    };
    let autocomplete = match field.kind {
        Kind::Password => "current-password",
        Kind::NewPassword => "new-password",
        Kind::Email => "username",
        _ => "off",
    };
    let lines = match field.kind {
        Kind::Lines(rows) => Some((rows, None)),
        Kind::Code { rows, mode } => Some((rows, Some(mode))),
        _ => None,
    };
    html! {
        div class="field" {
            label for=(field.name) { (field.label) }
            @if let Some((rows, mode)) = lines {
                textarea id=(field.name) name=(field.name) rows=(rows) data-code=[mode] required[field.is_required]
                    aria-describedby=[described_by] aria-invalid=[invalid] { (field.value) }
            } @else {
                input id=(field.name) name=(field.name) type=(kind) value=(field.value)
                    required[field.is_required] autocomplete=(autocomplete) list=[field.offers]
                    step=[(field.kind == Kind::Number).then_some("any")]
                    aria-describedby=[described_by] aria-invalid=[invalid];
            }
            (hint_and_fault(field.name, field.hint, field.fault))
        }
    }
}

/// What the fields of code on a page need, once a page.
pub fn code_editor() -> Markup {
    html! {
        link rel="stylesheet" href=(assets::url("codemirror.css"));
        script defer src=(assets::url("codemirror.js")) {}
        script type="module" src=(assets::url("editor.js")) {}
    }
}

fn hint_and_fault(name: &str, hint: Option<&str>, fault: Option<&str>) -> Markup {
    html! {
        @if let Some(hint) = hint { p class="hint" id={ (name) "-hint" } { (hint) } }
        @if let Some(fault) = fault { p class="fault" id={ (name) "-fault" } { (fault) } }
    }
}

/// A value that can be chosen.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'c> {
    pub value: &'c str,
    pub label: &'c str,
}

/// Choices whose labels are their values.
pub fn choices<'c>(values: &[&'c str]) -> Vec<Choice<'c>> {
    values.iter().map(|value| Choice { value, label: value }).collect()
}

/// The values that a field offers; an empty label is that of the value.
pub fn offers(list: &str, values: &[Choice<'_>]) -> Markup {
    html! {
        datalist id=(list) {
            @for it in values {
                option value=(it.value) label=[Some(it.label).filter(|label| !label.is_empty())] {}
            }
        }
    }
}

/// A labelled list to choose one value from.
pub fn select(name: &str, label: &str, chosen: &str, choices: &[Choice<'_>]) -> Markup {
    select_of(&Field::text(name, label, chosen), choices)
}

/// Likewise with a hint and a fault.
pub fn select_of(field: &Field<'_>, choices: &[Choice<'_>]) -> Markup {
    let invalid = field.fault.map(|_| "true");
    html! {
        div class="field" {
            label for=(field.name) { (field.label) }
            select id=(field.name) name=(field.name) required[field.is_required] aria-describedby=[field.described_by()]
                aria-invalid=[invalid] {
                @for choice in choices {
                    option value=(choice.value) selected[choice.value == field.value] { (choice.label) }
                }
            }
            (hint_and_fault(field.name, field.hint, field.fault))
        }
    }
}

/// A fault of a form that was sent: the id and the label of its field, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub field: String,
    pub label: String,
    pub problem: String,
}

/// Faults with links to their fields.
pub fn faults(faults: &[Fault]) -> Markup {
    html! {
        ul {
            @for fault in faults {
                li {
                    a href={ "#" (utf8_percent_encode(&fault.field, NON_ALPHANUMERIC)) } { (fault.label) }
                    ": " (fault.problem)
                }
            }
        }
    }
}

/// The faults of a form above it, with links to their fields. Scripts put the focus here.
pub fn fault_summary(found: &[Fault]) -> Markup {
    let count = match found.len() {
        1 => "One field is not right".to_owned(),
        count => format!("{count} fields are not right"),
    };
    html! {
        div class="alert fault-summary" role="alert" tabindex="-1" {
            p { (count) ": nothing was saved." }
            (faults(found))
        }
    }
}

/// A box to tick.
pub fn check(name: &str, value: &str, label: &str, is_checked: bool) -> Markup {
    let id = format!("{name}-{value}");
    html! {
        div class="check" {
            input id=(id) name=(name) type="checkbox" value=(value) checked[is_checked];
            label for=(id) { (label) }
        }
    }
}

/// A value that is sent along and not shown.
pub fn hidden(name: &str, value: &str) -> Markup {
    html! { input type="hidden" name=(name) value=(value); }
}

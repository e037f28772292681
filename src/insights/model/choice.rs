//! Which events a part of a question is about.

use analytics::insights::EventChoice;
use kernel::{
    Timestamp,
    fields::{Fields, FromFields},
};

use super::{FILTERS_IN_ALL_MAX, FILTERS_MAX, TEXT_CHARS_MAX, filter::PropertyFilter};

/// Events of a name, narrowed by filters that all must hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Their name; any where absent.
    pub event_name: Option<String>,
    filters: Vec<PropertyFilter>,
    /// What the caller calls it.
    pub label: Option<String>,
}

impl Choice {
    /// Reads a choice whose event must be named.
    pub(super) fn named(body: &mut Fields<'_>) -> Self {
        let event_name = body.required("eventName").text(1..=TEXT_CHARS_MAX);
        Self { event_name: Some(event_name), ..Self::rest(body) }
    }

    /// Reads a choice of any event where none is named.
    pub(super) fn any(body: &mut Fields<'_>) -> Self {
        let event_name = body
            .optional("eventName")
            .about("The event; any where absent.")
            .text(1..=TEXT_CHARS_MAX);
        Self { event_name, ..Self::rest(body) }
    }

    fn rest(body: &mut Fields<'_>) -> Self {
        Self {
            event_name: None,
            filters: body
                .optional("filters")
                .about("Rules for properties, which all must hold.")
                .objects(0..=FILTERS_MAX)
                .unwrap_or_default(),
            label: body
                .optional("label")
                .about("Name in the answer; default `eventName`.")
                .text(1..=TEXT_CHARS_MAX),
        }
    }

    /// The label, or what is as good.
    pub fn shown(&self) -> String {
        let name = self.label.as_ref().or(self.event_name.as_ref());
        name.cloned().unwrap_or_else(|| "any event".to_owned())
    }

    /// The choice as ClickHouse is asked, at a moment.
    pub fn at(&self, now: Timestamp) -> EventChoice {
        EventChoice {
            event_name: self.event_name.clone(),
            tests: self.filters.iter().map(|filter| filter.test(now)).collect(),
        }
    }
}

impl FromFields for Choice {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self::named(body)
    }
}

/// Refuses a question with more filters than one statement may have.
pub(super) fn refuse_many_filters<'c>(
    body: &mut Fields<'_>,
    choices: impl Iterator<Item = &'c Choice>,
) {
    let filters: usize = choices.map(|choice| choice.filters.len()).sum();
    if filters > FILTERS_IN_ALL_MAX {
        body.refuse_body(format!(
            "must have at most {FILTERS_IN_ALL_MAX} filters in all, received {filters}"
        ));
    }
}

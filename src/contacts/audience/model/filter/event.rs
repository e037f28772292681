//! Filters on events.

use analytics::events::{FilterError, PropertyFilter};
use kernel::fields::{Fields, FromFields, word_for};
use serde_json::{Map, Value, json};

use super::FilterBody;
use crate::model::{EVENT_COUNT_MAX, FIELD_CHARS_MAX, WITHIN_DAYS_MAX, word};

/// A condition on the number of events, `{op, n}`. Without any event the number is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountTest {
    op: CountOperator,
    n: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CountOperator {
    Equals,
    Gt,
    Gte,
    Lt,
    Lte,
}

const COUNT_OPERATORS: &[(&str, CountOperator)] = &[
    ("equals", CountOperator::Equals),
    ("gt", CountOperator::Gt),
    ("gte", CountOperator::Gte),
    ("lt", CountOperator::Lt),
    ("lte", CountOperator::Lte),
];

impl CountTest {
    pub const ONCE: Self = Self { op: CountOperator::Gte, n: 1 };

    /// The least and the greatest number that passes, both included; `None` where no number does.
    pub fn range(self) -> Option<CountRange> {
        let n = u64::from(self.n);
        let (least, most) = match self.op {
            CountOperator::Equals => (n, n),
            CountOperator::Gt => (n + 1, u64::MAX),
            CountOperator::Gte => (n, u64::MAX),
            CountOperator::Lt => (0, n.checked_sub(1)?),
            CountOperator::Lte => (0, n),
        };
        Some(CountRange { least, most })
    }
}

/// A range of numbers of events, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountRange {
    pub least: u64,
    pub most: u64,
}

impl CountRange {
    /// One event or more.
    pub const ANY: Self = Self { least: 1, most: u64::MAX };

    pub const fn contains(self, count: u64) -> bool {
        self.least <= count && count <= self.most
    }
}

impl FromFields for CountTest {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let op = word::read(body.required("op"), COUNT_OPERATORS);
        let n = body.required("n").integer(0..=i64::from(EVENT_COUNT_MAX));
        Self { op: op.unwrap_or(CountOperator::Gte), n: u32::try_from(n).unwrap_or(0) }
    }
}

/// Profiles that performed an event, or the exact complement.
#[derive(Debug, Clone, PartialEq)]
pub struct EventFilter {
    pub name: String,
    pub not: bool,
    /// The number of events; at least one where absent.
    pub count: Option<CountTest>,
    /// Only events in this number of days before now.
    pub within_days: Option<u32>,
    /// Values that properties must equal, as in `eventProperties`.
    pub properties: Option<Map<String, Value>>,
}

const OPERATORS: &[(&str, bool)] = &[("performed", false), ("not_performed", true)];

/// The fields beside the operator: `{count, withinDays, properties}`.
#[derive(Default)]
struct Details {
    count: Option<CountTest>,
    within_days: Option<u32>,
    properties: Option<Map<String, Value>>,
}

impl FromFields for Details {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let properties = body.optional("properties").json_object();
        if let Some(given) = &properties
            && let Err(error) = PropertyFilter::from_json(given)
        {
            match error {
                FilterError::TooMany | FilterError::NoName => {
                    body.refuse("properties", error.to_string());
                }
                // These texts begin with the property's path.
                _ => body.refuse(&format!("properties.{}", path_of(&error)), problem_of(&error)),
            }
        }
        Self { count: body.optional("count").object(), within_days: within_days(body), properties }
    }
}

fn path_of(error: &FilterError) -> String {
    match error {
        FilterError::TooManyValues(path)
        | FilterError::TooDeep(path)
        | FilterError::NotPlain(path) => path.chars().take(FIELD_CHARS_MAX).collect(),
        FilterError::TooMany | FilterError::NoName => String::new(),
    }
}

fn problem_of(error: &FilterError) -> String {
    let text = error.to_string();
    text.find(" must ").and_then(|at| text.get(at + 1..)).unwrap_or(&text).to_owned()
}

pub(super) fn within_days(body: &mut Fields<'_>) -> Option<u32> {
    let days = body.optional("withinDays").integer(1..=i64::from(WITHIN_DAYS_MAX));
    days.and_then(|days| u32::try_from(days).ok())
}

impl EventFilter {
    pub(super) fn read(body: &mut Fields<'_>) -> Self {
        let name = body.required("field").text(1..=FIELD_CHARS_MAX);
        let not = word::read(body.required("operator"), OPERATORS).unwrap_or(false);
        let details: Details = body.optional("value").object().unwrap_or_default();
        let Details { count, within_days, properties } = details;
        Self { name, not, count, within_days, properties }
    }

    /// The condition on the number of events.
    pub fn count(&self) -> CountTest {
        self.count.unwrap_or(CountTest::ONCE)
    }

    pub(super) fn body(&self) -> FilterBody {
        let mut value = Map::new();
        if let Some(CountTest { op, n }) = self.count {
            value.insert("count".into(), json!({"op": word_for(COUNT_OPERATORS, op), "n": n}));
        }
        if let Some(days) = self.within_days {
            value.insert("withinDays".into(), json!(days));
        }
        if let Some(properties) = &self.properties {
            value.insert("properties".into(), Value::Object(properties.clone()));
        }
        FilterBody {
            kind: "event",
            field: Some(self.name.clone()),
            operator: word_for(OPERATORS, self.not),
            value: (!value.is_empty()).then_some(Value::Object(value)),
        }
    }
}

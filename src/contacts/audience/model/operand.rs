//! Operands of comparisons. Their type matters: the number 1 is not the text "1".

use std::cmp::Ordering;

use kernel::{DayEdge, Timestamp, fields::word_for};
use serde_json::{Number, Value, json};

use super::{TEXT_CHARS_MAX, word};

/// Greatest number of units in a span.
const SPAN_AMOUNT_MAX: u64 = 1_000_000;

#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    Text(String),
    Number(Number),
    Bool(bool),
}

impl Scalar {
    /// Reads a plain JSON value.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => self::text(text, 0).map(Self::Text),
            Value::Number(number) => Ok(Self::Number(number.clone())),
            Value::Bool(value) => Ok(Self::Bool(*value)),
            Value::Null => Err("is required".to_owned()),
            Value::Array(_) | Value::Object(_) => {
                Err("must be a string, a number or a boolean".to_owned())
            }
        }
    }

    /// The value as JSON.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Bool(value) => Value::Bool(*value),
        }
    }

    /// Whether a JSON value equals this one. Numbers are compared as numbers: 1 equals 1.0.
    pub fn is(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Text(own), Value::String(text)) => own == text,
            (Self::Number(own), Value::Number(number)) => {
                compare(number, own) == Some(Ordering::Equal)
            }
            (Self::Bool(own), Value::Bool(value)) => own == value,
            _ => false,
        }
    }
}

/// A text operand of at least this number of characters.
pub(super) fn text(text: &str, chars_min: usize) -> Result<String, String> {
    if text.contains('\0') {
        return Err("must not contain NUL characters".to_owned());
    }
    let chars = text.chars().count();
    if (chars_min..=TEXT_CHARS_MAX).contains(&chars) {
        return Ok(text.to_owned());
    }
    Err(match chars_min {
        0 => format!("must be at most {TEXT_CHARS_MAX} characters"),
        _ => format!("must be between {chars_min} and {TEXT_CHARS_MAX} characters"),
    })
}

/// Compares two numbers: integers exactly, others as doubles.
pub(super) fn compare(one: &Number, other: &Number) -> Option<Ordering> {
    let whole = |number: &Number| {
        number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
    };
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

/// An ISO 8601 time as it was sent. A date alone is its whole UTC day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    text: String,
    start: Timestamp,
    end: Timestamp,
}

impl Moment {
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let wrong = || "must be an ISO 8601 date or date-time".to_owned();
        let text = value.as_str().ok_or_else(wrong)?;
        let edge = |edge| Timestamp::parse_at(text, edge).map_err(|_| wrong());
        Ok(Self { text: text.to_owned(), start: edge(DayEdge::Start)?, end: edge(DayEdge::End)? })
    }

    pub const fn start(&self) -> Timestamp {
        self.start
    }

    /// Its last millisecond; equal to its first unless it is a date alone.
    pub const fn end(&self) -> Timestamp {
        self.end
    }
}

/// A bound of a range.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    Number(Number),
    Moment(Moment),
}

impl Bound {
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Number(number) => Ok(Self::Number(number.clone())),
            Value::String(_) => Moment::read(value)
                .map(Self::Moment)
                .map_err(|_| "must be a number or an ISO 8601 date".to_owned()),
            Value::Null => Err("is required".to_owned()),
            _ => Err("must be a number or an ISO 8601 date".to_owned()),
        }
    }

    /// Two bounds of the same type, in order.
    pub(super) fn read_pair(value: &Value) -> Result<(Self, Self), String> {
        let Some([from, to]) = value.as_array().map(Vec::as_slice) else {
            return Err("must be a list of two numbers or two ISO 8601 dates".to_owned());
        };
        let (from, to) = (Self::read(from)?, Self::read(to)?);
        let in_order = match (&from, &to) {
            (Self::Number(from), Self::Number(to)) => {
                compare(from, to).is_some_and(Ordering::is_le)
            }
            (Self::Moment(from), Self::Moment(to)) => from.start <= to.end,
            _ => return Err("must be two numbers or two dates".to_owned()),
        };
        if in_order { Ok((from, to)) } else { Err("must not end before it begins".to_owned()) }
    }

    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Number(number) => Value::Number(number.clone()),
            Self::Moment(moment) => Value::String(moment.text.clone()),
        }
    }
}

/// A unit of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Minutes,
    Hours,
    Days,
    Weeks,
}

const UNITS: &[(&str, Unit)] = &[
    ("minutes", Unit::Minutes),
    ("hours", Unit::Hours),
    ("days", Unit::Days),
    ("weeks", Unit::Weeks),
];

/// A span that ends now: `{"amount": 2, "unit": "weeks"}`, or a number of days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    amount: i64,
    /// `None` where a bare number of days was sent.
    unit: Option<Unit>,
}

impl Span {
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let form = || {
            format!(
                "must be a number of days or {{amount, unit}}, the amount a whole number between 1 and \
                 {SPAN_AMOUNT_MAX}"
            )
        };
        let (amount, unit) = match value {
            Value::Number(_) => (value, None),
            Value::Object(span) => {
                let unit = span.get("unit").and_then(Value::as_str).ok_or_else(form)?;
                let unit = word::named(unit, UNITS).map_err(|wrong| format!("unit {wrong}"))?;
                (span.get("amount").ok_or_else(form)?, Some(unit))
            }
            Value::Null => return Err("is required".to_owned()),
            _ => return Err(form()),
        };
        let amount = amount.as_u64().filter(|amount| (1..=SPAN_AMOUNT_MAX).contains(amount));
        let amount = amount.and_then(|amount| i64::try_from(amount).ok()).ok_or_else(form)?;
        Ok(Self { amount, unit })
    }

    pub(super) fn to_json(&self) -> Value {
        match self.unit {
            None => json!(self.amount),
            Some(unit) => json!({"amount": self.amount, "unit": word_for(UNITS, unit)}),
        }
    }

    /// The time this span before `now`.
    pub fn before(&self, now: Timestamp) -> Timestamp {
        let minutes = match self.unit.unwrap_or(Unit::Days) {
            Unit::Minutes => 1,
            Unit::Hours => 60,
            Unit::Days => 60 * 24,
            Unit::Weeks => 60 * 24 * 7,
        };
        Timestamp::from_millis(now.millis().saturating_sub(self.amount * minutes * 60_000))
    }
}

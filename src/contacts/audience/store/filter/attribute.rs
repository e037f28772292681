//! Conditions on attributes, which are JSON of any type.

use kernel::{
    Timestamp,
    time::{DAY, millis},
};
use serde_json::{Number, Value};
use sqlx::types::Json;

use super::statement::{Statement, between, escaped};
use crate::model::{Bound, Comparison, Criterion, Join, Path, Scalar};

/// Longest path, in keys, of an attribute: attributes are not nested deeper.
const ATTRIBUTE_KEYS_MAX: usize = 5;

/// A bound of a number.
#[derive(Debug, Clone, Copy)]
struct NumberBound<'a> {
    by: Comparison,
    bound: &'a Number,
}

impl Statement<'_> {
    /// A criterion on an attribute, for each interpretation of its path.
    pub(super) fn attribute(&mut self, path: &Path, criterion: &Criterion) {
        let readings = path.readings();
        let readings = readings.iter().filter(|keys| keys.len() <= ATTRIBUTE_KEYS_MAX);
        for (place, keys) in readings.enumerate() {
            self.sql.push(between(place, Join::Or)).push("(");
            self.attribute_at(keys, criterion);
            self.sql.push(")");
        }
    }

    fn attribute_at(&mut self, keys: &[&str], criterion: &Criterion) {
        match criterion {
            Criterion::Equals { to, .. } => self.holds(keys, to.to_json()),
            Criterion::Contains { part, .. } => {
                self.holds(keys, Value::Array(vec![part.to_json()]));
                if let Scalar::Text(part) = part {
                    self.sql.push(" or ");
                    self.text_like(keys, format!("%{}%", escaped(part)));
                }
            }
            Criterion::StartsWith(text) => self.text_like(keys, format!("{}%", escaped(text))),
            Criterion::EndsWith(text) => self.text_like(keys, format!("%{}", escaped(text))),
            Criterion::In { values, .. } => self.one_of(keys, values),
            Criterion::Compare { to: Bound::Number(bound), by } => {
                self.number("attributes", keys, &[NumberBound { by: *by, bound }]);
            }
            Criterion::Between(Bound::Number(from), Bound::Number(to)) => {
                let from = NumberBound { by: Comparison::Gte, bound: from };
                let to = NumberBound { by: Comparison::Lte, bound: to };
                self.number("attributes", keys, &[from, to]);
            }
            Criterion::Exists { .. } => {
                self.value(keys, true);
                self.sql.push(" is not null");
            }
            Criterion::IsTrue => self.holds(keys, Value::Bool(true)),
            Criterion::IsFalse => self.holds(keys, Value::Bool(false)),
            Criterion::Compare { .. }
            | Criterion::Between(..)
            | Criterion::Before(_)
            | Criterion::After(_)
            | Criterion::WithinLast { .. } => {
                let (from, to) = criterion.moments(self.frame.now);
                self.moment(keys, from, to);
            }
        }
    }

    /// The attribute, as JSON or as text. Unlike `#>`, this never counts the elements of a list.
    fn value(&mut self, keys: &[&str], as_text: bool) {
        self.sql.push("(u.attributes");
        for (place, key) in keys.iter().enumerate() {
            let is_text = as_text && place + 1 == keys.len();
            self.sql.push(if is_text { " ->> " } else { " -> " }).push_bind((*key).to_owned());
        }
        self.sql.push(")");
    }

    /// The attribute equals this, or is a list that contains it. `@>` compares plain values by equality, numbers as
    /// numbers.
    fn holds(&mut self, keys: &[&str], value: Value) {
        let nest = |value, key: &&str| {
            Value::Object(std::iter::once(((*key).to_owned(), value)).collect())
        };
        let document = keys.iter().rev().fold(value, nest);
        self.sql.push("u.attributes @> ").push_bind(Json(document));
    }

    /// The attribute is one of these. Texts are compared as texts, which costs half.
    fn one_of(&mut self, keys: &[&str], values: &[Scalar]) {
        let texts: Option<Vec<String>> = values
            .iter()
            .map(|value| match value {
                Scalar::Text(text) => Some(text.clone()),
                _ => None,
            })
            .collect();
        self.value(keys, texts.is_some());
        self.sql.push(" = any(");
        match texts {
            None => {
                let values = values.iter().map(|value| Json(value.to_json()));
                self.sql.push_bind(values.collect::<Vec<Json<Value>>>()).push(")");
            }
            Some(texts) => {
                self.sql.push_bind(texts).push(") and jsonb_typeof(");
                self.value(keys, false);
                self.sql.push(") = 'string'");
            }
        }
    }

    /// The attribute is a text that matches this pattern.
    fn text_like(&mut self, keys: &[&str], pattern: String) {
        self.value(keys, true);
        self.sql.push(" like ").push_bind(pattern).push(" and jsonb_typeof(");
        self.value(keys, false);
        self.sql.push(") = 'string'");
    }

    /// A number that meets all of these bounds. In strict mode a list is not a number.
    fn number(&mut self, column: &str, keys: &[&str], bounds: &[NumberBound<'_>]) {
        // The escapes of a JSON string are valid in a string of a JSON path.
        let keys: Vec<String> =
            keys.iter().map(|key| Value::String((*key).to_owned()).to_string()).collect();
        let keys = keys.join(".");
        let tests: Vec<String> = bounds
            .iter()
            .map(|NumberBound { by, bound }| {
                let sign = match by {
                    Comparison::Gt => ">",
                    Comparison::Gte => ">=",
                    Comparison::Lt => "<",
                    Comparison::Lte => "<=",
                };
                format!("$.{keys} {sign} {bound}")
            })
            .collect();
        let path = format!("strict {}", tests.join(" && "));
        self.sql.push(format!("u.{column} @@ ")).push_bind(path).push("::jsonpath");
    }

    /// The attribute is a time between these, both included. Where all dates of a profile are in the usual forms,
    /// the column `dates` has them as numbers; otherwise the text is parsed.
    fn moment(&mut self, keys: &[&str], from: Option<i64>, to: Option<i64>) {
        self.sql.push("case when u.dates is not null then ");
        // At least one bound: each costs a lookup.
        let from_number = from.or(to.is_none().then_some(i64::MIN)).map(Number::from);
        let to_number = to.map(Number::from);
        let from_ms = from_number.as_ref().map(|bound| NumberBound { by: Comparison::Gte, bound });
        let to_ms = to_number.as_ref().map(|bound| NumberBound { by: Comparison::Lte, bound });
        let bounds: Vec<NumberBound<'_>> = from_ms.into_iter().chain(to_ms).collect();
        self.number("dates", keys, &bounds);
        self.sql.push(" else ");
        self.any_moment(keys, from, to);
        self.sql.push(" end");
    }

    /// A text that may be a date, and is then in a usual form, is between these. Such texts sort like their times,
    /// except a whole second without a fraction: `Z` sorts after every fraction of it.
    fn usual_text(&mut self, keys: &[&str], from: Option<i64>, to: Option<i64>) {
        let least = from.map(least_text).filter(|text| !text.is_empty());
        self.sql.push(" and ");
        self.text_beside(keys, " >= ", least.as_deref().unwrap_or("0"));
        if let Some((second, _)) = least.as_deref().and_then(|least| least.split_once('.')) {
            self.sql.push(" and ");
            self.text_beside(keys, " <> ", &format!("{second}Z"));
        }
        self.sql.push(" and ");
        match to.map(greatest_text).filter(|text| text != "~") {
            None => self.text_beside(keys, " < ", ":"),
            // There are none before the year 0.
            Some(greatest) if greatest.is_empty() => {
                self.sql.push("false");
            }
            Some(greatest) => {
                self.sql.push("(");
                self.text_beside(keys, " < ", &format!("{greatest}~"));
                self.sql.push(" or ");
                let second = greatest.split_once('.').map_or("", |(second, _)| second);
                self.text_beside(keys, " = ", &format!("{second}Z"));
                self.sql.push(")");
            }
        }
    }

    /// The attribute as a text, compared with another byte by byte.
    fn text_beside(&mut self, keys: &[&str], sign: &str, text: &str) {
        self.value(keys, true);
        self.sql.push(" collate \"C\"").push(sign).push_bind(text.to_owned());
    }

    /// The same for texts in any form. They begin with the date in their own zone, at most two days off, so
    /// comparing texts first avoids parsing most of them, and those in a usual form are not parsed at all.
    fn any_moment(&mut self, keys: &[&str], from: Option<i64>, to: Option<i64>) {
        let bounds =
            [(" >= ", from.map(|ms| day_text(ms, -2))), (" < ", to.map(|ms| day_text(ms, 2)))];
        for (sign, bound) in bounds {
            if let Some(bound) = bound {
                self.text_beside(keys, sign, &bound);
                self.sql.push(" and ");
            }
        }
        self.sql.push("case when iso_is_usual(");
        self.value(keys, true);
        self.sql.push(") then true");
        self.usual_text(keys, from, to);
        self.sql.push(" else iso_millis(");
        self.value(keys, true);
        self.sql.push(") between ").push_bind(from.unwrap_or(i64::MIN));
        self.sql.push(" and ").push_bind(to.unwrap_or(i64::MAX)).push(" end");
    }
}

/// The text, without its `Z`, that sorts first among the usual texts of this time and after all earlier ones: a
/// date alone at midnight, no fraction at a whole second.
fn least_text(ms: i64) -> String {
    let text = greatest_text(ms);
    let text = text.strip_suffix(".000").unwrap_or(&text);
    text.strip_suffix("T00:00:00").unwrap_or(text).to_owned()
}

/// The text of this time with its milliseconds, without its `Z`.
fn greatest_text(ms: i64) -> String {
    use chrono::Datelike as _;
    let at = Timestamp::from_millis(ms);
    match at.utc().year() {
        ..0 => String::new(),
        0..=9999 => at.to_string().trim_end_matches('Z').to_owned(),
        _ => "~".to_owned(),
    }
}

/// The date this number of days from a time, as ISO 8601 texts begin. A text that sorts before or after all
/// dates where no such text has that year.
fn day_text(ms: i64, days: i64) -> String {
    use chrono::Datelike as _;
    let day = Timestamp::from_millis(ms.saturating_add(days * millis(DAY))).utc();
    match day.year() {
        ..0 => String::new(),
        0..=9999 => format!("{:04}-{:02}-{:02}", day.year(), day.month(), day.day()),
        _ => "~".to_owned(),
    }
}

//! Reads one JSON value by one rule. Pure.

use std::{fmt::Display, ops::RangeInclusive};

use serde_json::{Map, Value};

use super::problem;
use crate::{DayEdge, Timestamp};

/// Largest whole number a double holds exactly; beyond it `5.0e300` would count as an integer.
const EXACT_INTEGER_MAX: f64 = 9_007_199_254_740_992.0;

/// The value, or the problem with it.
pub(super) type Read<T> = Result<T, String>;

/// A text with a length in characters.
pub fn text(text: &str, chars: &RangeInclusive<usize>) -> Read<String> {
    if text.contains('\0') {
        return Err(problem::NUL.to_owned());
    }
    // Bytes bound characters from above, so most texts need no counting.
    let count = if text.len() <= *chars.end() && text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    };
    if chars.contains(&count) {
        return Ok(text.to_owned());
    }
    Err(match (*chars.start(), *chars.end()) {
        (0, max) => format!("must be at most {max} characters"),
        (1, usize::MAX) => "must not be empty".to_owned(),
        (min, usize::MAX) => format!("must be at least {min} characters"),
        (min, max) => format!("must be between {min} and {max} characters"),
    })
}

/// A closed set of words, each with its value.
pub type Words<T> = [(&'static str, T)];

/// The value of one of the words.
pub fn word<T: Copy>(text: &str, words: &Words<T>) -> Read<T> {
    if let Some((_, value)) = words.iter().find(|(name, _)| *name == text) {
        return Ok(*value);
    }
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    Err(format!("must be one of: {}", names.join(", ")))
}

/// The word for a value; empty if no word has the value.
pub fn word_for<T: Copy + PartialEq>(words: &Words<T>, value: T) -> &'static str {
    words.iter().find(|(_, known)| *known == value).map_or("", |(word, _)| word)
}

pub(super) fn string(value: &Value) -> Read<&str> {
    value.as_str().ok_or_else(|| problem::STRING.to_owned())
}

pub(super) fn boolean(value: &Value) -> Read<bool> {
    value.as_bool().ok_or_else(|| problem::BOOLEAN.to_owned())
}

pub(super) fn integer(value: &Value, range: &RangeInclusive<i64>) -> Read<i64> {
    let whole = match value {
        Value::Number(number) if number.is_u64() => number.as_i64().or(Some(i64::MAX)),
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(exact)),
        _ => None,
    };
    within(whole.ok_or(problem::INTEGER)?, range)
}

/// `5.0` is an integer to JSON.
#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and within 2^53")]
fn exact(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= EXACT_INTEGER_MAX).then_some(number as i64)
}

pub(super) fn number(value: &Value, range: &RangeInclusive<f64>) -> Read<f64> {
    within(value.as_f64().ok_or(problem::NUMBER)?, range)
}

fn within<T: PartialOrd + Display>(number: T, range: &RangeInclusive<T>) -> Read<T> {
    if range.contains(&number) {
        return Ok(number);
    }
    Err(format!("must be between {} and {}", range.start(), range.end()))
}

pub(super) fn timestamp(value: &Value, edge: DayEdge) -> Read<Timestamp> {
    let text = value.as_str().unwrap_or_default();
    Timestamp::parse_at(text, edge).map_err(|wrong| wrong.to_string())
}

pub(super) fn object(value: &Value) -> Read<&Map<String, Value>> {
    value.as_object().ok_or_else(|| problem::OBJECT.to_owned())
}

/// A list with a length.
pub(super) fn list<'v>(value: &'v Value, len: &RangeInclusive<usize>) -> Read<&'v [Value]> {
    let list = value.as_array().ok_or_else(|| problem::ARRAY.to_owned())?;
    if len.contains(&list.len()) {
        return Ok(list);
    }
    Err(match (*len.start(), *len.end()) {
        (1, _) if list.is_empty() => "must not be empty".to_owned(),
        (0 | 1, max) => format!("must have at most {max} elements, received {}", list.len()),
        (min, max) => format!("must have between {min} and {max} elements"),
    })
}

/// Any JSON, with the NUL characters in its keys and strings refused.
pub(super) fn storable(value: &Value) -> Read<()> {
    let clean = match value {
        Value::String(text) => !text.contains('\0'),
        Value::Array(values) => return values.iter().try_for_each(storable),
        Value::Object(map) => {
            return map.iter().try_for_each(|(key, value)| storable_entry(key, value));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    };
    if clean { Ok(()) } else { Err(problem::NUL.to_owned()) }
}

fn storable_entry(key: &str, value: &Value) -> Read<()> {
    if key.contains('\0') { Err(problem::NUL.to_owned()) } else { storable(value) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn lengths_are_counted_in_characters() {
        assert_eq!(text("äöü", &(1..=3)).unwrap(), "äöü");
        assert_eq!(text("", &(0..=0)).unwrap(), "");
        assert_eq!(text("äöüß", &(1..=3)).unwrap_err(), "must be between 1 and 3 characters");
        assert_eq!(text("", &(1..=usize::MAX)).unwrap_err(), "must not be empty");
        assert_eq!(text("a", &(2..=usize::MAX)).unwrap_err(), "must be at least 2 characters");
        assert_eq!(text("abc", &(0..=2)).unwrap_err(), "must be at most 2 characters");
    }

    #[test]
    fn integers_are_whole_and_in_range() {
        let table = [
            (json!(5), Ok(5)),
            (json!(5.0), Ok(5)),
            (json!(-0.0), Ok(0)),
            (json!(5.5), Err("must be an integer")),
            (json!("5"), Err("must be an integer")),
            (json!(null), Err("must be an integer")),
            (json!(true), Err("must be an integer")),
            (json!(11), Err("must be between 0 and 10")),
            (json!(-1), Err("must be between 0 and 10")),
            (json!(u64::MAX), Err("must be between 0 and 10")),
            (json!(1e300), Err("must be an integer")),
        ];
        for (value, expected) in table {
            assert_eq!(integer(&value, &(0..=10)), expected.map_err(str::to_owned), "{value}");
        }
    }

    #[test]
    fn numbers_are_in_range() {
        assert_eq!(number(&json!(0.5), &(0.0..=1.0)), Ok(0.5));
        assert_eq!(number(&json!(1), &(0.0..=1.0)), Ok(1.0));
        assert_eq!(number(&json!(1.01), &(0.0..=1.0)).unwrap_err(), "must be between 0 and 1");
        assert_eq!(number(&json!("1"), &(0.0..=1.0)).unwrap_err(), "must be a number");
    }

    #[test]
    fn nul_is_found_wherever_it_hides() {
        for value in [
            json!("a\0"),
            json!(["a", {"b": "\0"}]),
            json!({"a\0": 1}),
            json!({"a": {"b": ["\0"]}}),
        ] {
            assert_eq!(storable(&value).unwrap_err(), problem::NUL, "{value}");
        }
        assert!(storable(&json!({"a": [1, null, true, "x"]})).is_ok());
    }

    proptest! {
        #[test]
        fn a_text_passes_exactly_when_its_characters_fit(sent in "\\PC{0,12}", min in 0_usize..6, more in 0_usize..6) {
            let chars = min..=min + more;
            prop_assert_eq!(text(&sent, &chars).is_ok(), chars.contains(&sent.chars().count()));
        }
    }
}

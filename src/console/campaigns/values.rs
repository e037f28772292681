//! Values of the API as texts of fields, and back.

use kernel::{Timestamp, zone::Zone};
use serde_json::{Map, Number, Value, json};

use super::fields::Input;

/// What of a form can be read, for the API.
#[derive(Debug, Default)]
pub(super) struct Readable {
    pub(super) fields: Map<String, Value>,
    /// The fields whose JSON cannot be read, in the words of the API's errors.
    pub(super) errors: Vec<String>,
}

impl Readable {
    /// All of the form.
    ///
    /// # Errors
    /// The fields that cannot be read.
    pub(super) fn whole(self) -> Result<Map<String, Value>, Vec<String>> {
        if self.errors.is_empty() { Ok(self.fields) } else { Err(self.errors) }
    }
}

/// A text of a field that may be empty.
pub(super) fn text_or_null(text: &str) -> Value {
    match text.trim() {
        "" => Value::Null,
        text => json!(text),
    }
}

/// A value in indented JSON.
pub(super) fn pretty(value: &Value) -> String {
    // A value that was read as JSON can be written as such.
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A value in JSON; none where nothing is typed.
///
/// # Errors
/// Where it is no JSON.
pub(super) fn parsed(text: &str) -> Result<Option<Value>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(text).map(Some).map_err(|fault| format!("is not valid JSON: {fault}"))
}

/// What the API takes for a text; nothing where the field is empty.
///
/// # Errors
/// Where it is no JSON.
pub(super) fn value_of(text: &str, input: Input) -> Result<Option<Value>, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Ok(None);
    }
    let items = || trimmed.split(',').map(str::trim).filter(|item| !item.is_empty());
    let number = |text: &str| text.parse::<Number>().map_or_else(|_| json!(text), Value::Number);
    Ok(Some(match input {
        Input::Line | Input::Moment => json!(trimmed),
        Input::Lines(_) | Input::Html(_) => json!(text),
        Input::Json(_) => return parsed(text),
        Input::TextOrJson(_) => match serde_json::from_str(trimmed) {
            Ok(value @ (Value::Object(_) | Value::Array(_) | Value::String(_))) => value,
            _ => json!(text),
        },
        Input::Days if items().count() > 1 => items().map(number).collect(),
        Input::Number | Input::Days => number(trimmed),
        Input::Tags => items().map(Value::from).collect(),
        Input::Flag => json!(trimmed == "true"),
        Input::Choice(_) | Input::Switch(_) => match trimmed {
            "true" => json!(true),
            "false" => json!(false),
            word => json!(word),
        },
    }))
}

/// A value as it is typed.
pub(super) fn typed(value: &Value, input: Input, zone: Zone) -> String {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (input, value) {
        (_, Value::Null) => String::new(),
        (Input::TextOrJson(_), Value::String(text)) => {
            let is_same = value_of(text, input).is_ok_and(|read| read.as_ref() == Some(value));
            if is_same { text.clone() } else { value.to_string() }
        }
        (Input::Json(_) | Input::TextOrJson(_), value) => pretty(value),
        (Input::Moment, Value::String(text)) => by_the_clock(text, zone),
        (Input::Days | Input::Tags, Value::Array(items)) => {
            items.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        (_, value) => plain(value),
    }
}

/// A time by the clock of a zone, or as it is where the clock shows it twice.
fn by_the_clock(text: &str, zone: Zone) -> String {
    let Ok(at) = Timestamp::parse(text) else { return text.to_owned() };
    let clock = zone.clock_at(at);
    if zone.moments_of(clock).chosen() == at {
        clock.format("%Y-%m-%dT%H:%M:%S%.f").to_string()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_by_the_clock_of_the_zone() {
        let berlin = "Europe/Berlin".parse().unwrap();
        for (at, shown) in [
            ("2030-03-01T08:00:00.000Z", "2030-03-01T09:00:00"),
            // The clock shows the hour twice; a text means the earlier one.
            ("2030-10-27T00:30:00.000Z", "2030-10-27T02:30:00"),
            ("2030-10-27T01:30:00.000Z", "2030-10-27T01:30:00.000Z"),
        ] {
            assert_eq!(typed(&json!(at), Input::Moment, berlin), shown);
        }
    }
}

//! The dates among attributes, as numbers, so that audiences compare numbers instead of parsing texts.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use serde_json::{Map, Value};

/// The dates among attributes: a JSON object with those keys whose texts are dates, in milliseconds since 1970,
/// nested like the attributes. `None` where a text may be a date in an unusual form: audiences parse such
/// attributes themselves. Dates in lists are left out.
pub fn of(attributes: &str) -> Option<String> {
    let attributes: Map<String, Value> = serde_json::from_str(attributes).ok()?;
    Some(Value::Object(of_object(&attributes)?).to_string())
}

fn of_object(attributes: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut dates = Map::new();
    for (key, value) in attributes {
        match value {
            Value::String(text) if is_like_one(text) => {
                dates.insert(key.clone(), usual(text)?.into());
            }
            Value::Object(nested) => {
                let nested = of_object(nested)?;
                if !nested.is_empty() {
                    dates.insert(key.clone(), nested.into());
                }
            }
            _ => {}
        }
    }
    Some(dates)
}

/// Starts with a digit and has a hyphen as its fifth character: `iso_millis` in PostgreSQL takes no text of
/// another shape for a date.
fn is_like_one(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && text.chars().nth(4) == Some('-')
}

/// The time of a text of the form `YYYY-MM-DD`, `YYYY-MM-DDTHH:MM:SSZ` or `YYYY-MM-DDTHH:MM:SS.mmmZ`, if that
/// date exists. Must agree with `iso_is_usual` and `iso_millis` in PostgreSQL.
fn usual(text: &str) -> Option<i64> {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let (stamp, rest) = text.as_bytes().split_at(text.len().min(SHAPE.len()));
    let ending: &[u8] = match text.len() {
        10 => b"",
        20 => b"Z",
        24 => b".000Z",
        _ => return None,
    };
    let fits = |text: &[u8], shape: &[u8]| {
        text.len() == shape.len()
            && text.iter().zip(shape).all(|(byte, like)| match like {
                b'0' => byte.is_ascii_digit(),
                other => byte == other,
            })
    };
    if !fits(stamp, &SHAPE[..stamp.len()]) || !fits(rest, ending) {
        return None;
    }
    moment(text.as_bytes())
}

/// The time that these digits stand for. PostgreSQL has no year 0.
fn moment(stamp: &[u8]) -> Option<i64> {
    let number = |from: usize, to: usize| {
        let digits = stamp.get(from..to).unwrap_or_default();
        digits.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'))
    };
    let year = i32::try_from(number(0, 4)).ok().filter(|year| *year > 0)?;
    let date = NaiveDate::from_ymd_opt(year, number(5, 7), number(8, 10))?;
    let millis = if stamp.len() == 24 { number(20, 23) } else { 0 };
    let time =
        NaiveTime::from_hms_milli_opt(number(11, 13), number(14, 16), number(17, 19), millis)?;
    Some(NaiveDateTime::new(date, time).and_utc().timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_usual_forms_of_existing_dates() {
        for (text, ms) in [
            ("2026-11-21", 1_795_219_200_000),
            ("2024-02-29", 1_709_164_800_000),
            ("1970-01-01T00:00:00.001Z", 1),
            ("1969-12-31T23:59:59Z", -1_000),
            ("0001-01-01", -62_135_596_800_000),
            ("9999-12-31T23:59:59Z", 253_402_300_799_000),
            ("2026-03-01T12:00:00.250Z", 1_772_366_400_250),
        ] {
            assert_eq!(usual(text), Some(ms), "{text}");
        }
        for other in [
            "",
            "2026-02-29",
            "2026-13-01",
            "2026-00-01",
            "0000-01-01",
            "2026-11-21T24:00:00Z",
            "2026-11-21T23:59:60Z",
            "2026-11-21T12:00:00",
            "2026-11-21T12:00Z",
            "2026-11-21T12:00:00+01:00",
            "2026-11-21T12:00:00.00Z",
            "2026-11-21T12:00:00.000000Z",
            "2026-11-2a",
            "2026-11-21 12:00:00Z",
            "２026-11-2",
        ] {
            assert_eq!(usual(other), None, "{other}");
        }
    }

    #[test]
    fn dates_are_nested_like_the_attributes() {
        for (attributes, expected) in [
            ("{}", Some("{}")),
            (r#"{"zip":"12345-6789","street":"20 Main","n":2026,"a-b":"A123-4"}"#, Some("{}")),
            (
                r#"{"a.b":"1970-01-02","at":"1970-01-01","in":{"x":{"at":"1970-01-01T00:00:01Z"},"y":{}}}"#,
                Some(r#"{"a.b":86400000,"at":0,"in":{"x":{"at":1000}}}"#),
            ),
            (r#"{"then":["1970-01-01",{"x":"1970-01-31"}],"at":["2026-11-31"]}"#, Some("{}")),
            (r#"{"at":"2026-11-21","then":"2026-11-31"}"#, None),
            (r#"{"at":"2026-11-21T10:00:00+02:00"}"#, None),
            (r#"{"in":{"at":"2026-11-31"}}"#, None),
            (r#"{"at":"1é\"é-"}"#, None),
            (r#"{"at":"\u0031970-01-01"}"#, Some(r#"{"at":0}"#)),
            (r#"{"2026-x":1}"#, Some("{}")),
            (r#"{"at":"1970-01-02","at":"1970-01-01"}"#, Some(r#"{"at":0}"#)),
        ] {
            assert_eq!(of(attributes).as_deref(), expected, "{attributes}");
        }
    }
}

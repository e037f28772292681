//! Whether the dates among attributes are written as most are, so that they compare as their texts do.

use chrono::{NaiveDate, NaiveTime};

/// Whether all texts among these attributes that could be taken for a date are dates in a usual form. Keys count
/// as texts; saying no where yes would do costs time, never truth.
pub fn are_usual(attributes: &str) -> bool {
    Strings { json: attributes }.all(|token| {
        if token.contains('\\') {
            let text: Result<String, _> = serde_json::from_str(&format!("\"{token}\""));
            return text.is_ok_and(|text| !is_like_one(&text) || is_usual(&text));
        }
        !is_like_one(token) || is_usual(token)
    })
}

/// A digit, and a hyphen in the fifth place: what `like '____-%'` and a comparison find in PostgreSQL.
fn is_like_one(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && text.chars().nth(4) == Some('-')
}

/// Whether a text is `YYYY-MM-DD`, `YYYY-MM-DDTHH:MM:SSZ` or `YYYY-MM-DDTHH:MM:SS.mmmZ` and a moment that there
/// is: what `iso_is_usual` finds in PostgreSQL.
fn is_usual(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let (stamp, rest) = text.as_bytes().split_at(text.len().min(SHAPE.len()));
    let ending: &[u8] = match text.len() {
        10 => b"",
        20 => b"Z",
        24 => b".000Z",
        _ => return false,
    };
    let fits = |text: &[u8], shape: &[u8]| {
        text.len() == shape.len()
            && text.iter().zip(shape).all(|(byte, like)| match like {
                b'0' => byte.is_ascii_digit(),
                other => byte == other,
            })
    };
    fits(stamp, &SHAPE[..stamp.len()]) && fits(rest, ending) && is_moment(stamp)
}

/// Whether digits in their places are a date, and a time where there is one. The year 0 is none in PostgreSQL.
fn is_moment(stamp: &[u8]) -> bool {
    let number = |from: usize, to: usize| {
        stamp[from..to].iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'))
    };
    let year = i32::try_from(number(0, 4)).unwrap_or(0);
    let date = NaiveDate::from_ymd_opt(year, number(5, 7), number(8, 10));
    let is_time = stamp.len() == 10
        || NaiveTime::from_hms_opt(number(11, 13), number(14, 16), number(17, 19)).is_some();
    year > 0 && date.is_some() && is_time
}

/// The strings of a JSON text, without their quotes.
struct Strings<'a> {
    json: &'a str,
}

impl<'a> Iterator for Strings<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let (_, rest) = self.json.split_once('"')?;
        let mut escaped = false;
        let end = rest.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })?;
        let (token, rest) = rest.split_at_checked(end)?;
        self.json = rest.strip_prefix('"')?;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_usual_forms_of_moments_that_there_are() {
        for usual in [
            "2026-11-21",
            "2024-02-29",
            "0001-01-01",
            "9999-12-31T23:59:59Z",
            "2026-03-01T12:00:00.000Z",
        ] {
            assert!(is_usual(usual), "{usual}");
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
            assert!(!is_usual(other), "{other}");
        }
    }

    #[test]
    fn what_cannot_be_taken_for_a_date_does_not_matter() {
        for (attributes, expected) in [
            ("{}", true),
            (r#"{"zip":"12345-6789","street":"20 Main","n":2026,"a-b":"A123-4"}"#, true),
            (r#"{"at":"2026-11-21","then":["2026-11-21T10:00:00Z",{"x":"2026-11-21"}]}"#, true),
            (r#"{"at":"2026-11-21","then":["2026-11-21T10:00:00Z",{"x":"2026-11-31"}]}"#, false),
            (r#"{"at":"2026-11-21T10:00:00+02:00"}"#, false),
            (r#"{"at":"1é\"é-"}"#, false),
            (r#"{"at":"\u0032026-11-31"}"#, false),
            (r#"{"at":"\u0032026-11-30"}"#, true),
            (r#"{"at":"\\","then":"2026-11-31"}"#, false),
            (r#"{"2026-x":1}"#, false),
        ] {
            assert_eq!(are_usual(attributes), expected, "{attributes}");
        }
    }
}

//! Rules for texts, addresses, numbers and free JSON inside a campaign: bounds, and valid Liquid where they are
//! templates.

use std::ops::RangeInclusive;

use content::{markup, template};
use kernel::{
    fields::{Field, Presence},
    schema::text_of,
};
use serde::Serializer;
use serde_json::{Map, Value};
use url::Url;
use utoipa::openapi::{RefOr, Schema};

/// Objects and lists inside free JSON of a message, one inside the other.
const JSON_DEPTH_MAX: usize = 8;
/// Largest whole number that a double holds exactly.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// The texts that [`is_one_line`] accepts.
const ONE_LINE: &str = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$";

/// The value a rule accepts, or its error message.
pub(super) type Read<T> = Result<T, String>;

/// A plain text of at most so many characters.
pub(super) fn at_most(text: &str, chars_max: usize) -> Read<()> {
    if text.len() > chars_max && text.chars().count() > chars_max {
        return Err(format!("must be at most {chars_max} characters"));
    }
    Ok(())
}

/// A large text of at most so many bytes.
pub(super) fn at_most_bytes(text: &str, bytes_max: usize) -> Read<()> {
    let received = text.len();
    if received > bytes_max {
        return Err(format!("must be at most {bytes_max} bytes, received {received}"));
    }
    Ok(())
}

/// Checks that a text is valid Liquid.
pub(super) fn is_liquid(text: &str) -> Read<()> {
    template::check(text).map_err(|fault| format!("is not valid Liquid: {fault}"))
}

/// Refuses characters that could inject another header line into a message.
pub(super) fn is_one_line(text: &str) -> Read<()> {
    if text.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
        return Err("must be one line without control characters".to_owned());
    }
    Ok(())
}

/// The schema of one line.
pub(super) fn one_line(chars: RangeInclusive<usize>) -> RefOr<Schema> {
    text_of(chars).pattern(Some(ONE_LINE)).into()
}

/// A template of at most so many characters.
pub(super) fn templated<P: Presence>(field: Field<'_, P>, chars_max: usize) -> P::Out<String> {
    field.as_schema(|| text_of(0..=chars_max).into()).parsed(String::new(), |text| {
        at_most(text, chars_max)?;
        is_liquid(text)?;
        Ok(text.to_owned())
    })
}

/// A template of at most so many bytes, for whole documents.
pub(super) fn document<P: Presence>(field: Field<'_, P>) -> P::Out<String> {
    field.as_schema(|| text_of(0..=template::SOURCE_BYTES_MAX).into()).parsed(
        String::new(),
        |text| {
            at_most_bytes(text, template::SOURCE_BYTES_MAX)?;
            is_liquid(text)?;
            Ok(text.to_owned())
        },
    )
}

/// HTML that is a template.
pub(super) fn page<P: Presence>(field: Field<'_, P>) -> P::Out<String> {
    field.as_schema(|| text_of(0..=template::SOURCE_BYTES_MAX).into()).parsed(
        String::new(),
        |html| {
            at_most_bytes(html, template::SOURCE_BYTES_MAX)?;
            markup::is_bounded(html)?;
            is_liquid(html)?;
            Ok(html.to_owned())
        },
    )
}

/// A template of one header line of a message.
pub(super) fn header<P: Presence>(field: Field<'_, P>, chars_max: usize) -> P::Out<String> {
    field.as_schema(|| one_line(0..=chars_max)).parsed(String::new(), |text| {
        at_most(text, chars_max)?;
        is_one_line(text)?;
        is_liquid(text)?;
        Ok(text.to_owned())
    })
}

/// One line that is no template: a name or an external id.
pub(super) fn line<P: Presence>(field: Field<'_, P>, chars_max: usize) -> P::Out<String> {
    field.as_schema(|| one_line(0..=chars_max)).parsed(String::new(), |text| {
        at_most(text, chars_max)?;
        is_one_line(text)?;
        Ok(text.to_owned())
    })
}

/// An id or a name within a campaign: one line that is not empty.
pub(super) fn named<P: Presence>(field: Field<'_, P>, chars_max: usize) -> P::Out<String> {
    field.as_schema(|| one_line(1..=chars_max)).parsed(String::new(), |text| {
        if text.is_empty() {
            return Err("must not be empty".to_owned());
        }
        at_most(text, chars_max)?;
        is_one_line(text)?;
        Ok(text.to_owned())
    })
}

/// The address of something on the web; Liquid may make any part of it but its scheme.
pub(super) fn web_address<P: Presence>(field: Field<'_, P>, chars_max: usize) -> P::Out<String> {
    field.as_schema(|| text_of(0..=chars_max).into()).parsed(String::new(), |text| {
        at_most(text, chars_max)?;
        // An empty field of a draft.
        if !text.is_empty() {
            is_web_address(text)?;
        }
        Ok(text.to_owned())
    })
}

/// Checks a web address. With Liquid in it only the scheme can be checked before rendering.
pub(super) fn is_web_address(text: &str) -> Read<()> {
    is_one_line(text)?;
    is_liquid(text)?;
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let of_the_web = matches!(scheme.as_deref(), Some("http" | "https"));
    let sound = template::has_markup(text) || Url::parse(text).is_ok_and(|url| url.has_host());
    if of_the_web && sound {
        return Ok(());
    }
    Err("must be an http:// or https:// URL".to_owned())
}

/// Free JSON whose strings are templates: bounded in bytes as it is written compactly, and in depth.
pub(super) fn is_templated_json(value: &Value, bytes_max: usize) -> Read<()> {
    let received = serde_json::to_vec(value).map_or(usize::MAX, |bytes| bytes.len());
    if received > bytes_max {
        return Err(format!("must be at most {bytes_max} bytes, received {received}"));
    }
    strings(value, JSON_DEPTH_MAX, &mut String::new())
}

/// Free JSON that is no template: bounded in bytes as it is written compactly, and in depth.
pub(super) fn is_bounded_json(map: &Map<String, Value>, bytes_max: usize) -> Read<()> {
    let received = serde_json::to_vec(map).map_or(usize::MAX, |bytes| bytes.len());
    if received > bytes_max {
        return Err(format!("must be at most {bytes_max} bytes, received {received}"));
    }
    let mut level: Vec<&Value> = map.values().collect();
    for _ in 0..JSON_DEPTH_MAX {
        let deeper = level.into_iter().flat_map(|value| -> Box<dyn Iterator<Item = &Value>> {
            match value {
                Value::Array(values) => Box::new(values.iter()),
                Value::Object(map) => Box::new(map.values()),
                _ => Box::new(std::iter::empty()),
            }
        });
        level = deeper.collect();
    }
    if level.is_empty() {
        return Ok(());
    }
    Err(format!("must not be nested deeper than {JSON_DEPTH_MAX}"))
}

/// Checks the strings of a JSON value at every depth, and names the path of an invalid one.
fn strings(value: &Value, depth: usize, path: &mut String) -> Read<()> {
    let parts: Vec<(String, &Value)> = match value {
        Value::String(text) if path.is_empty() => return is_liquid(text),
        Value::String(text) => {
            return is_liquid(text).map_err(|problem| format!("{problem} (at {path})"));
        }
        Value::Array(values) => {
            values.iter().enumerate().map(|(at, value)| (format!("/{at}"), value)).collect()
        }
        Value::Object(map) => map.iter().map(|(key, value)| (format!("/{key}"), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => return Ok(()),
    };
    if depth == 0 {
        return Err(format!("must not be nested deeper than {JSON_DEPTH_MAX}"));
    }
    let before = path.len();
    for (step, value) in parts {
        path.push_str(&step);
        strings(value, depth - 1, path)?;
        path.truncate(before);
    }
    Ok(())
}

/// Reads an object of free JSON by [`is_templated_json`].
pub(super) fn templated_object(
    body: &mut kernel::fields::Fields<'_>,
    name: &str,
    bytes_max: usize,
) -> Option<Map<String, Value>> {
    let map = body.optional(name).json_object()?;
    match is_templated_json(&Value::Object(map.clone()), bytes_max) {
        Ok(()) => Some(map),
        Err(problem) => {
            body.refuse(name, problem);
            None
        }
    }
}

/// Writes a whole number without a fraction, as it was most likely sent.
///
/// # Errors
/// The serializer's.
#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and within 2^53")]
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(super) fn plain_number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0.0 && number.abs() <= EXACT_MAX {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// [`plain_number`] for one that may be absent.
///
/// # Errors
/// The serializer's.
#[expect(clippy::ref_option, reason = "serde passes fields by reference")]
pub(super) fn plain_number_if<S: Serializer>(
    number: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => plain_number(number, serializer),
        None => serializer.serialize_none(),
    }
}

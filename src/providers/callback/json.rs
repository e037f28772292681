//! Values in the JSON of callbacks, by their JSON pointers.

use kernel::{Error, Result, Timestamp};
use serde_json::Value;

/// A body as JSON.
///
/// # Errors
/// When it is not JSON.
pub fn read(bytes: &[u8]) -> Result<Value> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::bad_request(format!("body is not valid JSON: {error}")))
}

/// A text; empty if it is absent.
pub(crate) fn text<'a>(json: &'a Value, pointer: &str) -> &'a str {
    json.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The elements of a list.
pub(crate) fn list<'a>(json: &'a Value, pointer: &str) -> &'a [Value] {
    json.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The values of `Message-ID`, and of `X-Message-ID` where a provider replaces the former, in a list of headers.
pub(crate) fn message_ids(headers: &[Value]) -> impl Iterator<Item = &str> {
    let is_id = |header: &&Value| {
        let name = text(header, "/name");
        ["x-message-id", "message-id"].iter().any(|it| name.eq_ignore_ascii_case(it))
    };
    headers.iter().filter(is_id).map(|header| text(header, "/value"))
}

/// A time in RFC 3339.
pub(crate) fn time(json: &Value, pointer: &str) -> Option<Timestamp> {
    Timestamp::parse(text(json, pointer)).ok()
}

/// A time as seconds since 1970, with a fraction or without.
pub(crate) fn unix_time(json: &Value, pointer: &str) -> Option<Timestamp> {
    /// The end of the year 9999; later times are ignored.
    const SECONDS_MAX: f64 = 253_402_300_799.0;
    let seconds = json.pointer(pointer)?.as_f64().filter(|s| (0.0..=SECONDS_MAX).contains(s))?;
    #[expect(clippy::cast_possible_truncation, reason = "held between 0 and the year 9999")]
    Some(Timestamp::from_millis((seconds * 1000.0) as i64))
}

//! The write key in a body, which has to be known before the body is admitted.

use std::borrow::Cow;

use crate::{admit::BodyError, parse::pieces};

use super::{BATCH, Protocol};

impl Protocol {
    /// Members of a body that hold its key.
    const fn key_names(self) -> &'static [&'static str] {
        match self {
            Self::Segment => &["writeKey"],
            Self::PostHog => &["api_key", "token"],
        }
    }
}

/// The write key that a body holds. Values are stepped over, and none is decoded but the key.
///
/// # Errors
/// When the body is not JSON.
pub fn write_key(body: &[u8], protocol: Protocol) -> Result<Option<Cow<'_, str>>, BodyError> {
    let text = str::from_utf8(body).map_err(|error| {
        BodyError::NotJson(format!("expected UTF-8 at byte {}", error.valid_up_to()))
    })?;
    let value = pieces::value(text).map_err(|error| BodyError::not_json(&error))?;
    let mut found = Found { protocol, key: None };
    match value.as_bytes().first() {
        Some(b'{') => found.in_object(value),
        Some(b'[') if protocol == Protocol::PostHog => found.in_calls(value),
        _ => {}
    }
    Ok(found.key)
}

struct Found<'b> {
    protocol: Protocol,
    key: Option<Cow<'b, str>>,
}

impl<'b> Found<'b> {
    fn in_object(&mut self, object: &'b str) {
        let (mut batch, mut properties) = (None, None);
        let names = self.protocol.key_names();
        let taken = pieces::members(object, |key, value| match key.trim_matches('"') {
            BATCH => batch = Some(value),
            "properties" => properties = Some(value),
            name if names.contains(&name) => self.take(value),
            _ => {}
        });
        debug_assert!(taken.is_ok(), "the grammar was checked");
        // PostHog's browser SDK puts the key among the properties of each event.
        if self.protocol == Protocol::PostHog && self.key.is_none() {
            if let Some(properties) = properties.filter(|it| it.starts_with('{')) {
                self.in_properties(properties);
            } else if let Some(batch) = batch.filter(|it| it.starts_with('[')) {
                self.in_calls(batch);
            }
        }
    }

    fn in_properties(&mut self, properties: &'b str) {
        let taken = pieces::members(properties, |key, value| {
            if key == "\"token\"" {
                self.take(value);
            }
        });
        debug_assert!(taken.is_ok(), "the grammar was checked");
    }

    /// Looks at the first call of an array.
    fn in_calls(&mut self, calls: &'b str) {
        let mut first = None;
        let taken = pieces::elements(calls, |call| {
            first.get_or_insert(call);
        });
        debug_assert!(taken.is_ok(), "the grammar was checked");
        let mut properties = None;
        if let Some(call) = first.filter(|call| call.starts_with('{')) {
            let taken = pieces::members(call, |key, value| {
                if key == "\"properties\"" && value.starts_with('{') {
                    properties = Some(value);
                }
            });
            debug_assert!(taken.is_ok(), "the grammar was checked");
        }
        if let Some(properties) = properties {
            self.in_properties(properties);
        }
    }

    /// Takes a key, where the value is a string.
    fn take(&mut self, value: &'b str) {
        if let Ok(key) = serde_json::from_str::<Cow<'b, str>>(value) {
            self.key = Some(key).filter(|key| !key.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_found_where_each_protocol_puts_it() {
        for (protocol, body, expected) in [
            (
                Protocol::Segment,
                r#"{"batch":[{"writeKey":"no"}],"writeKey":"K","sentAt":1}"#,
                Some("K"),
            ),
            (Protocol::Segment, r#"{"event":1e400,"writeKey":"K\u0041"}"#, Some("KA")),
            (Protocol::Segment, r#"{"api_key":"K"}"#, None),
            (Protocol::Segment, r#"{"writeKey":5}"#, None),
            (Protocol::Segment, r#"{"writeKey":""}"#, None),
            (Protocol::Segment, r#"[{"writeKey":"K"}]"#, None),
            (Protocol::PostHog, r#"{"batch":[],"api_key":"K"}"#, Some("K")),
            (Protocol::PostHog, r#"{"token":"K","distinct_id":"u"}"#, Some("K")),
            (Protocol::PostHog, r#"{"event":"e","properties":{"token":"K"}}"#, Some("K")),
            (Protocol::PostHog, r#"[{"event":"e","properties":{"token":"K"}},{}]"#, Some("K")),
            (
                Protocol::PostHog,
                r#"{"batch":[{"event":"e","properties":{"token":"K"}}]}"#,
                Some("K"),
            ),
            (Protocol::PostHog, "[1,2]", None),
            (Protocol::PostHog, "5", None),
        ] {
            assert_eq!(
                write_key(body.as_bytes(), protocol).unwrap().as_deref(),
                expected,
                "{body}"
            );
        }
        for broken in ["", "{", "[1,]", "{\"writeKey\":\"K\"}}"] {
            assert!(write_key(broken.as_bytes(), Protocol::Segment).is_err(), "{broken}");
        }
    }
}

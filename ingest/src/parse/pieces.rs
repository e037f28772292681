//! Takes JSON apart without looking into the pieces: for what a tape refuses.
//!
//! serde_json steps over values by their grammar alone, without recursion, whatever they mean.
//! So a text goes through to its end exactly when it is JSON.

use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The text of the only value of `text`, without the white space around it.
pub(crate) fn value(text: &str) -> Result<&str, serde_json::Error> {
    serde_json::from_str::<&RawValue>(text).map(RawValue::get)
}

/// Calls `take` with the text of each element of an array.
pub(crate) fn elements<'a>(
    text: &'a str,
    take: impl FnMut(&'a str),
) -> Result<(), serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    json.deserialize_seq(Elements(take))?;
    json.end()
}

/// Calls `take` with the texts of each key, in its quotes, and of its value.
pub(crate) fn members<'a>(
    text: &'a str,
    take: impl FnMut(&'a str, &'a str),
) -> Result<(), serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    json.deserialize_map(Members(take))?;
    json.end()
}

struct Elements<Take>(Take);

impl<'a, Take: FnMut(&'a str)> Visitor<'a> for Elements<Take> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<Access: SeqAccess<'a>>(mut self, mut seq: Access) -> Result<(), Access::Error> {
        while let Some(element) = seq.next_element::<&RawValue>()? {
            (self.0)(element.get());
        }
        Ok(())
    }
}

struct Members<Take>(Take);

impl<'a, Take: FnMut(&'a str, &'a str)> Visitor<'a> for Members<Take> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<Access: MapAccess<'a>>(mut self, mut map: Access) -> Result<(), Access::Error> {
        while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            (self.0)(key.get(), value.get());
        }
        Ok(())
    }
}

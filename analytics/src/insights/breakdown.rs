//! What a question is broken down by.

use super::{
    parameters::Parameters,
    property::{JsonLocation, readings},
};

/// Where the value of a breakdown comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakdownSource {
    /// A property of the event.
    Property,
    /// An attribute of the profile.
    Profile,
}

/// A breakdown by the value at a dot path. Texts are themselves, other values their JSON; null is as good as absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breakdown {
    /// Where the value comes from.
    pub source: BreakdownSource,
    /// The path of the value.
    pub path: String,
}

impl Breakdown {
    /// The JSON of the value in a column of objects, as it was sent; empty where there is none.
    pub(super) fn raw(&self, parameters: &mut Parameters) -> String {
        let raws: Vec<String> = readings(&self.path)
            .iter()
            .map(|keys| match self.source {
                BreakdownSource::Property => property(keys, parameters),
                BreakdownSource::Profile => {
                    JsonLocation::within("attributes", keys, parameters).raw()
                }
            })
            .collect();
        match raws.as_slice() {
            [literal, nested] => format!("if({literal} != '', {literal}, {nested})"),
            _ => raws.concat(),
        }
    }
}

/// The value that a column `raw` has the JSON of, as Nullable(String). Numbers are written anew: where properties were parsed
/// they already are.
pub(super) const LABEL: &str = r"arrayElement(arrayMap(json -> multiIf(
            json IN ('', 'null'), NULL,
            match(json, '^-?[0-9]'), JSONExtractRaw(concat('[', json, ']'), 1),
            NOT startsWith(json, '\x22'), json,
            position(json, '\\') = 0, substring(json, 2, length(json) - 2),
            JSONExtractString(json)), [trimBoth(raw, ' \t\r\n')]), 1)";

/// The JSON of a property; empty where there is none.
///
/// Each key is there once; blanks stand where the sender had them. Without escapes, objects and lists in it, the text
/// `"key":` stands before the value of that key and nowhere else; to look for it takes half the time of parsing. With a
/// blank before the colon it is not found, and the object is parsed.
fn property(keys: &[&str], parameters: &mut Parameters) -> String {
    let parsed = JsonLocation::property(keys, parameters).raw();
    match keys {
        [key] if !key.contains(['"', '\\']) => {
            let quoted = parameters.text(format!("\"{key}\""));
            let with_colon = parameters.text(format!("\"{key}\":"));
            let key = parameters.text(*key);
            format!(
                "if(position(properties, '\\\\') = 0 AND position(properties, '{{', 2) = 0 \
                 AND position(properties, '[') = 0 \
                 AND (position(properties, {with_colon}) != 0 OR position(properties, {quoted}) = 0), \
                 simpleJSONExtractRaw(properties, {key}), {parsed})"
            )
        }
        _ => parsed,
    }
}

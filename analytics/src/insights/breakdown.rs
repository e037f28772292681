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
    /// The value as Nullable(String), of the JSON in a column.
    pub(super) fn label(&self, parameters: &mut Parameters) -> String {
        let raws: Vec<String> = readings(&self.path)
            .iter()
            .map(|keys| match self.source {
                BreakdownSource::Property => property(keys, parameters),
                BreakdownSource::Profile => {
                    JsonLocation::within("attributes", keys, parameters).raw()
                }
            })
            .collect();
        let raw = match raws.as_slice() {
            [literal, nested] => format!("if({literal} != '', {literal}, {nested})"),
            _ => raws.concat(),
        };
        // Most texts need no unescaping.
        format!(
            "arrayElement(arrayMap(raw -> multiIf(raw IN ('', 'null'), NULL, \
             NOT startsWith(raw, '\"'), raw, \
             position(raw, '\\\\') = 0, substring(raw, 2, length(raw) - 2), JSONExtractString(raw)), \
             [{raw}]), 1)"
        )
    }
}

/// The JSON of a property; empty where there is none.
///
/// Properties are stored in compact form with each key once. In an object without escapes and without objects in it, the
/// text `"key":` stands before the value of that key and nowhere else; to look for it takes half the time of parsing.
fn property(keys: &[&str], parameters: &mut Parameters) -> String {
    let parsed = JsonLocation::property(keys, parameters).raw();
    match keys {
        [key] if !key.contains(['"', '\\']) => {
            let key = parameters.text(*key);
            format!(
                "if(position(properties, '\\\\') = 0 AND position(properties, '{{', 2) = 0, \
                 simpleJSONExtractRaw(properties, {key}), {parsed})"
            )
        }
        _ => parsed,
    }
}

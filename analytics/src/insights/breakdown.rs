//! What a question is broken down by.

use super::{
    parameters::Parameters,
    property::{Place, readings},
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
        let column = match self.source {
            BreakdownSource::Property => "properties",
            BreakdownSource::Profile => "attributes",
        };
        let raws: Vec<String> = readings(&self.path)
            .iter()
            .map(|keys| Place::within(column, keys, parameters).raw())
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

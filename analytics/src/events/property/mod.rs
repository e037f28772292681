//! Equality filters on properties, as `eventProperties` names them.
//!
//! A key is a dot path. Because a key of a property may itself hold dots, `a.b` matches the
//! property `b` within `a` and also a top-level property that is called `a.b`.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::reads::Read;

/// Most filters in one question, nested ones counted one by one.
pub const PROPERTY_FILTERS_MAX: usize = 32;
/// Most alternatives of one filter.
pub const PROPERTY_VALUES_MAX: usize = 200;
/// Deepest path, in keys; properties nest no deeper.
pub const PROPERTY_PATH_KEYS_MAX: usize = 8;

/// A value to compare with: its type counts, so the number 1 is not the text "1".
#[derive(Debug, Clone, PartialEq)]
pub enum PropertyValue {
    /// Equal to a JSON string.
    Text(String),
    /// A number; compared as a double.
    Number(f64),
    /// Equal to JSON `true` or `false`.
    Bool(bool),
    /// The property is there and is `null`.
    Null,
}

/// One property equals one of some values.
#[derive(Debug, Clone, PartialEq)]
pub struct PropertyFilter {
    path: String,
    any_of: Vec<PropertyValue>,
}

/// Why `eventProperties` is no filter. The text names the property.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FilterError {
    /// More than [`PROPERTY_FILTERS_MAX`] properties.
    #[error("must have at most {PROPERTY_FILTERS_MAX} properties")]
    TooMany,
    /// Too many alternatives for one property.
    #[error("{0} must have at most {PROPERTY_VALUES_MAX} values")]
    TooManyValues(String),
    /// The path has too many keys.
    #[error("{0} must have at most {PROPERTY_PATH_KEYS_MAX} keys in its path")]
    TooDeep(String),
    /// Alternatives must be plain values.
    #[error("{0} must be a string, number, boolean, null, or an array of those")]
    NotPlain(String),
    /// A property without a name.
    #[error("a property must have a name")]
    NoName,
}

impl PropertyFilter {
    /// A filter on one property.
    pub fn new(path: impl Into<String>, any_of: Vec<PropertyValue>) -> Result<Self, FilterError> {
        let path = path.into();
        if path.is_empty() {
            return Err(FilterError::NoName);
        }
        if path.split('.').count() > PROPERTY_PATH_KEYS_MAX {
            return Err(FilterError::TooDeep(path));
        }
        if any_of.len() > PROPERTY_VALUES_MAX {
            return Err(FilterError::TooManyValues(path));
        }
        Ok(Self { path, any_of })
    }

    /// Reads an `eventProperties` object: a plain value is equality, an array any of its values, and
    /// an object filters the properties within.
    pub fn from_json(properties: &Map<String, Value>) -> Result<Vec<Self>, FilterError> {
        let mut filters = Vec::new();
        let mut open: Vec<(String, &Map<String, Value>)> = vec![(String::new(), properties)];
        while let Some((prefix, object)) = open.pop() {
            for (key, value) in object {
                let path = format!("{prefix}{key}");
                match value {
                    Value::Object(inner) => {
                        if path.split('.').count() >= PROPERTY_PATH_KEYS_MAX {
                            return Err(FilterError::TooDeep(path));
                        }
                        open.push((format!("{path}."), inner));
                    }
                    Value::Array(values) => {
                        let values: Option<Vec<_>> = values.iter().map(plain).collect();
                        let values = values.ok_or_else(|| FilterError::NotPlain(path.clone()))?;
                        filters.push(Self::new(path, values)?);
                    }
                    value => filters.push(Self::new(path, plain(value).into_iter().collect())?),
                }
                if filters.len() > PROPERTY_FILTERS_MAX {
                    return Err(FilterError::TooMany);
                }
            }
        }
        Ok(filters)
    }

    /// The two ways to read the path: as one key, and as keys within keys.
    fn readings(&self) -> Vec<Vec<&str>> {
        let nested: Vec<&str> = self.path.split('.').collect();
        if nested.len() == 1 { vec![nested] } else { vec![vec![self.path.as_str()], nested] }
    }

    /// A condition in which only the filter's number is text; names and values are parameters.
    pub(super) fn condition(&self, number: usize) -> String {
        let mut ways = Vec::new();
        if self.any_of.iter().any(|value| matches!(value, PropertyValue::Number(_))) {
            ways.push(format!(
                "mapContains(numbers, {{f{number}_path:String}}) AND \
                 has({{f{number}_numbers:Array(Float64)}}, numbers[{{f{number}_path:String}}])"
            ));
        }
        let has_texts = self.any_of.iter().any(|value| matches!(value, PropertyValue::Text(_)));
        let has_words = self
            .any_of
            .iter()
            .any(|value| matches!(value, PropertyValue::Bool(_) | PropertyValue::Null));
        for (way, keys) in self.readings().iter().enumerate() {
            let keys = (0..keys.len()).map(|key| format!("{{f{number}_{way}_{key}:String}}"));
            let keys = keys.collect::<Vec<_>>().join(", ");
            if has_texts {
                ways.push(format!(
                    "JSONType(properties, {keys}) = 'String' AND \
                     has({{f{number}_texts:Array(String)}}, JSONExtractString(properties, {keys}))"
                ));
            }
            if has_words {
                ways.push(format!(
                    "has({{f{number}_words:Array(String)}}, JSONExtractRaw(properties, {keys}))"
                ));
            }
        }
        if ways.is_empty() {
            return "0".to_owned();
        }
        format!("(({}))", ways.join(") OR ("))
    }

    /// Hands over the parameters that [`Self::condition`] names.
    pub(super) fn bind(&self, number: usize, mut query: Read) -> Read {
        let (mut numbers, mut texts, mut words) = (Vec::new(), Vec::new(), Vec::new());
        for value in &self.any_of {
            match value {
                PropertyValue::Number(value) => numbers.push(*value),
                PropertyValue::Text(value) => texts.push(value.as_str()),
                PropertyValue::Bool(true) => words.push("true"),
                PropertyValue::Bool(false) => words.push("false"),
                PropertyValue::Null => words.push("null"),
            }
        }
        if !numbers.is_empty() {
            query = query
                .param(&format!("f{number}_path"), &self.path)
                .param(&format!("f{number}_numbers"), numbers);
        }
        if !texts.is_empty() {
            query = query.param(&format!("f{number}_texts"), &texts);
        }
        if !words.is_empty() {
            query = query.param(&format!("f{number}_words"), &words);
        }
        if texts.is_empty() && words.is_empty() {
            return query;
        }
        for (way, keys) in self.readings().iter().enumerate() {
            for (place, key) in keys.iter().enumerate() {
                query = query.param(&format!("f{number}_{way}_{place}"), key);
            }
        }
        query
    }
}

/// A plain JSON value; `None` for arrays and objects.
fn plain(value: &Value) -> Option<PropertyValue> {
    match value {
        Value::Null => Some(PropertyValue::Null),
        Value::Bool(value) => Some(PropertyValue::Bool(*value)),
        Value::Number(number) => number.as_f64().map(PropertyValue::Number),
        Value::String(text) => Some(PropertyValue::Text(text.clone())),
        Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;

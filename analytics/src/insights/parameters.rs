//! Server-side parameters of a statement that is put together of fragments.

use serde::Serialize;

use crate::reads::Read;

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Value {
    Text(String),
    Texts(Vec<String>),
    Integer(i64),
    Integers(Vec<i64>),
    Float(f64),
    Floats(Vec<f64>),
}

impl Value {
    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "String",
            Self::Texts(_) => "Array(String)",
            Self::Integer(_) => "Int64",
            Self::Integers(_) => "Array(Int64)",
            Self::Float(_) => "Float64",
            Self::Floats(_) => "Array(Float64)",
        }
    }
}

/// The parameters of a statement, in the order they were added.
#[derive(Debug, Clone, Default)]
pub(super) struct Parameters(Vec<Value>);

impl Parameters {
    /// Adds a value and returns what stands for it in the statement.
    pub(super) fn add(&mut self, value: Value) -> String {
        let placeholder = format!("{{p{}:{}}}", self.0.len(), value.kind());
        self.0.push(value);
        placeholder
    }

    /// Adds a text, and gives its placeholder.
    pub(super) fn text(&mut self, text: impl Into<String>) -> String {
        self.add(Value::Text(text.into()))
    }

    /// Hands the values over with the statement.
    pub(super) fn bind(&self, query: Read) -> Read {
        let numbered = self.0.iter().enumerate();
        numbered.fold(query, |query, (number, value)| query.param(&format!("p{number}"), value))
    }
}

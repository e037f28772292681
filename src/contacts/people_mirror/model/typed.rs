//! Attributes by their types.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// The attributes at the top level that are numbers or texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TypedAttributes {
    pub(crate) numbers: BTreeMap<String, f64>,
    pub(crate) texts: BTreeMap<String, String>,
}

impl TypedAttributes {
    /// Reads a JSON object as PostgreSQL prints it. Other values, and numbers beyond the range of a double, are left out.
    pub(crate) fn read(attributes: &str) -> Self {
        let mut typed = Self::default();
        // Texts, not a tree: one number beyond the range of a double would make all of it unreadable.
        let values: BTreeMap<String, &RawValue> =
            serde_json::from_str(attributes).unwrap_or_default();
        for (name, value) in values {
            let value = value.get();
            if value.starts_with('"') {
                if let Ok(text) = serde_json::from_str(value) {
                    typed.texts.insert(name, text);
                }
            } else if value.starts_with(|c: char| c == '-' || c.is_ascii_digit())
                && let Some(number) = value.parse::<f64>().ok().filter(|it| it.is_finite())
            {
                typed.numbers.insert(name, number);
            }
        }
        typed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_at_the_top_are_found_by_their_names() {
        let typed = TypedAttributes::read(
            r#"{"plan": "pro \"1\" ü", "age": 41, "score": -0.5, "vip": true, "none": null, "tags": ["a"],
                "address": {"city": "Bonn", "zip": 1}, "a \"b\"": 1e3}"#,
        );
        assert_eq!(
            typed.numbers,
            BTreeMap::from([("age", 41.0), ("score", -0.5), ("a \"b\"", 1000.0)].map(owned))
        );
        assert_eq!(typed.texts, BTreeMap::from([owned(("plan", "pro \"1\" ü".to_owned()))]));
    }

    fn owned<T>(entry: (&str, T)) -> (String, T) {
        (entry.0.to_owned(), entry.1)
    }

    #[test]
    fn a_number_beyond_a_double_does_not_hide_the_others() {
        let digits = "9".repeat(400);
        let typed =
            TypedAttributes::read(&format!("{{\"huge\": {digits}, \"age\": 41, \"a\": \"b\"}}"));
        assert_eq!(typed.numbers, BTreeMap::from([owned(("age", 41.0))]));
        assert_eq!(typed.texts.len(), 1);
    }

    #[test]
    fn what_is_no_object_has_no_attributes() {
        for text in ["", "[]", "{", "1"] {
            assert_eq!(TypedAttributes::read(text), TypedAttributes::default(), "{text}");
        }
    }
}

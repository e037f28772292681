//! Paths into a JSON object: `city`, or `address.city`.

use kernel::fields::Fields;
use serde_json::{Map, Value};

use super::FIELD_CHARS_MAX;

/// The path of a value. Because a key may contain dots, `a.b` means `b` within `a` and also a value whose key
/// is `a.b`, as in `eventProperties`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path(String);

impl Path {
    pub(super) fn read(body: &mut Fields<'_>) -> Self {
        Self(body.required("field").text(1..=FIELD_CHARS_MAX))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The interpretations of the path: as one key and, where it has dots, as nested keys.
    pub fn readings(&self) -> Vec<Vec<&str>> {
        let mut readings = vec![vec![self.0.as_str()]];
        if self.0.contains('.') {
            readings.push(self.0.split('.').collect());
        }
        readings
    }

    /// The values at this path in an object: none, one, or two.
    pub fn values<'o>(&self, object: &'o Map<String, Value>) -> Vec<&'o Value> {
        let follow = |keys: Vec<&str>| {
            let (first, rest) = keys.split_first()?;
            rest.iter().try_fold(object.get(*first)?, |value, key| value.as_object()?.get(*key))
        };
        self.readings().into_iter().filter_map(follow).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_is_read_as_one_key_and_as_keys_within_keys() {
        let object = json!({"a": {"b": 1, "0": 2}, "a.b": 3, "list": ["x"], "": {"": 4}});
        let object = object.as_object().expect("an object");
        for (path, expected) in [
            ("a.b", vec![json!(3), json!(1)]),
            ("a.0", vec![json!(2)]),
            ("a", vec![json!({"b": 1, "0": 2})]),
            ("list.0", vec![]),
            ("list", vec![json!(["x"])]),
            (".", vec![json!(4)]),
            ("a.b.c", vec![]),
        ] {
            let found: Vec<Value> =
                Path(path.to_owned()).values(object).into_iter().cloned().collect();
            assert_eq!(found, expected, "{path}");
        }
    }
}

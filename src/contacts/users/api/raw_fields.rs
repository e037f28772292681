//! The fields of an object as text, each read alone, so that what JSON allows but no store takes (a number beyond doubles,
//! half of a surrogate pair, ten thousand brackets) is an error of that field of that element.

use std::collections::BTreeMap;

use kernel::{
    FieldError,
    fields::{FromFields, read_object},
};
use serde_json::{Map, Value, value::RawValue};

/// Errors in the order in which the API documents the fields.
pub(super) type FieldErrors = Vec<FieldError>;

/// The fields of one object as text; of a repeated one the last counts.
#[derive(Debug)]
pub(super) struct Texts<'b>(BTreeMap<String, &'b RawValue>);

impl<'b> Texts<'b> {
    /// Takes an object apart.
    pub(super) fn of(json: &'b RawValue) -> Result<Self, FieldError> {
        if !json.get().starts_with('{') {
            return Err(FieldError::new("", "must be an object"));
        }
        serde_json::from_str(json.get()).map(Self).map_err(|wrong| unreadable("", &wrong))
    }

    /// The text of a field; null is absent.
    pub(super) fn get(&self, name: &str) -> Option<&'b RawValue> {
        self.0.get(name).copied().filter(|text| text.get() != "null")
    }

    /// A field that is a string, as it was sent.
    pub(super) fn string(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// The elements of a field that is a list.
    pub(super) fn list(&self, name: &str) -> Option<Vec<&'b RawValue>> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// Reads these fields, and adds an error for each that cannot be read at all.
    pub(super) fn read<T: FromFields>(
        &self,
        names: &[&str],
        errors: &mut FieldErrors,
    ) -> Option<T> {
        let mut map = Map::new();
        let before = errors.len();
        for name in names {
            match self.0.get(*name).map(|text| serde_json::from_str::<Value>(text.get())) {
                None => {}
                Some(Ok(value)) => drop(map.insert((*name).to_owned(), value)),
                Some(Err(wrong)) => errors.push(unreadable(name, &wrong)),
            }
        }
        match read_object(&map) {
            Ok(read) => (errors.len() == before).then_some(read),
            Err(more) => {
                // A field that cannot be read is missing here, so errors of the whole object may be wrong.
                let all_read = errors.len() == before;
                errors.extend(more.into_iter().filter(|one| all_read || !one.path.is_empty()));
                None
            }
        }
    }
}

/// The error without its position, which counts from the start of the field and not of the body.
fn unreadable(path: &str, wrong: &serde_json::Error) -> FieldError {
    let message = wrong.to_string();
    let what = message.split(" at line ").next().unwrap_or_default();
    FieldError::new(path, format!("cannot be read: {what}"))
}

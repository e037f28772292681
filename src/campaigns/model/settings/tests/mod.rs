//! Every object's fields at and beyond their limits, and schedules across clock changes.
#![expect(clippy::needless_pass_by_value, reason = "values a test has written itself")]

mod channels;
mod objects;
mod schedules;

use kernel::{
    FieldError,
    fields::{FromFields, read_object},
};
use serde_json::Value;

fn texts(complaints: Vec<FieldError>) -> Vec<String> {
    complaints.iter().map(ToString::to_string).collect()
}

fn read<T: FromFields>(sent: &Value) -> Result<T, Vec<String>> {
    read_object(sent.as_object().unwrap()).map_err(texts)
}

/// The value is serialized as it was sent, and can be read back.
fn round_trips<T>(sent: &Value)
where
    T: FromFields + serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    returned::<T>(sent, sent);
}

fn returned<T>(sent: &Value, expected: &Value)
where
    T: FromFields + serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let value: T = read(sent).unwrap_or_else(|errors| panic!("{sent}: {errors:?}"));
    let written = serde_json::to_value(&value).unwrap();
    assert_eq!(&written, expected);
    assert_eq!(serde_json::from_value::<T>(written).unwrap(), value);
}

/// `base` with one field changed is refused with exactly this error.
fn refused<T: FromFields>(base: &Value, table: &[(&str, Value, &str)]) {
    for (field, value, complaint) in table {
        let mut sent = base.clone();
        sent[*field] = value.clone();
        let errors = read::<T>(&sent).err().unwrap_or_else(|| panic!("{sent} was taken"));
        assert_eq!(errors, [*complaint], "{sent}");
    }
}

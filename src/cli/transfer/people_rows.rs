//! A row of a file of people as a profile for `POST /users`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use tables::Field;

/// Columns of an export that no upsert sets. They are left out.
const COMPUTED: [&str; 6] =
    ["person_id", "anonymous_ids", "created_at", "updated_at", "consent", "lists"];
/// The beginning of a column of one attribute.
const ATTRIBUTE: &str = "attributes.";

/// A profile, with its fields as they stand in the file.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct SentProfile<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phone: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, Box<RawValue>>,
}

/// Whether a column may stand in a file of people.
pub(super) fn is_column(name: &str) -> bool {
    ["user_id", "external_id", "email", "phone", "attributes"].contains(&name)
        || COMPUTED.contains(&name)
        || name.strip_prefix(ATTRIBUTE).is_some_and(|attribute| !attribute.is_empty())
}

/// The profile of a row in JSON, or why it can be none. An attribute in a column of its own comes before one of the same
/// name in `attributes`. An empty cell is an absent one.
pub(super) fn profile_of(fields: &[Field]) -> Result<String, String> {
    let mut profile = SentProfile::default();
    let mut own = BTreeMap::new();
    for field in fields {
        let value = &*field.value;
        match &*field.name {
            name if COMPUTED.contains(&name) => {}
            name if value.get() == "\"\"" && is_column(name) => {}
            "user_id" => profile.user_id = Some(value),
            "external_id" => profile.external_id = Some(value),
            "email" => profile.email = Some(value),
            "phone" => profile.phone = Some(value),
            "attributes" => profile.attributes = attributes(value)?,
            name => match name.strip_prefix(ATTRIBUTE) {
                Some(attribute) if !attribute.is_empty() => {
                    own.insert(attribute.to_owned(), value.to_owned());
                }
                _ => return Err(format!("{name} is no column of people")),
            },
        }
    }
    profile.attributes.extend(own);
    serde_json::to_string(&profile).map_err(|error| error.to_string())
}

/// Attributes are an object, or an object as text in JSON, as CSV and Parquet have it.
fn attributes(value: &RawValue) -> Result<BTreeMap<String, Box<RawValue>>, String> {
    let object = if value.get().starts_with('"') {
        serde_json::from_str::<String>(value.get()).and_then(|text| serde_json::from_str(&text))
    } else {
        serde_json::from_str(value.get())
    };
    object.map_err(|error| format!("attributes must be an object in JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(row: &[(&str, &str)]) -> Result<String, String> {
        let fields: Vec<Field> = row
            .iter()
            .map(|(name, value)| Field {
                name: (*name).into(),
                value: RawValue::from_string((*value).to_owned()).unwrap(),
            })
            .collect();
        profile_of(&fields)
    }

    #[test]
    fn every_field_of_a_profile_comes_from_its_column() {
        let row = [
            ("user_id", "\"6b01417d621db7fb20000000\""),
            ("external_id", "\"ann\""),
            ("email", "\"ann@example.test\""),
            ("phone", "\"+49 151 1\""),
            ("attributes", r#""{\"plan\":\"pro\",\"score\":49.90}""#),
            ("attributes.firstName", "\"Ann\""),
            ("attributes.plan", "\"team\""),
        ];
        let expected = concat!(
            r#"{"userId":"6b01417d621db7fb20000000","externalId":"ann","email":"ann@example.test","#,
            r#""phone":"+49 151 1","attributes":{"firstName":"Ann","plan":"team","score":49.90}}"#
        );
        assert_eq!(profile(&row), Ok(expected.to_owned()));
        assert!(row.iter().all(|(name, _)| is_column(name)));
    }

    #[test]
    fn what_an_export_adds_is_left_out() {
        let row = [
            ("person_id", "\"6b01417d621db7fb20000000\""),
            ("external_id", "\"ann\""),
            ("email", "\"\""),
            ("anonymous_ids", r#"["cookie"]"#),
            ("attributes", r#"{"score":12345678901234567890.10}"#),
            ("created_at", "\"2026-03-01T12:00:00.000Z\""),
            ("updated_at", "\"2026-03-01T12:00:00.000Z\""),
            ("consent", r#"{"email":"optedIn"}"#),
            ("lists", r#""[]""#),
        ];
        let expected = r#"{"externalId":"ann","attributes":{"score":12345678901234567890.10}}"#;
        assert_eq!(profile(&row), Ok(expected.to_owned()));
        assert!(row.iter().all(|(name, _)| is_column(name)));
    }

    #[test]
    fn empty_cells_are_left_out() {
        let row = [
            ("external_id", "\"ann\""),
            ("email", "\"\""),
            ("attributes", "\"\""),
            ("attributes.plan", "\"\""),
        ];
        assert_eq!(profile(&row), Ok(r#"{"externalId":"ann"}"#.to_owned()));
    }

    #[test]
    fn rows_that_are_no_profiles_are_refused() {
        for (name, value, reason) in [
            ("colour", "1", "colour is no column of people"),
            ("attributes.", "1", "attributes. is no column of people"),
            ("attributes", "[1]", "attributes must be an object"),
            ("attributes", "\"{\"", "attributes must be an object"),
        ] {
            let refused = profile(&[(name, value)]).unwrap_err();
            assert!(refused.starts_with(reason), "{refused}");
        }
    }
}

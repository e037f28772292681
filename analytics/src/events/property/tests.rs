//! What `eventProperties` means.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn filters(value: Value) -> Result<Vec<PropertyFilter>, FilterError> {
    match value {
        Value::Object(object) => PropertyFilter::from_json(&object),
        other => panic!("{other} is no object"),
    }
}

#[test]
fn a_value_is_equality_and_an_array_any_of_its_values() {
    let read = filters(json!({"a": 1, "b": ["x", true, null]})).expect("a filter");
    assert!(read.contains(&PropertyFilter {
        path: "a".to_owned(),
        any_of: vec![PropertyValue::Number(1.0)],
    }));
    assert!(read.contains(&PropertyFilter {
        path: "b".to_owned(),
        any_of: vec![
            PropertyValue::Text("x".to_owned()),
            PropertyValue::Bool(true),
            PropertyValue::Null,
        ],
    }));
}

#[test]
fn an_object_filters_the_properties_within() {
    assert_eq!(filters(json!({"a": {"b": {"c": "x"}}})), filters(json!({"a.b.c": "x"})));
}

#[test]
fn an_invalid_filter_is_refused() {
    let many: Map<String, Value> =
        (0..=PROPERTY_FILTERS_MAX).map(|n| (n.to_string(), json!(n))).collect();
    let deep = ["k"; PROPERTY_PATH_KEYS_MAX + 1].join(".");
    let cases = [
        (Value::Object(many), FilterError::TooMany),
        (
            json!({"a": vec![0; PROPERTY_VALUES_MAX + 1]}),
            FilterError::TooManyValues("a".to_owned()),
        ),
        (json!({ deep.clone(): 1 }), FilterError::TooDeep(deep)),
        (json!({"a": [[1]]}), FilterError::NotPlain("a".to_owned())),
        (json!({"a": [{}]}), FilterError::NotPlain("a".to_owned())),
        (json!({"": 1}), FilterError::NoName),
    ];
    for (value, error) in cases {
        assert_eq!(filters(value), Err(error));
    }
}

#[test]
fn an_empty_array_matches_nothing() {
    let read = filters(json!({"a": []})).expect("a filter");
    assert_eq!(read[0].condition(0), "0");
}

proptest! {
    #[test]
    fn caller_input_never_becomes_part_of_the_condition(
        path in "[A-Z'\"\\\\{}`;]{1,12}(\\.[A-Z'\"\\\\{}`;]{1,12}){0,3}",
        text in "[A-Z'\"\\\\{}`;]{4,12}",
    ) {
        let one = PropertyFilter::new(path, vec![PropertyValue::Text(text), PropertyValue::Number(5.0), PropertyValue::Null]);
        let other = PropertyFilter::new(
            one.as_ref().expect("valid").path.replace(|c| c != '.', "k"),
            vec![PropertyValue::Text("v".to_owned()), PropertyValue::Number(7.0), PropertyValue::Bool(true)],
        );
        prop_assert_eq!(one.expect("valid").condition(3), other.expect("valid").condition(3));
    }
}

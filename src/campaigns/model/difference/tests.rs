//! Differences between versions, and their form in the history.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn differences_of(before: &Value, after: &Value) -> Vec<(String, Op, Value, Value)> {
    let found = differences(before, after).into_iter();
    found.map(|it| (it.path, it.op, it.before, it.after)).collect()
}

#[test]
fn a_difference_is_named_by_its_pointer() {
    let before = json!({
        "name": "a", "description": "d", "tags": ["x", "y"],
        "targeting": {"a/b": {"c~d": 1}, "gone": true},
    });
    let after = json!({
        "name": "b", "description": null, "tags": ["x"], "sendType": "immediate",
        "targeting": {"a/b": {"c~d": 2}},
    });
    assert_eq!(
        differences_of(&before, &after),
        [
            ("/description".to_owned(), Op::Remove, json!("d"), Value::Null),
            ("/name".to_owned(), Op::Replace, json!("a"), json!("b")),
            ("/sendType".to_owned(), Op::Add, Value::Null, json!("immediate")),
            ("/tags/1".to_owned(), Op::Remove, json!("y"), Value::Null),
            ("/targeting/a~1b/c~0d".to_owned(), Op::Replace, json!(1), json!(2)),
            ("/targeting/gone".to_owned(), Op::Remove, json!(true), Value::Null),
        ]
    );
    assert_eq!(
        changed_fields(&before, &after),
        ["description", "name", "sendType", "tags", "targeting"]
            .map(str::to_owned)
            .into_iter()
            .collect::<Vec<_>>()
    );
}

#[test]
fn variants_are_matched_by_id_in_any_order() {
    let variant = |id: &str, subject: &str| json!({"id": id, "message": {"subject": subject}});
    let before = json!({"variants": [variant("a", "1"), variant("b", "2"), variant("c", "3")]});
    let turned = json!({"variants": [variant("c", "3"), variant("a", "1"), variant("b", "2")]});
    assert_eq!(differences_of(&before, &turned), []);

    let after = json!({"variants": [variant("c", "4"), variant("d", "5"), variant("a", "1")]});
    assert_eq!(
        differences_of(&before, &after),
        [
            ("/variants/0/message/subject".to_owned(), Op::Replace, json!("3"), json!("4")),
            ("/variants/1".to_owned(), Op::Add, Value::Null, variant("d", "5")),
            ("/variants/1".to_owned(), Op::Remove, variant("b", "2"), Value::Null),
        ]
    );
}

#[test]
fn too_many_differences_are_reported_by_field() {
    let numbers = |from: usize, count: usize| (from..from + count).collect::<Vec<_>>();
    let before = json!({"name": "a", "targeting": numbers(0, CHANGES_MAX)});
    let after = json!({"name": "b", "targeting": numbers(1, CHANGES_MAX)});
    assert_eq!(differences(&before, &after).len(), 2, "the name and the whole of the targeting");
    let before = json!({"targeting": numbers(0, CHANGES_MAX)});
    let after = json!({"targeting": numbers(1, CHANGES_MAX)});
    assert_eq!(differences(&before, &after).len(), CHANGES_MAX);
}

#[test]
fn long_values_are_shortened_in_the_history() {
    let long = "x".repeat(VALUE_CHARS_MAX);
    let change = Change::of("/name", "a", long);
    assert_eq!(change.before, json!("a"));
    assert_eq!(change.after, json!("(502 characters of JSON)"));
    let exact = "x".repeat(VALUE_CHARS_MAX - 2);
    assert_eq!(Change::of("/name", "a", exact.clone()).after, json!(exact));
    let numbers: Vec<usize> = (0..=ENTRY_CHANGES_MAX).collect();
    let found = differences(&json!({"tags": []}), &json!({"tags": numbers}));
    assert_eq!(for_history(found).len(), ENTRY_CHANGES_MAX);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(1)), Just(json!(2)), Just(json!("a")), Just(json!(true)),];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::hash_map("[a-c/~]{1,2}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Every reported difference is real, and without one the versions are equal.
    #[test]
    fn differences_are_true_and_complete(old in any_json(), new in any_json()) {
        let (before, after) = (json!({"targeting": old}), json!({"targeting": new}));
        let found = differences(&before, &after);
        prop_assert_eq!(found.is_empty(), before == after);
        for it in found {
            prop_assert_eq!(before.pointer(&it.path).cloned().unwrap_or_default(), it.before);
            prop_assert_eq!(after.pointer(&it.path).cloned().unwrap_or_default(), it.after);
        }
    }
}

//! Properties: their limits, and how they are stored.

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::model::limits::PROPERTIES_BYTES_MAX;

#[test]
fn properties_hold_200_top_level_keys() {
    let object =
        |count: usize| Value::Object((0..count).map(|key| (format!("k{key}"), json!(1))).collect());
    assert_eq!(errors(&with("properties", object(200))), [""; 0]);
    assert_eq!(
        errors(&with("properties", object(201))),
        ["properties must have at most 200 top-level keys, received 201"]
    );
    assert_eq!(errors(&with("properties", json!({"nested": object(201)}))), [""; 0]);
}

#[test]
fn properties_hold_51200_bytes_of_compact_json() {
    let frame = r#"{"a":""}"#.len();
    let filled = |bytes: usize| "x".repeat(bytes - frame);
    let at = json!({"a": filled(PROPERTIES_BYTES_MAX)});
    assert_eq!(errors(&with("properties", at.clone())), [""; 0]);
    let spaced = serde_json::to_string_pretty(&at).unwrap();
    assert_eq!(errors(&with_properties(&spaced)), [""; 0]);
    let past = json!({"a": filled(60_210)});
    assert_eq!(
        errors(&with("properties", past)),
        ["properties must be at most 51200 bytes of JSON, received 60210"]
    );
    let one_past = json!({"a": filled(PROPERTIES_BYTES_MAX + 1)});
    assert_eq!(
        errors(&with("properties", one_past)),
        ["properties must be at most 51200 bytes of JSON, received 51201"]
    );
    let escaped = format!(r#"{{"a":"{}"}}"#, r"\u00e9".repeat(20_000));
    assert_eq!(
        errors(&with_properties(&escaped)),
        [""; 0],
        "é is two bytes of UTF-8, however it is sent"
    );
}

#[test]
fn properties_nest_five_deep_and_arrays_count() {
    for (properties, expected) in [
        (r#"{"a":{"b":{"c":{"d":{"e":1}}}}}"#, None),
        (r#"{"a":{"b":{"c":{"d":{"e":{}}}}}}"#, Some("properties.a.b.c.d.e")),
        (r#"{"a":[[[[1]]]]}"#, None),
        (r#"{"a":[[[[[]]]]]}"#, Some("properties.a[0][0][0][0]")),
        (r#"{"a":[1,{"b":[{"c":[]}]}]}"#, Some("properties.a[1].b[0].c")),
    ] {
        let expected: Vec<String> = expected
            .map(|path| {
                format!("{path} is nested too deep: properties may be at most 5 levels deep")
            })
            .into_iter()
            .collect();
        assert_eq!(errors(&with_properties(properties)), expected, "{properties}");
    }
}

#[test]
fn reserved_names_are_the_five_documented_ones() {
    let all = r#"{"$app_id":"a","$app_name":"n","$platform":"ios","$session_id":"s","$anonymous_id":"x"}"#;
    assert_eq!(errors(&with_properties(all)), [""; 0]);
    for (properties, expected) in [
        (r#"{"$total":1}"#, "properties.$total is not allowed: names starting with $ are reserved"),
        (r#"{"$":1}"#, "properties.$ is not allowed: names starting with $ are reserved"),
        (r#"{"\u0024x":1}"#, "properties.$x is not allowed: names starting with $ are reserved"),
        (r#"{"$platform":"windows"}"#, "properties.$platform must be web, ios or android"),
        (r#"{"$platform":1}"#, "properties.$platform must be web, ios or android"),
    ] {
        assert_eq!(errors(&with_properties(properties)), [expected]);
    }
    for platform in ["\"web\"", "\"ios\"", "\"android\"", "null", "\"\\u0077eb\""] {
        assert_eq!(errors(&with_properties(&format!(r#"{{"$platform":{platform}}}"#))), [""; 0]);
    }
}

#[test]
fn properties_are_stored_as_they_were_sent() {
    for sent in [
        "{}",
        "{ }",
        r#"{"a":0.10,"b":1e2,"c":12345678901234567890,"d":49.90,"e":1.0,"f":-0,"g":0.1000000000000000055}"#,
        r#"{"a":"\u00e9\n\"}\\","b":[]}"#,
        r#"{"a":"\\\"","b":"}"}"#,
        r#"{"a": {"b" : [ 1, {"c":null} ,[true ] ] } , "d" : {} }"#,
        "{\n  \"a\": [\n    \"}\"\n  ]\n}",
        r#"{"\u0061":1}"#,
        r#"{"":""}"#,
        r#"{"a":"\\u0000"}"#,
    ] {
        assert_eq!(stored_properties(sent), sent);
    }
    // Wherever the key stands, and however it is written.
    for body in [
        r#"{"properties":{"a":1},"userId":"u","eventName":"E"}"#,
        r#"[{"userId":"u","properties" : {"a":1} ,"eventName":"E"}]"#,
        r#"{"userId":"u","eventName":"E","properties":{"x":{}},"properties":{"a":1}}"#,
        r#"{"userId":"u","eventName":"E","pr\u006fperties":{ "a":1 }}"#,
    ] {
        let batch = admit(body).unwrap().batch.unwrap();
        assert_eq!(batch.events().next().unwrap().properties, r#"{"a":1}"#, "{body}");
    }
}

proptest! {
    #[test]
    fn what_is_stored_is_what_was_sent(properties in object(4), is_pretty: bool) {
        let sent = if is_pretty { serde_json::to_string_pretty(&properties) } else { serde_json::to_string(&properties) };
        let sent = sent.unwrap();
        prop_assert_eq!(stored_properties(&sent), sent);
    }
}

/// Objects that break no rule, with strings that look like structure.
fn object(depth: u32) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z{}\\[\\]\"\\\\:, \n]{0,8}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(depth - 1, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("[a-z{}\"\\\\]{0,4}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    });
    vec(("[a-z{}\"\\\\]{0,4}", value), 0..4)
        .prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
}

#[test]
fn numbers_that_are_not_portable_are_refused() {
    for number in [
        "1e400",
        "-1e400",
        "18446744073709551616",
        "-9223372036854775809",
        "1234567890123456789012345678901234567890",
    ] {
        let expected = "properties.n must be an integer of 64 bits or within the range of a double";
        assert_eq!(
            errors(&with_properties(&format!(r#"{{"n":{number}}}"#))),
            [expected],
            "{number}"
        );
    }
}

#[test]
fn numeric_leaves_are_found_by_dot_path_outside_of_arrays() {
    let properties =
        r#"{"a":1,"b":{"c":2.5,"d":{"e":-3}},"f":[4,{"g":5}],"h":"6","i.j":7,"k":true}"#;
    let expected = [("a", 1.0), ("b.c", 2.5), ("b.d.e", -3.0), ("i.j", 7.0)];
    assert_eq!(stored_numbers(properties), expected.map(|(path, value)| (path.to_owned(), value)));
}

#[test]
fn long_paths_over_many_leaves_do_not_multiply() {
    let leaves: Vec<String> = (0..1000).map(|leaf| format!(r#""{leaf}":1"#)).collect();
    let properties = format!(r#"{{"{}":{{{}}},"last":9}}"#, "p".repeat(20_000), leaves.join(","));
    let numbers = stored_numbers(&properties);
    assert_eq!(numbers.len(), 3, "two nested paths fit the budget");
    assert_eq!(numbers[2], ("last".to_owned(), 9.0));
}

#[test]
fn of_a_key_sent_twice_the_last_value_stays() {
    assert_eq!(stored_properties(r#"{"a":1,"b":2,"a":{"x":1,"x":2}}"#), r#"{"b":2,"a":{"x":2}}"#);
    assert_eq!(
        stored_numbers(r#"{"a":1,"b":2,"a":3}"#),
        [("b".to_owned(), 2.0), ("a".to_owned(), 3.0)]
    );
    assert_eq!(
        stored_properties(r#"{"a":1,"\u0061":[{"b":1,"b":2}, {}]}"#),
        r#"{"a":[{"b":2},{}]}"#
    );
    let many: Vec<String> = (0..300).map(|key| format!(r#""key-{}":{key}"#, key % 150)).collect();
    let stored = stored_properties(&format!("{{{}}}", many.join(",")));
    assert_eq!(serde_json::from_str::<Value>(&stored).unwrap()["key-7"], json!(157));
    let batch = admit(r#"{"userId":1,"userId":"u","eventName":"A","eventName":"B","properties":1,"properties":{}}"#).unwrap().batch.unwrap();
    assert_eq!(batch.events().next().unwrap().event_name, "B");
}

#[test]
fn unparsable_properties_are_rejected_with_the_byte_offset() {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let number = "must be an integer of 64 bits or within the range of a double";
    let surrogates = "must not contain unpaired surrogates";
    let depth = "is nested too deep: properties may be at most 5 levels deep";
    for (properties, expected) in [
        (r#"{"a":1.5,"b":{"c":[0,1e999]}}"#.to_owned(), format!("properties.b.c[1] {number}")),
        (r#"{"a":{"b":"\u0041\udfff"}}"#.to_owned(), format!("properties.a.b {surrogates}")),
        (r#"{"a":{"\ud800":1}}"#.to_owned(), format!(r"properties.a.\ud800 {surrogates}")),
        (format!(r#"{{"\u0061":{deep}}}"#), format!("properties.a[0][0][0][0] {depth}")),
    ] {
        assert_eq!(errors(&with_properties(&properties)), [expected], "{properties}");
    }
    // What is sent later counts, as it does where everything can be parsed.
    let recovered = r#"{"userId":"\ud800","eventName":"E","properties":{"a":1e999},"userId":"u","properties":{"b":1}}"#;
    assert_eq!(errors(recovered), [""; 0]);
}

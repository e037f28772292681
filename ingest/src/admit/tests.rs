//! The specification's rules for tracked events, each at its boundary and one past it.

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

use super::*;
use crate::model::limits::PROPERTIES_BYTES_MAX;

/// 2026-11-21T00:00:00Z
const NOW_MS: i64 = 1_795_219_200_000;
const WORKSPACE: Uuid = Uuid::from_u128(7);

/// A node: what surrounds requests.
#[derive(Default)]
struct Node {
    window: Window,
    sequence: Sequence,
    admitter: Admitter,
}

impl Node {
    fn admit_at(&mut self, body: &str, now_ms: i64) -> Result<Admitted, BodyError> {
        let context = Context {
            workspace_id: WORKSPACE,
            received_at_ms: now_ms,
            window: &self.window,
            sequence: &self.sequence,
        };
        self.admitter.admit(body.as_bytes(), &context)
    }

    fn admit(&mut self, body: &str) -> Result<Admitted, BodyError> {
        self.admit_at(body, NOW_MS)
    }
}

fn admit(body: &str) -> Result<Admitted, BodyError> {
    Node::default().admit(body)
}

/// The messages one event is refused with; empty when it is accepted.
fn errors(event: &str) -> Vec<String> {
    let admitted = admit(event).unwrap();
    assert_eq!(admitted.accepted + admitted.rejected.len(), 1);
    assert_eq!(admitted.batch.is_some(), admitted.rejected.is_empty());
    admitted.rejected.into_iter().flat_map(|rejected| rejected.errors).collect()
}

/// An otherwise good event with one field set; `null` keys are left as they are.
fn with(field: &str, value: Value) -> String {
    let mut event = json!({"userId": "u", "eventName": "Page Viewed"});
    event[field] = value;
    event.to_string()
}

/// An otherwise good event whose properties are this JSON text.
fn with_properties(properties: &str) -> String {
    format!(r#"{{"userId":"u","eventName":"Page Viewed","properties":{properties}}}"#)
}

/// The properties stored for that text.
fn stored_properties(properties: &str) -> String {
    let admitted = admit(&with_properties(properties)).unwrap();
    let batch = admitted.batch.unwrap_or_else(|| panic!("{:?}", admitted.rejected));
    batch.events().next().unwrap().properties.to_owned()
}

/// The numbers stored for that text.
fn stored_numbers(properties: &str) -> Vec<(String, f64)> {
    let batch = admit(&with_properties(properties)).unwrap().batch.unwrap();
    let numbers = batch.events().next().unwrap().numbers();
    numbers.map(|(path, value)| (path.to_owned(), value)).collect()
}

#[test]
fn every_field_of_the_table_is_stored() {
    let body = json!({
        "userId": "u-1",
        "eventName": "Order Completed",
        "properties": {"total": 12.5, "currency": "EUR", "nested": {"deep": 3}},
        "timestamp": "2026-03-01T10:20:30.456+02:00",
        "serviceUserId": "ABCDEF0123456789abcdef01",
        "anonymousId": "anon",
        "userAlias": {"aliasLabel": "crm", "aliasName": "42"},
        "sessionId": "s",
        "deviceId": "d",
        "clientEventId": "c-1",
        "unknown": {"is": ["ignored", "huge"]},
    });
    let admitted = admit(&body.to_string().replace("\"huge\"", "1e400")).unwrap();
    assert_eq!((admitted.shape, admitted.processed, admitted.accepted), (Shape::One, 1, 1));
    assert_eq!(admitted.event_id.as_deref(), Some("c-1"));
    let batch = admitted.batch.unwrap();
    assert_eq!(batch.header().workspace_id, WORKSPACE);
    assert_eq!(batch.header().received_at_ms, NOW_MS);
    let event = batch.events().next().unwrap();
    assert_eq!(event.seq, (u64::try_from(NOW_MS).unwrap() * 1000) << 12);
    assert_eq!(
        event.identifiers(),
        [
            "Order Completed",
            "u-1",
            "anon",
            "abcdef0123456789abcdef01",
            "crm",
            "42",
            "c-1",
            "s",
            "d"
        ]
    );
    assert_eq!(event.timestamp_ms, 1_772_353_230_456);
    assert_eq!(event.day, 20_513);
    assert_eq!(event.numbers().collect::<Vec<_>>(), [("nested.deep", 3.0), ("total", 12.5)]);
    assert_eq!(event.order.unwrap().revenue, Some(125_000));
}

#[test]
fn wrong_types_in_every_field_give_one_message_each_in_the_order_of_the_table() {
    for wrong in ["1", "true", "[]", "{}", r#""x""#] {
        let body = format!(
            r#"{{"clientEventId":{wrong},"deviceId":{wrong},"sessionId":{wrong},"userAlias":{wrong},
                "anonymousId":{wrong},"serviceUserId":{wrong},"timestamp":{wrong},"properties":{wrong},
                "eventName":{wrong},"userId":{wrong}}}"#
        );
        let fields: Vec<String> =
            errors(&body).iter().map(|error| error.split(' ').next().unwrap().to_owned()).collect();
        let expected: &[&str] = match wrong {
            r#""x""# => &["properties", "timestamp", "serviceUserId", "userAlias"],
            "{}" => &[
                "userId",
                "eventName",
                "timestamp",
                "serviceUserId",
                "anonymousId",
                "sessionId",
                "deviceId",
                "clientEventId",
            ],
            _ => &[
                "userId",
                "eventName",
                "properties",
                "timestamp",
                "serviceUserId",
                "anonymousId",
                "userAlias",
                "sessionId",
                "deviceId",
                "clientEventId",
            ],
        };
        assert_eq!(fields, expected, "{wrong}");
    }
}

#[test]
fn null_stands_for_absent_in_every_optional_field() {
    for field in [
        "properties",
        "timestamp",
        "serviceUserId",
        "anonymousId",
        "userAlias",
        "sessionId",
        "deviceId",
        "clientEventId",
    ] {
        assert_eq!(errors(&with(field, Value::Null)), [""; 0], "{field}");
    }
    assert_eq!(
        errors(&with("userId", Value::Null)),
        ["userId, serviceUserId, anonymousId or userAlias is required"]
    );
    assert_eq!(errors(&with("eventName", Value::Null)), ["eventName is required"]);
}

#[test]
fn any_one_identifier_is_enough_and_empty_ones_do_not_count() {
    let cases = [
        (json!({"userId": "u"}), true),
        (json!({"anonymousId": "a"}), true),
        (json!({"serviceUserId": "0123456789abcdef01234567"}), true),
        (json!({"userAlias": {"aliasLabel": "l", "aliasName": "n"}}), true),
        (json!({}), false),
        (json!({"userId": "", "anonymousId": "", "serviceUserId": ""}), false),
        (json!({"userAlias": {}}), false),
        (json!({"userAlias": {"aliasLabel": "", "aliasName": null}}), false),
        (json!({"sessionId": "s", "deviceId": "d"}), false),
    ];
    for (mut event, is_enough) in cases {
        event["eventName"] = json!("E");
        let expected: &[&str] = if is_enough {
            &[]
        } else {
            &["userId, serviceUserId, anonymousId or userAlias is required"]
        };
        assert_eq!(errors(&event.to_string()), expected, "{event}");
    }
}

#[test]
fn an_identifier_at_fault_is_not_also_reported_missing() {
    let event = json!({"userId": 5, "eventName": "E"});
    assert_eq!(errors(&event.to_string()), ["userId must be a string"]);
    let event = json!({"userAlias": {"aliasLabel": "l"}, "eventName": "E"});
    assert_eq!(errors(&event.to_string()), ["userAlias.aliasName is required"]);
}

#[test]
fn names_and_identifiers_hold_255_characters_whatever_their_bytes() {
    for field in ["userId", "eventName", "anonymousId", "sessionId", "deviceId", "clientEventId"] {
        assert_eq!(errors(&with(field, json!("é".repeat(255)))), [""; 0], "{field}");
        let expected = format!("{field} must be at most 255 characters, received 256");
        assert_eq!(errors(&with(field, json!("é".repeat(256)))), [expected]);
    }
    let alias =
        |length| json!({"aliasLabel": "😀".repeat(length), "aliasName": "x".repeat(length)});
    assert_eq!(errors(&with("userAlias", alias(255))), [""; 0]);
    assert_eq!(
        errors(&with("userAlias", alias(256))),
        [
            "userAlias.aliasLabel must be at most 255 characters, received 256",
            "userAlias.aliasName must be at most 255 characters, received 256",
        ]
    );
}

#[test]
fn a_service_user_id_is_24_hexadecimal_characters() {
    for (id, good) in [
        ("0123456789abcdef01234567", true),
        ("0123456789abcdef0123456", false),
        ("0123456789abcdef012345678", false),
        ("0123456789abcdef0123456g", false),
    ] {
        let expected: &[&str] =
            if good { &[] } else { &["serviceUserId must be 24 hexadecimal characters"] };
        assert_eq!(errors(&with("serviceUserId", json!(id))), expected, "{id}");
    }
}

#[test]
fn nul_and_lone_surrogates_are_refused_everywhere() {
    for field in [
        "userId",
        "eventName",
        "timestamp",
        "serviceUserId",
        "anonymousId",
        "sessionId",
        "deviceId",
        "clientEventId",
    ] {
        let nul =
            format!(r#"{{"anonymousId":"a","userId":"u","eventName":"E","{field}":"a\u0000b"}}"#);
        assert_eq!(errors(&nul), [format!("{field} must not contain NUL characters")]);
        let lone =
            format!(r#"{{"anonymousId":"a","userId":"u","eventName":"E","{field}":"\ud83d"}}"#);
        assert_eq!(errors(&lone), [format!("{field} must not contain unpaired surrogates")]);
    }
    let cases = [
        (r#"{"a":"\u0000"}"#, "properties.a must not contain NUL characters"),
        (r#"{"a":{"b":["x","\u0000"]}}"#, "properties.a.b[1] must not contain NUL characters"),
        (r#"{"a\u0000":1}"#, r"properties.a\u0000 must not contain NUL characters"),
        (r#"{"a":"\udc00"}"#, "properties.a must not contain unpaired surrogates"),
        (r#"{"a":"\ud800\ud800"}"#, "properties.a must not contain unpaired surrogates"),
    ];
    for (properties, expected) in cases {
        assert_eq!(errors(&with_properties(properties)), [expected]);
    }
    assert_eq!(stored_properties(r#"{"a":"\ud83d\ude00"}"#), r#"{"a":"😀"}"#);
}

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
fn numbers_are_stored_as_sent_and_unportable_ones_refused() {
    let same = r#"{"a":0.10,"b":1e2,"c":12345678901234567890,"d":-0,"e":1.0,"f":-9223372036854775808,"g":0.1000000000000000055}"#;
    assert_eq!(stored_properties(same), same);
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
    assert_eq!(stored_properties(r#"{"a":1,"b":2,"a":{"x":1,"x":2}}"#), r#"{"a":{"x":2},"b":2}"#);
    assert_eq!(
        stored_numbers(r#"{"a":1,"b":2,"a":3}"#),
        [("a".to_owned(), 3.0), ("b".to_owned(), 2.0)]
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
fn an_event_without_an_id_gets_a_uuid_of_its_time_and_ids_sort_as_events_do() {
    let one = admit(&with("userId", json!("u"))).unwrap();
    let id: Uuid = one.event_id.unwrap().parse().unwrap();
    assert_eq!(id.get_version_num(), 7);
    assert_eq!(id.as_u128() >> 80, u128::try_from(NOW_MS).unwrap());
    let event = with("userId", json!("u"));
    let many = admit(&format!("[{}]", vec![event; 500].join(","))).unwrap().batch.unwrap();
    let ids: Vec<&str> = many.events().map(|event| event.event_id).collect();
    assert!(ids.is_sorted_by(|one, next| one < next));
}

#[test]
fn an_array_is_judged_element_by_element() {
    let body = r#"[{"userId":"u","eventName":"A"},{"eventName":"B"},7,{"userId":"u"},null,{"userId":"u","eventName":"C"}]"#;
    let admitted = admit(body).unwrap();
    assert_eq!((admitted.shape, admitted.processed, admitted.accepted), (Shape::Many, 6, 2));
    assert_eq!(admitted.event_id, None);
    let verdicts: Vec<_> = admitted
        .rejected
        .iter()
        .map(|rejected| (rejected.index, rejected.name.as_deref(), rejected.errors[0].as_str()))
        .collect();
    assert_eq!(
        verdicts,
        [
            (1, Some("B"), "userId, serviceUserId, anonymousId or userAlias is required"),
            (2, None, "event must be an object"),
            (3, None, "eventName is required"),
            (4, None, "event must be an object"),
        ]
    );
    let batch = admitted.batch.unwrap();
    let names: Vec<_> = batch.events().map(|event| event.event_name).collect();
    assert_eq!(names, ["A", "C"]);
}

#[test]
fn the_name_of_a_refused_event_is_cut() {
    let admitted = admit(&with("eventName", json!("n".repeat(10_000)))).unwrap();
    assert_eq!(admitted.rejected[0].name.as_deref(), Some("n".repeat(255).as_str()));
}

#[test]
fn bodies_of_the_wrong_shape_are_refused_as_a_whole() {
    let event = r#"{"userId":"u","eventName":"A"}"#;
    let array = |count: usize| format!("[{}]", vec![event; count].join(","));
    assert_eq!(admit(&array(500)).unwrap().accepted, 500);
    let cases = [
        (String::new(), "body is not valid JSON: expected a value at byte 0"),
        ("nope".to_owned(), "body is not valid JSON: expected a value at byte 0"),
        (
            format!("{event}{event}"),
            "body is not valid JSON: expected the end of the body at byte 30",
        ),
        (
            r#"{"userId":"u","eventName":"A","#.to_owned(),
            "body is not valid JSON: expected a key in quotes at byte 30",
        ),
        ("7".to_owned(), "body must be an event object or an array of event objects"),
        ("null".to_owned(), "body must be an event object or an array of event objects"),
        ("[]".to_owned(), "body must contain at least 1 event"),
        (" [ ] ".to_owned(), "body must contain at least 1 event"),
        (array(501), "body must contain at most 500 events, received 501"),
        (array(2000), "body must contain at most 500 events, received 2000"),
    ];
    for (body, expected) in cases {
        assert_eq!(admit(&body).unwrap_err().to_string(), expected);
    }
    let node = Node::default();
    let context = Context {
        workspace_id: WORKSPACE,
        received_at_ms: NOW_MS,
        window: &node.window,
        sequence: &node.sequence,
    };
    let refused = Admitter::default().admit(b"[\"\xff\"]", &context).unwrap_err();
    assert_eq!(refused.to_string(), "body is not valid JSON: expected UTF-8 at byte 2");
}

#[test]
fn one_element_nested_ten_thousand_deep_is_refused_alone() {
    let deep = format!("{}{}", r#"{"a":["#.repeat(5000), "]}".repeat(5000));
    let good = with("userId", json!("u"));
    for field in ["properties", "userId", "ignored", "userAlias"] {
        let bad = format!(r#"{{"anonymousId":"a","eventName":"E","{field}":{deep}}}"#);
        let admitted = admit(&format!("[{good},{bad},{good},{deep}]")).unwrap();
        let refused: Vec<_> = admitted.rejected.iter().map(|rejected| rejected.index).collect();
        // An alias without its two parts counts as absent, and unknown fields are ignored.
        let expected: &[usize] =
            if matches!(field, "ignored" | "userAlias") { &[3] } else { &[1, 3] };
        assert_eq!(refused, expected, "{field}");
    }
}

#[test]
fn the_same_id_twice_in_one_array_is_accepted_twice_and_stored_once() {
    for timestamps in [["", ""], [r#","timestamp":"2026-01-01""#, r#","timestamp":"2026-01-02""#]] {
        let event = |name: &str, timestamp: &str| {
            format!(r#"{{"userId":"u","clientEventId":"c","eventName":"{name}"{timestamp}}}"#)
        };
        let body = format!("[{},{}]", event("A", timestamps[0]), event("B", timestamps[1]));
        let admitted = admit(&body).unwrap();
        assert_eq!(admitted.accepted, 2);
        let batch = admitted.batch.unwrap();
        let names: Vec<_> = batch.events().map(|event| event.event_name).collect();
        assert_eq!(names, ["A"]);
    }
}

#[test]
fn a_repeat_without_a_timestamp_takes_the_first_ones_time_until_the_first_is_durable() {
    let mut node = Node::default();
    let body = with("clientEventId", json!("c"));
    let first = node.admit(&body).unwrap();
    let tenth_of_december = NOW_MS + 19 * calendar::DAY_MS;
    let second = node.admit_at(&body, NOW_MS + 6 * calendar::DAY_MS).unwrap();
    let stored: Vec<_> = [&first, &second]
        .map(|admitted| {
            let event = admitted.batch.as_ref().unwrap().events().next().unwrap();
            (event.timestamp_ms, event.day)
        })
        .to_vec();
    let first_of_november = calendar::first_of_month(calendar::day_of(NOW_MS));
    assert_eq!(stored, [(NOW_MS, first_of_november); 2]);
    assert_eq!(second.event_id.as_deref(), Some("c"));

    node.window.confirm(&first.claims);
    let third = node.admit_at(&body, NOW_MS + 7).unwrap();
    assert_eq!((third.accepted, third.event_id.as_deref()), (1, Some("c")));
    assert!(third.batch.is_none(), "what is durable is not stored again");
    let array = format!("[{body},{}]", with("clientEventId", json!("other")));
    let fourth = node.admit_at(&array, NOW_MS + 8).unwrap();
    assert_eq!((fourth.accepted, fourth.batch.unwrap().header().count), (2, 1));

    let late = node.admit_at(&body, tenth_of_december).unwrap().batch.unwrap();
    assert_eq!(
        late.events().next().unwrap().timestamp_ms,
        tenth_of_december,
        "forgotten after 7 days"
    );
}

#[test]
fn a_refused_request_claims_nothing() {
    let mut node = Node::default();
    let body = with("clientEventId", json!("c"));
    node.admit(&format!("[{body},")).unwrap_err();
    node.admit(&format!("[{}]", vec![body.as_str(); 501].join(","))).unwrap_err();
    assert!(node.window.is_empty());
}

#[test]
fn the_key_day_is_the_events_the_months_or_the_received_one() {
    let day = |event: &str| admit(event).unwrap().batch.unwrap().events().next().unwrap().day;
    let received = calendar::day_of(NOW_MS);
    assert_eq!(day(&with("userId", json!("u"))), received);
    assert_eq!(day(&with("clientEventId", json!("c"))), calendar::first_of_month(received));
    let sent = json!({"userId": "u", "eventName": "E", "clientEventId": "c", "timestamp": NOW_MS - calendar::DAY_MS});
    assert_eq!(day(&sent.to_string()), received - 1);
}

/// Any JSON a caller may nest, strings with everything but NUL.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e300..1e300).prop_map(Value::from),
        "[^\\x00]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 32, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec(("[^\\x00]{0,6}", inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Numeric leaves as the contract defines them, found by the slow and obvious way.
fn leaves(value: &Value, path: &str, found: &mut Vec<(String, f64)>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match value {
            Value::Number(number) => found.push((path, number.as_f64().unwrap())),
            other => leaves(other, &path, found),
        }
    }
}

proptest! {
    #[test]
    fn what_is_admitted_decodes_to_what_was_sent(
        user in "[^\\x00]{1,20}",
        properties in vec(("[^\\x00$][^\\x00]{0,5}", any_json()), 0..6),
        is_pretty in any::<bool>(),
    ) {
        let properties = Value::Object(properties.into_iter().collect());
        let event = json!({"userId": user, "eventName": "E", "properties": properties});
        let body = if is_pretty { serde_json::to_string_pretty(&event) } else { serde_json::to_string(&event) }.unwrap();
        let admitted = admit(&body).unwrap();
        prop_assert_eq!(&admitted.rejected, &[]);
        let batch = admitted.batch.unwrap();
        let stored = batch.events().next().unwrap();
        prop_assert_eq!(stored.user_id, user);
        prop_assert_eq!(stored.properties, properties.to_string());
        let mut expected = Vec::new();
        leaves(&properties, "", &mut expected);
        let found: Vec<_> = stored.numbers().map(|(path, value)| (path.to_owned(), value)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..64)) {
        let node = Node::default();
        let context = Context { workspace_id: WORKSPACE, received_at_ms: NOW_MS, window: &node.window, sequence: &node.sequence };
        drop(Admitter::default().admit(&bytes, &context));
    }

    #[test]
    fn damaged_bodies_are_refused_or_give_a_sound_batch(
        properties in any_json(),
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let node = Node::default();
        let context = Context { workspace_id: WORKSPACE, received_at_ms: NOW_MS, window: &node.window, sequence: &node.sequence };
        let event = json!({"userId": "u", "eventName": "Order Completed", "clientEventId": "c", "timestamp": "2026-01-01T00:00:00Z", "properties": properties});
        let mut body = format!("[{event},{event}]").into_bytes();
        for (index, byte) in flips {
            let index = index.index(body.len());
            body[index] = byte;
        }
        match Admitter::default().admit(&body, &context) {
            Err(_) => {}
            Ok(admitted) => {
                prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok());
                for event in admitted.batch.iter().flat_map(Batch::events) {
                    prop_assert!(serde_json::from_str::<Value>(event.properties).is_ok(), "{}", event.properties);
                }
            }
        }
    }
}

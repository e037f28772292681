//! The fields of one event, but for its properties.

use super::*;

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
    for (id, valid) in [
        ("0123456789abcdef01234567", true),
        ("0123456789abcdef0123456", false),
        ("0123456789abcdef012345678", false),
        ("0123456789abcdef0123456g", false),
    ] {
        let expected: &[&str] =
            if valid { &[] } else { &["serviceUserId must be 24 hexadecimal characters"] };
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
    let paired = r#"{"a":"\ud83d\ude00"}"#;
    assert_eq!(stored_properties(paired), paired);
}

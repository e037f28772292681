//! Bad input: each type of call with each field missing, null, wrong, too long, too deep.

use super::*;

/// A good call of each type, its fields, and which of them it needs.
fn good() -> Vec<(Protocol, Value, &'static [&'static str])> {
    let all = |kind: &str| {
        json!({"type": kind, "event": "E", "userId": "ann", "anonymousId": "x", "previousId": "y", "groupId": "g",
            "messageId": "m", "timestamp": "2026-11-21T11:00:00Z", "sentAt": "2026-11-21T12:00:00Z", "name": "N",
            "category": "C", "properties": {"a": 1}, "traits": {"a": 1}, "context": {"a": 1}})
    };
    let posthog = |event: &str| {
        json!({"event": event, "distinct_id": "ann", "uuid": "m", "timestamp": "2026-11-21T11:00:00Z",
            "properties": {"alias": "y", "$group_key": "g"}, "$set": {"a": 1}, "$set_once": {"b": 1}})
    };
    vec![
        (Protocol::Segment, all("track"), &["type", "event"]),
        (Protocol::Segment, all("page"), &["type"]),
        (Protocol::Segment, all("screen"), &["type"]),
        (Protocol::Segment, all("identify"), &["type"]),
        (Protocol::Segment, all("group"), &["type", "groupId"]),
        (Protocol::Segment, all("alias"), &["type", "userId", "previousId"]),
        (Protocol::PostHog, posthog("E"), &["event", "distinct_id"]),
        (Protocol::PostHog, posthog("$pageview"), &["event", "distinct_id"]),
        (Protocol::PostHog, posthog("$identify"), &["event"]),
        (Protocol::PostHog, posthog("$groupidentify"), &["event", "properties"]),
        (Protocol::PostHog, posthog("$create_alias"), &["event", "properties", "distinct_id"]),
    ]
}

#[test]
fn a_good_call_of_each_type_is_accepted() {
    for (protocol, call, _) in good() {
        assert_eq!(errors(protocol, &call), [""; 0], "{call}");
    }
}

#[test]
fn a_missing_or_null_field_is_a_fault_where_the_call_needs_it() {
    for (protocol, call, needed) in good() {
        for field in call.as_object().unwrap().keys() {
            let mut missing = call.clone();
            missing.as_object_mut().unwrap().remove(field);
            let mut null = call.clone();
            null[field] = Value::Null;
            for faulty in [missing, null] {
                let errors = errors(protocol, &faulty);
                // Without its type a PostHog call is an event without a name.
                let is_needed = needed.contains(&field.as_str());
                assert_eq!(errors.is_empty(), !is_needed, "{field} of {call}: {errors:?}");
            }
        }
    }
}

#[test]
fn a_wrong_or_too_long_field_is_named() {
    for (protocol, call, _) in good() {
        let kind = call["type"].as_str().unwrap_or_default().to_owned();
        for field in call.as_object().unwrap().keys() {
            let is_object = call[field].is_object();
            // Optional parts of an event, and times that correct others, do without.
            if matches!(field.as_str(), "context" | "name" | "category" | "sentAt") {
                continue;
            }
            let is_read = match field.as_str() {
                "properties" => !matches!(kind.as_str(), "identify" | "group" | "alias"),
                "traits" => matches!(kind.as_str(), "identify" | "group"),
                "event" => kind == "track" || protocol == Protocol::PostHog,
                "previousId" => kind == "alias",
                "groupId" => kind == "group",
                "$set" | "$set_once" => {
                    !matches!(call["event"].as_str().unwrap(), "$groupidentify" | "$create_alias")
                }
                _ => true,
            };
            let wrong = if is_object { json!("text") } else { json!({"a": 1}) };
            let long =
                if is_object { json!({"a": "x".repeat(60_000)}) } else { json!("x".repeat(256)) };
            for value in [wrong, long] {
                let mut faulty = call.clone();
                faulty[field] = value;
                let errors = errors(protocol, &faulty);
                if is_read && !(protocol == Protocol::PostHog && field == "properties") {
                    assert!(!errors.is_empty(), "{field} of {call}");
                    assert!(errors[0].starts_with(field), "{field} of {call}: {errors:?}");
                }
            }
        }
    }
}

#[test]
fn each_identifier_is_held_to_its_limit() {
    for (field, call) in [
        ("userId", json!({"type": "track", "event": "E"})),
        ("anonymousId", json!({"type": "page"})),
        ("messageId", json!({"type": "screen", "userId": "u"})),
        ("event", json!({"type": "track", "userId": "u"})),
        ("groupId", json!({"type": "group", "userId": "u"})),
        ("previousId", json!({"type": "alias", "userId": "u"})),
    ] {
        for (length, is_good) in [(255, true), (256, false)] {
            let mut call = call.clone();
            call[field] = json!("ä".repeat(length));
            let errors = errors(Protocol::Segment, &call);
            assert_eq!(errors.is_empty(), is_good, "{field}: {errors:?}");
            assert!(
                is_good
                    || errors == [format!("{field} must be at most 255 characters, received 256")]
            );
        }
    }
}

#[test]
fn what_simd_json_refuses_stays_with_its_call() {
    let deep = format!("{}1{}", r#"{"a":"#.repeat(200), "}".repeat(200));
    let good = r#"{"type":"track","event":"Good","userId":"ann"}"#;
    for (faulty, expected) in [
        (
            r#"{"type":"track","event":"E","userId":"ann","properties":{"a":1e400}}"#.to_owned(),
            "properties.a must be",
        ),
        (
            format!(r#"{{"type":"track","event":"E","userId":"ann","properties":{deep}}}"#),
            "properties.a.a",
        ),
        (format!(r#"{{"type":"identify","userId":"ann","traits":{deep}}}"#), "traits.a.a"),
        (
            r#"{"type":"track","event":"\ud800","userId":"ann"}"#.to_owned(),
            "event must not contain unpaired",
        ),
        (
            r#"{"type":"track","event":"E","userId":123456789012345678901234567890}"#.to_owned(),
            "userId must be a string",
        ),
        (r#"{"type":"\ud800"}"#.to_owned(), "type must be"),
        (deep.clone(), "type is required"),
        ("1e400".to_owned(), "event must be an object"),
    ] {
        let body =
            format!(r#"{{"batch":[{good},{faulty},{good}],"sentAt":"2026-11-21T12:00:00Z"}}"#);
        let admitted = Node::default().admit(rules(Protocol::Segment), &body).unwrap();
        assert_eq!((admitted.processed, admitted.accepted), (3, 2), "{faulty}");
        let [rejected] = admitted.rejected.as_slice() else { panic!("{:?}", admitted.rejected) };
        assert_eq!(rejected.index, 1);
        assert!(rejected.errors[0].starts_with(expected), "{expected}: {:?}", rejected.errors);
    }
    // An unreadable context costs the context.
    let body =
        format!(r#"{{"batch":[{{"type":"track","event":"E","userId":"ann","context":{deep}}}]}}"#);
    let admitted = Node::default().admit(rules(Protocol::Segment), &body).unwrap();
    assert_eq!((admitted.accepted, admitted.adjusted.cut), (1, 1));
}

#[test]
fn what_holds_ids_or_traits_and_cannot_be_read_is_a_fault() {
    let half = r#"{"a":"\ud800","$set":{"plan":"pro"},"traits":{"plan":"pro"}}"#;
    let posthog = |event: &str| {
        let call = format!(
            r#"{{"event":"{event}","distinct_id":"ann","$set":{{"b":1}},"properties":{half}}}"#
        );
        (Protocol::PostHog, call, "properties.a must not contain unpaired surrogates")
    };
    let of_context = r#"{"type":"identify","userId":"ann","context":"#;
    let mut calls: Vec<_> =
        ["$identify", "$set", "$set_once", "$groupidentify", "$create_alias"].map(posthog).into();
    calls.push((
        Protocol::Segment,
        format!("{of_context}{half}}}"),
        "context.a must not contain unpaired surrogates",
    ));
    for (protocol, call, expected) in calls {
        let body = format!(r#"{{"batch":[{call}]}}"#);
        let admitted = Node::default().admit(rules(protocol), &body).unwrap();
        assert!(admitted.profiles.is_none(), "{call}");
        let [rejected] = admitted.rejected.as_slice() else { panic!("{call} is accepted") };
        assert_eq!(rejected.errors, [expected], "{call}");
        assert_eq!(admitted.adjusted, Adjustments::default());
    }
    // Traits beside the context are read, and nothing else is kept of it.
    let beside = format!(r#"{{"batch":[{of_context}{half},"traits":{{"b":1}}}}]}}"#);
    let group = format!(r#"{{"type":"group","userId":"ann","groupId":"g","context":{half}}}"#);
    for body in [beside, group] {
        let admitted = Node::default().admit(rules(Protocol::Segment), &body).unwrap();
        assert_eq!((admitted.accepted, profiles(&admitted).len()), (1, 1), "{body}");
        assert_eq!(admitted.adjusted, Adjustments::default());
    }
    for event in ["$identify", "$groupidentify", "$create_alias"] {
        let call = json!({"event": event, "distinct_id": "ann", "properties": "text"});
        assert_eq!(errors(Protocol::PostHog, &call), ["properties must be an object"]);
    }
}

#[test]
fn bodies_without_a_call_are_refused_whole() {
    for (protocol, body, expected) in [
        (Protocol::Segment, "{}", BodyError::NoCall),
        (Protocol::Segment, r#"{"writeKey":"WK","sentAt":"2026-11-21"}"#, BodyError::NoCall),
        (Protocol::Segment, "[]", BodyError::NoCall),
        (Protocol::Segment, "5", BodyError::NoCall),
        (Protocol::Segment, r#"{"batch":[]}"#, BodyError::EmptyArray),
        (Protocol::Segment, r#"{"batch":5}"#, BodyError::BatchNotArray),
        (Protocol::Segment, r#"{"batch":{"a":1e400}}"#, BodyError::BatchNotArray),
        (Protocol::Segment, r#"{"unknown":1e400}"#, BodyError::NoCall),
        (Protocol::PostHog, r#"{"api_key":"PK"}"#, BodyError::NoCall),
        (Protocol::PostHog, "[]", BodyError::EmptyArray),
        (Protocol::PostHog, r#"{"api_key":"PK","batch":[]}"#, BodyError::EmptyArray),
    ] {
        let refused = Node::default().admit(rules(protocol), body).unwrap_err();
        assert_eq!(refused, expected, "{body}");
    }
    for body in ["", "{", r#"{"batch":[{"type":"track"}"#, "\u{0}", r#"{"batch":[1,]}"#] {
        let refused = Node::default().admit(rules(Protocol::Segment), body).unwrap_err();
        assert!(matches!(refused, BodyError::NotJson(_)), "{body}: {refused:?}");
    }
}

#[test]
fn a_hundred_thousand_events_of_one_byte_are_counted_and_few_are_named() {
    let body = format!(r#"{{"batch":[{}1]}}"#, "1,".repeat(99_999));
    let admitted = Node::default().admit(rules(Protocol::Segment), &body).unwrap();
    assert_eq!((admitted.processed, admitted.rejected_count), (100_000, 100_000));
    assert_eq!(admitted.rejected.len(), REJECTED_NAMED_MAX);
    assert!(admitted.events.is_none() && admitted.profiles.is_none());
}

#[test]
fn a_batch_in_a_batch_is_a_faulty_event() {
    let inner = json!({"batch": [{"type": "track", "event": "E", "userId": "ann"}]});
    let admitted = admit(Protocol::Segment, &batch(std::slice::from_ref(&inner)));
    assert_eq!((admitted.accepted, admitted.rejected_count), (0, 1));
    let admitted = admit(Protocol::PostHog, &batch(&[inner]));
    assert_eq!((admitted.accepted, admitted.rejected_count), (0, 1));
}

#[test]
fn addresses_are_checked_and_named() {
    for (traits, expected) in [
        (json!({"email": "none"}), "traits.email must be an email address"),
        (json!({"email": 5}), "traits.email must be a string"),
        (json!({"phone": "123"}), "traits.phone must be a phone number"),
        (json!({"email": "a@x.test", "phone": {}}), "traits.phone must be a string"),
    ] {
        let call = json!({"type": "identify", "userId": "ann", "traits": traits});
        assert_eq!(errors(Protocol::Segment, &call), [expected]);
    }
    let call = json!({"type": "identify", "userId": "ann", "traits": {"email": null, "phone": ""}});
    assert_eq!(errors(Protocol::Segment, &call), [""; 0]);
}

proptest::proptest! {
    #[test]
    fn arbitrary_bodies_never_panic(body in ".{0,200}", calls in proptest::collection::vec(r#"\{("(type|event|userId|properties|traits|batch|timestamp|context)":("track"|"identify"|1e400|null|\{\}|"\\ud800"|\[\]),?){0,4}\}"#, 0..4)) {
        let mut node = Node::default();
        let _ = node.admit(rules(Protocol::Segment), &body);
        let _ = node.admit(rules(Protocol::PostHog), &body);
        let body = format!(r#"{{"batch":[{}]}}"#, calls.join(","));
        let _ = node.admit(rules(Protocol::Segment), &body);
        let _ = node.admit(rules(Protocol::PostHog), &body);
    }
}

//! The protocol of Segment and RudderStack.

use super::*;

/// As analytics-node 3.1.0, rudder-sdk-node 3.0.13 and rudder-sdk-python 2.1.9 send them.
const ANALYTICS_NODE: &str = r#"{"batch":[{"timestamp":"2026-11-21T11:59:58.000Z","integrations":{},"event":"Order Completed","type":"track","properties":{"order_id":"o1","revenue":12.5},"context":{"library":{"name":"@segment/analytics-node","version":"3.1.0"}},"userId":"ann","messageId":"node-next-1","_metadata":{"nodeVersion":"v20.20.2","jsRuntime":"node"}},{"timestamp":"2026-11-21T11:59:58.000Z","integrations":{},"type":"identify","userId":"ann","traits":{"email":"a@x.test","plan":"pro"},"context":{"library":{"name":"@segment/analytics-node","version":"3.1.0"}},"anonymousId":"anon1","messageId":"node-next-2"},{"timestamp":"2026-11-21T11:59:58.000Z","type":"page","properties":{"url":"https://x.test/","category":"Docs"},"category":"Docs","name":"Home","context":{"library":{"name":"@segment/analytics-node"}},"userId":"ann","messageId":"node-next-3"},{"type":"screen","properties":{},"name":"Main","userId":"ann","messageId":"node-next-4","timestamp":"2026-11-21T11:59:58.000Z"},{"type":"group","traits":{"size":3},"groupId":"acme","userId":"ann","messageId":"node-next-5","timestamp":"2026-11-21T11:59:58.000Z"},{"userId":"ann","type":"alias","previousId":"anon0","messageId":"node-next-6","timestamp":"2026-11-21T11:59:58.000Z"}],"writeKey":"WK","sentAt":"2026-11-21T12:00:00.000Z"}"#;
const RUDDER_NODE: &str = r#"{"batch":[{"userId":"ann","event":"T","properties":{"a":1},"type":"track","context":{"library":{"name":"analytics-node","version":"3.0.13"}},"channel":"server","originalTimestamp":"2026-11-21T12:59:58.000Z","messageId":"r1","sentAt":"2026-11-21T13:00:00.000Z"},{"userId":"ann","traits":{"email":"a@x.test"},"context":{"traits":{"email":"a@x.test"}},"type":"identify","originalTimestamp":"2026-11-21T12:59:58.000Z","messageId":"r2","sentAt":"2026-11-21T13:00:00.000Z"}],"timestamp":"2026-11-21T13:00:00.000Z","sentAt":"2026-11-21T13:00:00.000Z"}"#;
const RUDDER_PYTHON: &str = r#"{"batch": [{"integrations": {"All": true}, "anonymousId": null, "timestamp": "2026-11-21T11:59:58.887113+00:00", "context": {"traits": {"email": "a@x.test", "plan": "pro"}, "library": {"name": "analytics-python", "version": "2.1.9"}}, "type": "identify", "userId": "ann", "messageId": "p1", "channel": "server"}], "sentAt": "2026-11-21T12:00:00.387280+00:00"}"#;

#[test]
fn a_batch_of_analytics_node_becomes_events_and_changes_of_profiles() {
    let admitted = Node::default().admit(rules(Protocol::Segment), ANALYTICS_NODE).unwrap();
    assert_eq!((admitted.processed, admitted.accepted), (6, 6), "{:?}", admitted.rejected);
    let events = events(&admitted);
    let names: Vec<_> = events.iter().map(|it| (it.event_name, it.event_id)).collect();
    let expected = [
        ("Order Completed", "node-next-1"),
        ("Page Viewed", "node-next-3"),
        ("Screen Viewed", "node-next-4"),
    ];
    assert_eq!(names, expected);
    for event in &events {
        assert_eq!((event.user_id, event.timestamp_ms), ("ann", NOW_MS - 2_000));
    }
    let library = json!({"name": "@segment/analytics-node", "version": "3.1.0"});
    let order = json!({"orderId": "o1", "total": 12.5, "context": {"library": library}});
    assert_eq!(properties(&events[0]), order);
    let lifted = events[0].order.unwrap();
    assert_eq!((lifted.order_id, lifted.revenue), ("o1", Some(125_000)));
    assert_eq!(events[0].numbers().collect::<Vec<_>>(), [("total", 12.5)]);
    let page = properties(&events[1]);
    assert_eq!((&page["name"], &page["category"]), (&json!("Home"), &json!("Docs")));
    assert_eq!(properties(&events[2]), json!({"name": "Main"}));
    assert_eq!(admitted.adjusted, Adjustments { renamed: 2, ..Adjustments::default() });

    let calls = profiles(&admitted);
    let identify = ProfileCall {
        timestamp_ms: NOW_MS - 2_000,
        call_id: "node-next-2",
        user_id: "ann",
        anonymous_id: "anon1",
        email: "a@x.test",
        attributes: r#"{"plan":"pro"}"#,
        sent_as: "identify",
        key_id: "key",
        ..ProfileCall::default()
    };
    let group = ProfileCall {
        sent_as: "group",
        call_id: "node-next-5",
        anonymous_id: "",
        email: "",
        attributes: r#"{"groupId":"acme","group":{"size":3}}"#,
        ..identify
    };
    let alias = ProfileCall {
        kind: crate::record::ProfileCallKind::Alias,
        call_id: "node-next-6",
        sent_as: "alias",
        previous_id: "anon0",
        attributes: "",
        ..group
    };
    assert_eq!(calls, [identify, group, alias]);
}

#[test]
fn rudderstack_sends_times_and_traits_at_other_places() {
    let admitted = Node::default().admit(rules(Protocol::Segment), RUDDER_NODE).unwrap();
    let events = events(&admitted);
    assert_eq!(events[0].timestamp_ms, NOW_MS - 2_000, "its clock is an hour ahead");
    assert_eq!(profiles(&admitted)[0].email, "a@x.test");
    let admitted = Node::default().admit(rules(Protocol::Segment), RUDDER_PYTHON).unwrap();
    let calls = profiles(&admitted);
    assert_eq!((calls[0].email, calls[0].attributes), ("a@x.test", r#"{"plan":"pro"}"#));
}

#[test]
fn the_route_says_what_a_single_call_is() {
    for (kind, name) in [
        (CallKind::Track, Some("E")),
        (CallKind::Page, Some("Page Viewed")),
        (CallKind::Screen, Some("Screen Viewed")),
        (CallKind::Identify, None),
    ] {
        let body = json!({"userId": "ann", "event": "E", "writeKey": "WK", "sentAt": "2026-11-21T12:00:00Z"});
        let rules = CallRules { kind: Some(kind), ..rules(Protocol::Segment) };
        let admitted = Node::default().admit(rules, &body.to_string()).unwrap();
        assert_eq!(events(&admitted).first().map(|it| it.event_name), name, "{kind:?}");
        assert_eq!(admitted.accepted, 1);
    }
}

#[test]
fn a_repeat_with_another_sent_at_is_the_same_event() {
    let body = |sent_at: &str| {
        json!({"batch": [{"type": "track", "event": "E", "userId": "ann", "messageId": "m", "timestamp": "2026-11-21T10:00:00Z"}],
            "sentAt": sent_at})
    };
    let mut node = Node::default();
    let mut keys = HashSet::new();
    // An accurate clock, one two hours ahead, and each a little later.
    for sent_at in [
        "2026-11-21T12:00:00Z",
        "2026-11-21T11:59:59Z",
        "2026-11-21T14:00:00Z",
        "2026-11-21T13:59:59Z",
    ] {
        let admitted = node.admit(rules(Protocol::Segment), &body(sent_at).to_string()).unwrap();
        let events = events(&admitted);
        keys.insert((
            events[0].event_name.to_owned(),
            events[0].day,
            events[0].event_id.to_owned(),
        ));
    }
    assert_eq!(keys.len(), 1, "{keys:?}");
    // A clock that is a day ahead: the window knows the repeat.
    let node = &mut Node::default();
    let mut admitted =
        || node.admit(rules(Protocol::Segment), &body("2026-11-22T13:00:00Z").to_string()).unwrap();
    let (first, second) = (admitted(), admitted());
    let key =
        |admitted: &AdmittedCalls| events(admitted).first().map(|it| (it.day, it.timestamp_ms));
    assert_eq!(key(&first), key(&second));
    node.window.confirm(&first.claims);
    let third =
        node.admit(rules(Protocol::Segment), &body("2026-11-22T13:00:01Z").to_string()).unwrap();
    assert_eq!((third.accepted, third.events.is_some()), (1, false));
}

#[test]
fn a_public_key_has_ids_of_its_own_and_gives_no_consent() {
    let trusted_events = HashSet::new();
    let app = Sender::App { trusted_events: &trusted_events };
    let body = batch(&[
        json!({"type": "track", "event": "Order Completed", "userId": "ann", "messageId": "m", "properties": {"order_id": "1", "revenue": 1}}),
        json!({"type": "identify", "userId": "ann", "messageId": "n", "traits": {"consent": true, "unsubscribed": false, "plan": 1}}),
    ]);
    let admitted =
        Node::default().admit_from(app, rules(Protocol::Segment), &body.to_string()).unwrap();
    let events = events(&admitted);
    assert_eq!((events[0].event_id, events[0].is_untrusted), ("sdk:m", true));
    assert_eq!(events[0].order, None);
    let calls = profiles(&admitted);
    assert_eq!((calls[0].call_id, calls[0].is_public), ("sdk:n", true));
    assert_eq!(calls[0].attributes, r#"{"plan":1}"#);
    assert_eq!(admitted.adjusted.dropped, 2);
    let admitted = Node::default().admit(rules(Protocol::Segment), &body.to_string()).unwrap();
    let attributes: Value = serde_json::from_str(profiles(&admitted)[0].attributes).unwrap();
    assert_eq!(attributes, json!({"consent": true, "unsubscribed": false, "plan": 1}));
}

#[test]
fn names_with_a_dollar_are_renamed_and_the_last_of_equal_names_stays() {
    let body = r#"{"batch":[{"type":"track","event":"E","userId":"ann","properties":{"_a":1,"$a":{"$b":2},"$c":3},
        "context":{"$d":4}}]}"#;
    let admitted = Node::default().admit(rules(Protocol::Segment), body).unwrap();
    let expected = json!({"_a": {"$b": 2}, "_c": 3, "context": {"$d": 4}});
    assert_eq!(properties(&events(&admitted)[0]), expected);
    assert_eq!(admitted.adjusted.renamed, 2);
}

#[test]
fn an_order_keeps_its_own_names_where_both_are_there() {
    let call = json!({"type": "track", "event": "Order Completed", "userId": "ann",
        "properties": {"orderId": "1", "order_id": "2", "total": 3, "revenue": 4}});
    let admitted = admit(Protocol::Segment, &batch(std::slice::from_ref(&call)));
    assert_eq!(properties(&events(&admitted)[0]), call["properties"]);
    let other = json!({"type": "track", "event": "Order Updated", "userId": "ann", "properties": {"order_id": "2"}});
    let admitted = admit(Protocol::Segment, &batch(&[other]));
    assert_eq!(properties(&events(&admitted)[0]), json!({"order_id": "2"}));
}

#[test]
fn a_name_of_an_order_without_a_value_leaves_room_for_the_other() {
    let adjusted = |renamed, dropped| Adjustments { renamed, dropped, ..Adjustments::default() };
    for (sent, stored, expected) in [
        (r#"{"revenue":7,"total":null}"#, r#"{"total":7}"#, adjusted(1, 1)),
        (r#"{"total":null,"revenue":7}"#, r#"{"total":7}"#, adjusted(1, 1)),
        (r#"{"total":1,"total":null,"revenue":7}"#, r#"{"total":7}"#, adjusted(1, 2)),
        (r#"{"total":null,"total":1,"revenue":7}"#, r#"{"total":1,"revenue":7}"#, adjusted(0, 0)),
        (r#"{"total":0,"revenue":7}"#, r#"{"total":0,"revenue":7}"#, adjusted(0, 0)),
        (r#"{"total":"","revenue":7}"#, r#"{"total":"","revenue":7}"#, adjusted(0, 0)),
        (r#"{"total":null}"#, r#"{"total":null}"#, adjusted(0, 0)),
        (r#"{"order_id":"A","orderId":null}"#, r#"{"orderId":"A"}"#, adjusted(1, 1)),
        (r#"{"order_id":"A","orderId":""}"#, r#"{"orderId":"A"}"#, adjusted(1, 1)),
        (r#"{"order_id":"A","orderId":0}"#, r#"{"order_id":"A","orderId":0}"#, adjusted(0, 0)),
        (r#"{"orderId":""}"#, r#"{"orderId":""}"#, adjusted(0, 0)),
        (
            r#"{"order_id":"A","orderId":null,"revenue":1,"total":null}"#,
            r#"{"orderId":"A","total":1}"#,
            adjusted(2, 2),
        ),
    ] {
        let call = format!(
            r#"{{"type":"track","event":"Order Completed","userId":"ann","properties":{sent}}}"#
        );
        let body = format!(r#"{{"batch":[{call}]}}"#);
        let admitted = Node::default().admit(rules(Protocol::Segment), &body).unwrap();
        let stored: Value = serde_json::from_str(stored).unwrap();
        assert_eq!(properties(&events(&admitted)[0]), stored, "{sent}");
        assert_eq!(admitted.adjusted, expected, "{sent}");
    }
}

#[test]
fn a_group_without_traits_says_nothing_of_them() {
    for (traits, expected) in [
        (r#","traits":{"n":1}"#, r#"{"groupId":"g","group":{"n":1}}"#),
        (r#","traits":{}"#, r#"{"groupId":"g"}"#),
        (r#","traits":null"#, r#"{"groupId":"g"}"#),
        ("", r#"{"groupId":"g"}"#),
    ] {
        let call = format!(r#"{{"type":"group","userId":"ann","groupId":"g"{traits}}}"#);
        let body = format!(r#"{{"batch":[{call}]}}"#);
        let admitted = Node::default().admit(rules(Protocol::Segment), &body).unwrap();
        assert_eq!(profiles(&admitted)[0].attributes, expected, "{traits}");
    }
}

#[test]
fn of_a_context_what_fits_is_kept() {
    let deep = json!({"a": {"b": {"c": {"d": 1}}}});
    let context =
        json!({"page": {"url": "u"}, "deep": deep, "nul": "a\0b", "screen": {"width": 5}});
    let call = json!({"type": "track", "event": "E", "userId": "ann", "properties": {"a": 1}, "context": context});
    let admitted = admit(Protocol::Segment, &batch(&[call]));
    let event = events(&admitted)[0];
    let expected = json!({"a": 1, "context": {"page": {"url": "u"}, "screen": {"width": 5}}});
    assert_eq!(properties(&event), expected);
    assert_eq!(event.numbers().collect::<Vec<_>>(), [("a", 1.0), ("context.screen.width", 5.0)]);
    assert_eq!(admitted.adjusted.cut, 2);

    // To the byte: the longest text that fits beside the others, and one longer.
    let around = r#"{"a":"","context":{"b":""}}"#.len();
    for (length, is_kept) in [(51_200 - around, true), (51_200 - around + 1, false)] {
        let call = json!({"type": "track", "event": "E", "userId": "ann", "properties": {"a": "x".repeat(length)},
            "context": {"b": ""}});
        let admitted = admit(Protocol::Segment, &batch(&[call]));
        let event = events(&admitted)[0];
        assert_eq!(event.properties.contains("context"), is_kept, "{length}");
        assert_eq!(admitted.adjusted.cut, u64::from(!is_kept));
    }
    // A property of that name is the event's own.
    let call = json!({"type": "track", "event": "E", "userId": "ann", "properties": {"context": 1}, "context": {"b": 2}});
    let admitted = admit(Protocol::Segment, &batch(&[call]));
    assert_eq!(properties(&events(&admitted)[0]), json!({"context": 1}));
    assert_eq!(admitted.adjusted.cut, 1);
}

#[test]
fn traits_without_a_user_are_dropped_and_counted() {
    let calls = [
        json!({"type": "identify", "anonymousId": "x", "traits": {"a": 1, "b": 2}}),
        json!({"type": "identify", "traits": {"a": 1}}),
        json!({"type": "group", "groupId": "g", "traits": {"a": 1}}),
    ];
    let admitted = admit(Protocol::Segment, &batch(&calls));
    assert_eq!((admitted.accepted, admitted.profiles.is_some()), (3, false));
    assert_eq!(admitted.adjusted.dropped, 5);
}

#[test]
fn the_traits_of_a_user_in_a_context_are_none_of_a_group() {
    let context = json!({"traits": {"email": "a@x.test", "plan": "pro"}});
    let calls = [
        json!({"type": "group", "userId": "ann", "groupId": "acme", "context": context}),
        json!({"type": "group", "userId": "ann", "groupId": "acme", "context": context, "traits": {"size": 3}}),
        json!({"type": "group", "groupId": "acme", "context": context}),
        json!({"type": "identify", "userId": "ann", "context": context, "traits": {}}),
    ];
    let admitted = admit(Protocol::Segment, &batch(&calls));
    let profiles = profiles(&admitted);
    let attributes: Vec<_> = profiles.iter().map(|it| (it.email, it.attributes)).collect();
    let expected = [
        ("", r#"{"groupId":"acme"}"#),
        ("", r#"{"groupId":"acme","group":{"size":3}}"#),
        ("", "{}"),
    ];
    assert_eq!(attributes, expected);
    // Of the group without a user its id alone is dropped.
    assert_eq!((admitted.accepted, admitted.adjusted.dropped), (4, 1));
}

#[test]
fn what_is_changed_is_noted_by_call_while_someone_listens() {
    let calls = batch(&[
        json!({"type": "track", "event": "E", "userId": "ann", "messageId": "1", "properties": {"$a": 1}}),
        json!({"type": "track", "event": "E", "userId": "ann", "messageId": "2"}),
        json!({"type": "track", "event": "E", "userId": "ann", "context": {"a": "b\0", "c": 1}}),
        // It has the id of an event, and is another call.
        json!({"type": "identify", "userId": "ann", "messageId": "2", "traits": {"$a": 1, "$b": 1}}),
        json!({"type": "identify", "anonymousId": "x", "messageId": "3", "traits": {"a": 1, "b": 2}}),
        json!({"type": "group", "groupId": "g"}),
    ]);
    let mut node = Node { is_watched: true, ..Node::default() };
    let admitted = node.admit(rules(Protocol::Segment), &calls.to_string()).unwrap();
    let LiveNotes { adjusted, without_user } = admitted.notes.as_ref().unwrap();
    let none = Adjustments::default();
    let of_events: Vec<_> =
        events(&admitted).iter().map(|event| adjusted.of_event(event)).collect();
    let (renamed, cut) = (Adjustments { renamed: 1, ..none }, Adjustments { cut: 1, ..none });
    assert_eq!(of_events, [Some(renamed), None, Some(cut)]);
    let of_profiles = adjusted.of_profile_call(&profiles(&admitted)[0]);
    assert_eq!(of_profiles, Some(Adjustments { renamed: 2, ..none }));
    let dropped: Vec<_> = without_user
        .iter()
        .flat_map(Batch::profile_calls)
        .map(|call| (call.name(), call.anonymous_id, adjusted.of_profile_call(&call).unwrap()))
        .collect();
    let of = |dropped| Adjustments { dropped, ..none };
    assert_eq!(dropped, [("identify", "x", of(2)), ("group", "", of(1))]);
    assert_eq!(admitted.adjusted, Adjustments { renamed: 3, cut: 1, dropped: 3 });
    // Without a listener nothing is noted.
    let admitted = admit(Protocol::Segment, &calls);
    assert!(admitted.notes.is_none());
    assert_eq!(admitted.adjusted, Adjustments { renamed: 3, cut: 1, dropped: 3 });
}

#[test]
fn a_whole_number_is_taken_for_an_identifier_with_every_digit() {
    // As segment-analytics-python sends numeric ids of groups and previous ids.
    let group = r#"{"type":"group","userId":1,"groupId":42,"anonymousId":-7,"messageId":"g"}"#;
    let alias = r#"{"type":"alias","userId":18446744073709551615,"previousId":-9223372036854775808,"messageId":2}"#;
    let track = r#"{"type":"track","event":"E","userId":9007199254740993,"messageId":"t"}"#;
    let body = format!(r#"{{"batch":[{group},{alias},{track}]}}"#);
    let admitted = Node::default().admit(rules(Protocol::Segment), &body).unwrap();
    assert_eq!(admitted.accepted, 3, "{:?}", admitted.rejected);
    let calls = profiles(&admitted);
    assert_eq!((calls[0].user_id, calls[0].attributes), ("1", r#"{"groupId":"42"}"#));
    let ids = (calls[1].user_id, calls[1].previous_id, calls[1].call_id);
    assert_eq!(ids, ("18446744073709551615", "-9223372036854775808", "2"));
    assert_eq!(events(&admitted)[0].user_id, "9007199254740993");
    assert_eq!(admitted.adjusted, Adjustments { renamed: 7, ..Adjustments::default() });
}

#[test]
fn a_number_that_is_not_whole_is_no_identifier() {
    for number in ["1.5", "1.0", "1e3", "-0.5", "18446744073709551616"] {
        for field in ["userId", "anonymousId", "messageId", "groupId"] {
            let call =
                format!(r#"{{"type":"group","userId":"u","groupId":"g","{field}":{number}}}"#);
            let admitted = Node::default().admit(rules(Protocol::Segment), &call).unwrap();
            let errors: Vec<_> = admitted.rejected.iter().flat_map(|it| &it.errors).collect();
            assert_eq!(errors, [&format!("{field} must be a string")], "{call}");
        }
    }
    // Of a field sent twice the last counts, whatever the first was.
    let call = r#"{"type":"group","userId":5,"userId":"u","groupId":"g","groupId":7}"#;
    let admitted = Node::default().admit(rules(Protocol::Segment), call).unwrap();
    let calls = profiles(&admitted);
    assert_eq!((calls[0].user_id, calls[0].attributes), ("u", r#"{"groupId":"7"}"#));
}

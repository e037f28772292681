//! Whole requests: shapes, repeats, times.

use super::*;

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
fn array_elements_are_validated_independently() {
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
fn refused_events_have_their_beginning_and_ids() {
    let begins = |body: &str| {
        let rejected = admit(body).unwrap().rejected;
        rejected.into_iter().map(|one| one.begin).collect::<Vec<_>>()
    };
    assert_eq!(begins(r#" {"a\u0041":1}"#), [Some(1)]);
    let body = r#"[ { "":{"userId":"u"}},{},7,{"userId":"u","eventName":"A"},{"b":"["}]"#;
    assert_eq!(begins(body), [Some(2), None, None, body.rfind('{')]);
    // A body that simd-json refuses is taken apart.
    let body = r#"[ {"userId":1e400},{}, 7,{"a":1}]"#;
    assert_eq!(begins(body), [Some(2), body.find("{}"), body.find('7'), body.rfind('{')]);
    assert_eq!(begins(r#"  {"userId":1e400}"#), [Some(2)]);

    let rejected = &admit(r#"{"userId":"ann","clientEventId":"c-1","anonymousId":7}"#).unwrap();
    let rejected = &rejected.rejected[0];
    assert_eq!(rejected.user_id.as_deref(), Some("ann"));
    assert_eq!(rejected.event_id.as_deref(), Some("c-1"));
    let long = with("userId", json!("ä".repeat(256)));
    assert_eq!(admit(&long).unwrap().rejected[0].user_id, Some("ä".repeat(255)));
}

#[test]
fn bodies_of_the_wrong_shape_are_refused_as_a_whole() {
    let event = r#"{"userId":"u","eventName":"A"}"#;
    let array = |count: usize| format!("[{}]", vec![event; count].join(","));
    assert_eq!(admit(&array(500)).unwrap().accepted, 500);
    let cases = [
        (String::new(), "body is not valid JSON: EOF while parsing a value at line 1 column 0"),
        ("nope".to_owned(), "body is not valid JSON: expected ident at line 1 column 2"),
        (
            format!("{event}{event}"),
            "body is not valid JSON: trailing characters at line 1 column 31",
        ),
        (
            r#"{"userId":"u","eventName":"A","#.to_owned(),
            "body is not valid JSON: EOF while parsing an object at line 1 column 30",
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
        key_id: "key",
        is_watched: false,
        received_at_ms: NOW_MS,
        window: &node.window,
        sequence: &node.sequence,
        sender: Sender::Server,
    };
    let refused = Admitter::default().admit(b"[\"\xff\"]", &context).unwrap_err();
    assert_eq!(refused.to_string(), "body is not valid JSON: expected UTF-8 at byte 2");
}

#[test]
fn broken_elements_and_what_follows_an_array_break_the_body() {
    let event = with("userId", json!("u"));
    for body in [
        format!("[{event}{event}]"),
        format!("[{event}],"),
        format!("[{event}"),
        format!("[{event},]"),
        format!(r#"[{event},{{"userId":tru}}]"#),
        format!(r#"[1e400,{event},"\x"]"#),
        format!("{event}]"),
    ] {
        assert!(matches!(admit(&body), Err(BodyError::NotJson(_))), "{body}");
    }
}

#[test]
fn a_body_too_long_for_one_tape_is_read_in_pieces() {
    let event = |index: usize, filler: &str| {
        format!(r#"{{"userId":"u{index}","eventName":"E","properties":{{"i":{index}}}{filler}}}"#)
    };
    let ignored = format!(r#","ignored":"{}""#, "x".repeat(TAPE_BYTES_MAX / 4));
    let mut all: Vec<String> = (0..6).map(|index| event(index, &ignored)).collect();
    all.insert(3, "[]".to_owned());
    let admitted = admit(&format!(" [{}]", all.join(" , "))).unwrap();
    assert_eq!((admitted.processed, admitted.accepted), (7, 6));
    assert_eq!(admitted.rejected[0].index, 3);
    let batch = admitted.batch.unwrap();
    let users: Vec<_> = batch.events().map(|event| event.user_id).collect();
    assert_eq!(users, ["u0", "u1", "u2", "u3", "u4", "u5"]);

    let zeros = format!(r#","ignored":[{}0]"#, "0,".repeat(TAPE_BYTES_MAX / 2));
    let one = admit(&event(7, &zeros)).unwrap();
    assert_eq!((one.shape, one.accepted), (Shape::One, 1));
    let spaces = " ".repeat(TAPE_BYTES_MAX);
    let sent = format!(r#"{{"a":{spaces}1}}"#);
    assert_eq!(
        errors(&with_properties(&sent)),
        [format!("properties must be at most 51200 bytes of JSON, received {}", sent.len())]
    );
}

#[test]
fn one_element_nested_ten_thousand_deep_is_refused_alone() {
    let deep = format!("{}{}", r#"{"a":["#.repeat(5000), "]}".repeat(5000));
    let valid = with("userId", json!("u"));
    for field in ["properties", "userId", "ignored", "userAlias"] {
        let bad = format!(r#"{{"anonymousId":"a","eventName":"E","{field}":{deep}}}"#);
        let admitted = admit(&format!("[{valid},{bad},{valid},{deep}]")).unwrap();
        let refused: Vec<_> = admitted.rejected.iter().map(|rejected| rejected.index).collect();
        // An alias without its two parts counts as absent, and unknown fields are ignored.
        let expected: &[usize] =
            if matches!(field, "ignored" | "userAlias") { &[3] } else { &[1, 3] };
        assert_eq!(refused, expected, "{field}");
    }
}

#[test]
fn the_same_id_twice_in_one_array_is_accepted_twice_and_stored_once() {
    let event = |name: &str, timestamp: &str| {
        format!(r#"{{"userId":"u","clientEventId":"c","eventName":"{name}"{timestamp}}}"#)
    };
    let stored = |one: String, other: String| {
        let admitted = admit(&format!("[{one},{other},{one}]")).unwrap();
        assert_eq!((admitted.accepted, admitted.rejected.len()), (3, 0));
        admitted.batch.unwrap().header().count
    };
    let on = |day: u8, hour: u8| format!(r#","timestamp":"2026-01-0{day}T0{hour}:00:00Z""#);
    assert_eq!(stored(event("A", ""), event("A", "")), 1);
    assert_eq!(stored(event("A", &on(1, 1)), event("A", &on(1, 2))), 1, "one day");
    // Another name, or another day, is another event.
    assert_eq!(stored(event("A", &on(1, 1)), event("A", &on(2, 1))), 2);
    assert_eq!(stored(event("A", &on(1, 1)), event("B", &on(1, 1))), 2);
    assert_eq!(stored(event("A", ""), event("B", "")), 2);
    // Text that ends elsewhere is not the same text.
    assert_eq!(stored(event("Ac", ""), event("A", "").replace(r#""c""#, r#""cc""#)), 2);
}

#[test]
fn a_stored_id_with_another_name_is_stored_too() {
    let mut node = Node::default();
    let first = node.admit(r#"{"userId":"u","clientEventId":"c","eventName":"A"}"#).unwrap();
    node.window.confirm(&first.claims);
    let other = node.admit(r#"{"userId":"u","clientEventId":"c","eventName":"B"}"#).unwrap();
    assert_eq!(other.batch.unwrap().events().next().unwrap().event_name, "B");
    let again = node.admit(r#"{"userId":"u","clientEventId":"c","eventName":"A"}"#).unwrap();
    assert!(again.batch.is_none());
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

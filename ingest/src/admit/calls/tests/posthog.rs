//! The protocol of PostHog.

use super::*;
use crate::record::ProfileCallKind;

/// As posthog-node 5.70.0 and posthog 7.91.1 for Python send them.
const NODE: &str = r#"{"api_key":"PK","batch":[{"event":"Bought","properties":{"a":1,"$set":{"email":"a@x.test"},"$set_once":{"first":1},"$groups":{"company":"acme"},"$lib":"posthog-node","$is_server":true},"timestamp":"2026-11-21T11:59:58.000Z","uuid":"u1","distinct_id":"ann"},{"event":"$pageview","properties":{"$current_url":"https://x"},"timestamp":"2026-11-21T11:59:58.000Z","uuid":"u2","distinct_id":"ann"},{"event":"$identify","properties":{"$set":{"email":"a@x.test"},"$set_once":{},"$anon_distinct_id":"anon9","$lib":"posthog-node"},"timestamp":"2026-11-21T11:59:58.000Z","uuid":"u3","distinct_id":"ann"},{"event":"$create_alias","properties":{"distinct_id":"ann","alias":"anon1"},"timestamp":"2026-11-21T11:59:58.000Z","uuid":"u4","distinct_id":"ann"},{"event":"$groupidentify","properties":{"$group_type":"company","$group_key":"acme","$group_set":{"n":1}},"timestamp":"2026-11-21T11:59:58.000Z","uuid":"u5","distinct_id":"$company_acme"},{"event":"NoProfile","properties":{"$process_person_profile":false},"timestamp":"2026-11-21T11:59:58.000Z","uuid":"u6","distinct_id":"anonx"},{"event":"$feature_flag_called","properties":{"$feature_flag":"f"},"timestamp":"2026-11-21T11:59:58.000Z","uuid":"u7","distinct_id":"ann"}],"sent_at":"2026-11-21T12:00:00.000Z"}"#;
const PYTHON: &str = r#"{"batch": [{"timestamp": "2026-11-21T11:59:58.460387+00:00", "distinct_id": "ann", "$set": {"email": "a@x.test"}, "event": "$set", "properties": {"$lib": "posthog-python"}, "uuid": "p1"}, {"timestamp": "2026-11-21T11:59:58.460515+00:00", "distinct_id": "ann", "$set_once": {"f": 1}, "event": "$set_once", "properties": {"$lib": "posthog-python"}, "uuid": "p2"}, {"properties": {"distinct_id": "anon1", "alias": "ann", "$lib": "posthog-python"}, "timestamp": "2026-11-21T11:59:58.460585+00:00", "event": "$create_alias", "distinct_id": "anon1", "uuid": "p3"}], "historical_migration": false, "sent_at": "2026-11-21T12:00:00.465090+00:00", "api_key": "PK"}"#;

#[test]
fn a_batch_of_posthog_node_becomes_events_and_changes_of_profiles() {
    let admitted = Node::default().admit(rules(Protocol::PostHog), NODE).unwrap();
    assert_eq!((admitted.processed, admitted.accepted), (7, 7), "{:?}", admitted.rejected);
    let events = events(&admitted);
    let seen: Vec<_> =
        events.iter().map(|it| (it.event_name, it.user_id, it.anonymous_id, it.event_id)).collect();
    let expected = [
        ("Bought", "ann", "", "u1"),
        ("Page Viewed", "ann", "", "u2"),
        ("NoProfile", "", "anonx", "u6"),
        ("_feature_flag_called", "ann", "", "u7"),
    ];
    assert_eq!(seen, expected);
    let bought =
        json!({"a": 1, "_groups": {"company": "acme"}, "_lib": "posthog-node", "_is_server": true});
    assert_eq!(properties(&events[0]), bought);
    assert_eq!(events[0].timestamp_ms, NOW_MS - 2_000);

    let calls = profiles(&admitted);
    let seen: Vec<_> =
        calls.iter().map(|it| (it.kind, it.call_id, it.user_id, it.email, it.attributes)).collect();
    let (set, join) = (ProfileCallKind::Set, ProfileCallKind::Join);
    let expected = [
        (set, "u1", "ann", "a@x.test", "{}"),
        (set, "u1", "ann", "", r#"{"first":1}"#),
        (set, "u3", "ann", "a@x.test", "{}"),
        (join, "u4", "ann", "", ""),
        (set, "u5", "$company_acme", "", r#"{"groupId":"acme","group":{"n":1}}"#),
    ];
    assert_eq!(seen, expected);
    let once: Vec<_> = calls.iter().map(|it| (it.is_once, it.is_known_only)).collect();
    assert_eq!(
        once,
        [(false, false), (true, false), (false, false), (false, false), (false, true)]
    );
    assert_eq!((calls[2].anonymous_id, calls[3].previous_id), ("anon9", "anon1"));
    let names: Vec<_> = calls.iter().map(ProfileCall::name).collect();
    assert_eq!(names, ["$set", "$set_once", "$identify", "$create_alias", "$groupidentify"]);
    assert!(calls.iter().all(|it| it.key_id == "key"));
}

#[test]
fn python_sends_traits_beside_the_properties_and_an_alias_the_other_way_round() {
    let admitted = Node::default().admit(rules(Protocol::PostHog), PYTHON).unwrap();
    let calls = profiles(&admitted);
    assert_eq!((admitted.accepted, events(&admitted).len()), (3, 0));
    assert_eq!((calls[0].email, calls[0].is_once), ("a@x.test", false));
    let once: Vec<_> = calls.iter().filter(|it| it.is_once).map(|it| it.attributes).collect();
    assert_eq!(once, [r#"{"f":1}"#]);
    let alias = calls.last().unwrap();
    assert_eq!(
        (alias.kind, alias.user_id, alias.previous_id),
        (ProfileCallKind::Join, "ann", "anon1")
    );
}

#[test]
fn traits_of_a_visitor_make_no_profile_until_someone_is_named() {
    let of = |event: &str, properties: Value| json!({"event": event, "distinct_id": "v", "$set": {"a": 1}, "$set_once": {"b": 1}, "properties": properties});
    let cases = [
        ("Opened", json!({"$is_identified": false}), true),
        ("$set", json!({"$is_identified": false}), true),
        ("Opened", json!({"$is_identified": true}), false),
        ("Opened", json!({}), false),
        ("$identify", json!({"$is_identified": false, "$anon_distinct_id": "u"}), false),
    ];
    for (event, properties, expected) in cases {
        let admitted = admit(Protocol::PostHog, &json!([of(event, properties.clone())]));
        let known_only: Vec<bool> = profiles(&admitted).iter().map(|it| it.is_known_only).collect();
        assert_eq!(known_only, [expected; 2], "{event} {properties}");
    }
}

#[test]
fn a_browser_sends_an_array_and_offsets() {
    let body = json!([
        {"event": "A", "uuid": "b1", "offset": 1500, "properties": {"distinct_id": "ann", "token": "PK", "$session_id": "s", "$device_id": "d"}},
        {"event": "B", "uuid": "b2", "properties": {"distinct_id": "ann", "token": "PK", "$device_id": 5}},
    ]);
    let admitted = admit(Protocol::PostHog, &body);
    let events = events(&admitted);
    assert_eq!(events[0].timestamp_ms, NOW_MS - 1_500);
    let ids = (events[0].user_id, events[0].session_id, events[0].device_id);
    assert_eq!(ids, ("ann", "s", "d"));
    assert_eq!((events[1].timestamp_ms, events[1].device_id), (NOW_MS, ""));
    assert_eq!(properties(&events[1]), json!({"_device_id": 5}));
}

#[test]
fn traits_of_a_key_without_the_scope_are_dropped_and_the_event_is_kept() {
    let rules = CallRules { may_change_profiles: false, ..rules(Protocol::PostHog) };
    let body = batch(&[
        json!({"event": "A", "distinct_id": "ann", "$set": {"a": 1, "b": 2}}),
        json!({"event": "$set", "distinct_id": "ann", "$set": {"a": 1}}),
    ]);
    let admitted = Node::default().admit(rules, &body.to_string()).unwrap();
    assert_eq!((admitted.accepted, admitted.rejected_count), (1, 1));
    assert_eq!((events(&admitted).len(), admitted.profiles.is_some()), (1, false));
    assert_eq!(admitted.adjusted.dropped, 2);
    assert!(admitted.rejected[0].errors[0].contains("users:write"), "{:?}", admitted.rejected);
}

#[test]
fn whole_numbers_are_ids_of_posthog_wherever_they_stand() {
    let body = json!([
        {"event": "$groupidentify", "distinct_id": 1, "properties": {"$group_type": "company", "$group_key": 42}},
        {"event": "$create_alias", "distinct_id": "ann", "properties": {"alias": 7}},
        {"event": "$identify", "properties": {"distinct_id": 8, "$anon_distinct_id": 9}},
        {"event": "$groupidentify", "distinct_id": "a", "properties": {"$group_type": "company", "$group_key": 1.5}},
    ]);
    let admitted = admit(Protocol::PostHog, &body);
    let calls = profiles(&admitted);
    assert_eq!((calls[0].user_id, calls[0].attributes), ("1", r#"{"groupId":"42"}"#));
    assert_eq!(calls[1].previous_id, "7");
    assert_eq!((calls[2].user_id, calls[2].anonymous_id), ("8", "9"));
    assert_eq!(admitted.rejected[0].errors, ["$group_key must be a string"]);
    assert_eq!(admitted.adjusted.renamed, 5);
}

#[test]
fn attributes_that_are_to_be_removed_stay_and_are_counted() {
    let names = json!(["plan", "email"]);
    for (call, events_made, profiles_made) in [
        (json!({"event": "$unset", "distinct_id": "ann", "$unset": names}), 0, 0),
        (json!({"event": "$unset", "distinct_id": "ann", "properties": {"$unset": names}}), 0, 0),
        // As posthog-node sends it.
        (json!({"event": "$set", "distinct_id": "ann", "properties": {"$unset": names}}), 0, 0),
        (json!({"event": "E", "distinct_id": "ann", "properties": {"$unset": names}}), 1, 0),
        (json!({"event": "E", "distinct_id": "ann", "$unset": names}), 1, 0),
        (json!({"event": "$set", "distinct_id": "ann", "$set": {"a": 1}, "$unset": names}), 0, 1),
        (json!({"event": "$unset", "distinct_id": "ann", "$set": {"a": 1}, "$unset": names}), 0, 1),
    ] {
        let admitted = admit(Protocol::PostHog, &json!([call]));
        let made = (events(&admitted).len(), profiles(&admitted).len());
        assert_eq!(made, (events_made, profiles_made), "{call}");
        assert!(events(&admitted).iter().all(|it| properties(it) == json!({})), "{call}");
        assert_eq!(
            admitted.adjusted,
            Adjustments { dropped: 2, ..Adjustments::default() },
            "{call}"
        );
    }
}

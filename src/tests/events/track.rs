//! `POST /events/track`: the table of fields, the ingestion rules and the limits.

use serde_json::{Value, json};

use crate::kit::{Workspace, eventually};

/// The events a workspace's query shows once there are `count` of them.
pub(super) async fn events_of(workspace: &Workspace, count: usize) -> Vec<Value> {
    eventually("the events are visible", || async {
        let events = workspace.api.get("/events/query?limit=1000", 200).await.json();
        let events = events.as_array().unwrap().clone();
        (events.len() >= count).then_some(events)
    })
    .await
}

/// An object of `keys` keys.
fn object_of(keys: usize) -> Value {
    Value::Object((0..keys).map(|n| (format!("k{n}"), json!(n))).collect())
}

/// An object `depth` deep.
fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!({ "in": inner }))
}

#[tokio::test]
async fn a_single_event_answers_its_id_and_reads_back_as_sent() {
    let workspace = Workspace::new().await;
    let sent = json!({
        "userId": "ann", "eventName": "Product Viewed", "sessionId": "s-1", "deviceId": "d-1",
        "anonymousId": "a-1", "timestamp": "2026-03-01T12:00:00.123Z", "clientEventId": "c-1",
        "properties": {"sku": "85123A", "price": 2.55, "tags": ["a", {"b": null}], "gift": true},
    });
    let answer = workspace.api.post("/events/track", &sent, 200).await.json();
    assert_eq!(answer, json!({"eventId": "c-1", "success": true}));
    let events = events_of(&workspace, 1).await;
    assert_eq!(
        events,
        [json!({
            "event_id": "c-1", "user_id": "ann", "anonymous_id": "a-1", "event_name": "Product Viewed",
            "properties": sent["properties"], "timestamp": "2026-03-01 12:00:00",
            "session_id": "s-1", "device_id": "d-1",
        })]
    );
}

#[tokio::test]
async fn absent_ids_read_back_as_empty_strings_and_an_event_without_id_gets_a_uuid() {
    let workspace = Workspace::new().await;
    let sent = json!({"anonymousId": "visitor", "eventName": "Page Viewed"});
    let answer = workspace.api.post("/events/track", &sent, 200).await.json();
    let id: uuid::Uuid = answer["eventId"].as_str().unwrap().parse().unwrap();
    assert_eq!(id.get_version_num(), 7);
    let event = &events_of(&workspace, 1).await[0];
    assert_eq!(event["event_id"], answer["eventId"]);
    for field in ["user_id", "session_id", "device_id"] {
        assert_eq!(event[field], "", "{field}");
    }
    assert_eq!(event["properties"], json!({}));
}

#[tokio::test]
async fn an_event_needs_one_of_four_identifiers() {
    let workspace = Workspace::new().await;
    for identifier in [
        json!({"userId": "ann"}),
        json!({"serviceUserId": "0123456789abcdef01234567"}),
        json!({"anonymousId": "visitor"}),
        json!({"userAlias": {"aliasLabel": "crm", "aliasName": "7"}}),
    ] {
        let mut event = json!({"eventName": "Signup Completed"});
        event.as_object_mut().unwrap().extend(identifier.as_object().unwrap().clone());
        workspace.api.post("/events/track", &event, 200).await;
    }
    events_of(&workspace, 4).await;
    for none in [json!({}), json!({"userId": ""}), json!({"userId": null})] {
        let mut event = json!({"eventName": "Signup Completed"});
        event.as_object_mut().unwrap().extend(none.as_object().unwrap().clone());
        let errors = workspace.api.post("/events/track", &event, 400).await.errors();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains("userId"), "{errors:?}");
    }
}

#[tokio::test]
async fn user_id_reads_back_as_tracked_else_the_internal_id() {
    let workspace = Workspace::new().await;
    let internal = "0123456789ABCDEF01234567";
    let batch = json!([
        {"userId": "ann", "serviceUserId": internal, "eventName": "A", "timestamp": 1_770_000_002_000_i64},
        {"serviceUserId": internal, "eventName": "B", "timestamp": 1_770_000_001_000_i64},
        {"anonymousId": "v", "eventName": "C", "timestamp": 1_770_000_000_000_i64},
    ]);
    workspace.api.post("/events/track", &batch, 200).await;
    let events = events_of(&workspace, 3).await;
    let ids: Vec<_> = events.iter().map(|event| event["user_id"].clone()).collect();
    assert_eq!(ids, [json!("ann"), json!(internal.to_lowercase()), json!("")]);
}

#[tokio::test]
async fn every_field_of_the_wrong_type_is_named_once() {
    let workspace = Workspace::new().await;
    let wrong = [json!(1), json!(true), json!([]), json!({}), json!("x")];
    for (field, right) in [
        ("userId", "string"),
        ("eventName", "string"),
        ("anonymousId", "string"),
        ("sessionId", "string"),
        ("deviceId", "string"),
        ("clientEventId", "string"),
        ("serviceUserId", "24-hex"),
        ("properties", "object"),
        ("userAlias", "alias"),
        ("timestamp", "time"),
    ] {
        for value in &wrong {
            let fits = match right {
                "string" => value.is_string(),
                // An alias without a label and a name is no alias.
                "object" | "alias" => value.is_object(),
                _ => false,
            };
            if fits {
                continue;
            }
            let mut event = json!({"userId": "ann", "anonymousId": "v", "eventName": "A"});
            event[field] = value.clone();
            let answer = workspace.api.post("/events/track", &event, 400).await;
            let errors = answer.errors();
            let naming = errors.iter().filter(|error| error.starts_with(field)).count();
            assert!(naming >= 1 && errors.len() == naming, "{field} = {value}: {errors:?}");
            if field != "userAlias" {
                assert_eq!(errors.len(), 1, "{field} = {value}: {errors:?}");
            }
            // In an array the same element is rejected alone, by index and name.
            let batch = json!([{"userId": "ok", "eventName": "B"}, event]);
            let verdict = workspace.api.post("/events/track", &batch, 200).await.json();
            assert_eq!(verdict["processed"], 2);
            assert_eq!(verdict["accepted"], 1);
            let rejected = &verdict["rejected"][0];
            assert_eq!(rejected["index"], 1);
            assert!(rejected["reason"].as_str().unwrap().starts_with(field), "{rejected}");
            assert_eq!(rejected.get("name").is_some(), field != "eventName" || value.is_string());
        }
    }
}

#[tokio::test]
async fn all_failed_fields_are_listed_at_once() {
    let workspace = Workspace::new().await;
    let event = json!({"userId": 7, "eventName": "", "properties": [], "timestamp": "soon"});
    let answer = workspace.api.post("/events/track", &event, 400).await;
    let errors = answer.errors();
    for field in ["userId", "eventName", "properties", "timestamp"] {
        assert_eq!(
            errors.iter().filter(|e| e.starts_with(field)).count(),
            1,
            "{field}: {errors:?}"
        );
    }
    assert_eq!(answer.json()["message"], "Bad Request");
}

#[tokio::test]
async fn names_and_identifiers_have_at_most_255_characters() {
    let workspace = Workspace::new().await;
    // Characters, not bytes: each of these is two bytes long.
    let (fits, too_long) = ("é".repeat(255), "é".repeat(256));
    for field in ["userId", "eventName", "anonymousId", "sessionId", "deviceId", "clientEventId"] {
        let mut event = json!({"userId": "ann", "eventName": "A"});
        event[field] = json!(fits);
        workspace.api.post("/events/track", &event, 200).await;
        event[field] = json!(too_long);
        let errors = workspace.api.post("/events/track", &event, 400).await.errors();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].starts_with(field) && errors[0].contains("255"), "{errors:?}");
    }
    for part in ["aliasLabel", "aliasName"] {
        let mut event =
            json!({"eventName": "A", "userAlias": {"aliasLabel": "l", "aliasName": "n"}});
        event["userAlias"][part] = json!(fits);
        workspace.api.post("/events/track", &event, 200).await;
        event["userAlias"][part] = json!(too_long);
        let errors = workspace.api.post("/events/track", &event, 400).await.errors();
        assert!(errors[0].starts_with(&format!("userAlias.{part}")), "{errors:?}");
    }
}

#[tokio::test]
async fn properties_have_at_most_200_keys_and_five_levels() {
    let workspace = Workspace::new().await;
    let track =
        |properties: Value| json!({"userId": "ann", "eventName": "A", "properties": properties});
    workspace.api.post("/events/track", &track(object_of(200)), 200).await;
    let errors = workspace.api.post("/events/track", &track(object_of(201)), 400).await.errors();
    assert!(errors[0].starts_with("properties") && errors[0].contains("200"), "{errors:?}");
    assert!(errors[0].contains("201"), "{errors:?}");
    workspace.api.post("/events/track", &track(nested(5)), 200).await;
    let errors = workspace.api.post("/events/track", &track(nested(6)), 400).await.errors();
    assert!(errors[0].starts_with("properties") && errors[0].contains('5'), "{errors:?}");
    // Arrays are levels too.
    workspace.api.post("/events/track", &track(json!({"a": [[[[1]]]]})), 200).await;
    workspace.api.post("/events/track", &track(json!({"a": [[[[[1]]]]]})), 400).await;
}

#[tokio::test]
async fn properties_have_at_most_51200_bytes_and_the_error_states_both_sizes() {
    let workspace = Workspace::new().await;
    let of_bytes = |bytes: usize| {
        let text = "x".repeat(bytes - r#"{"t":""}"#.len());
        json!({"userId": "ann", "eventName": "A", "properties": {"t": text}})
    };
    workspace.api.post("/events/track", &of_bytes(51_200), 200).await;
    let answer = workspace.api.post("/events/track", &of_bytes(51_201), 400).await.json();
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("51200") && message.contains("51201"), "{message}");
    // White space is not counted: the size is that of compact JSON.
    let spaced = serde_json::to_string_pretty(&of_bytes(51_200)).unwrap();
    workspace.api.post_bytes("/events/track", spaced, 200).await;
}

#[tokio::test]
async fn only_the_five_system_dollar_properties_are_accepted() {
    let workspace = Workspace::new().await;
    let event = json!({"userId": "ann", "eventName": "A", "properties": {
        "$app_id": "1", "$app_name": "shop", "$platform": "web", "$session_id": "s", "$anonymous_id": "a",
    }});
    workspace.api.post("/events/track", &event, 200).await;
    let event = json!({"userId": "ann", "eventName": "A", "properties": {"$mine": 1}});
    let errors = workspace.api.post("/events/track", &event, 400).await.errors();
    assert!(errors[0].contains("$mine"), "{errors:?}");
    let event = json!({"userId": "ann", "eventName": "A", "properties": {"$platform": "toaster"}});
    let errors = workspace.api.post("/events/track", &event, 400).await.errors();
    assert!(errors[0].contains("$platform"), "{errors:?}");
}

#[tokio::test]
async fn timestamps_are_read_in_both_forms() {
    let workspace = Workspace::new().await;
    for (timestamp, read_back) in [
        (json!("2026-03-01T12:00:00Z"), "2026-03-01 12:00:00"),
        (json!("2026-03-01T12:00:00.999+02:00"), "2026-03-01 10:00:00"),
        (json!("2026-03-01T12:00:00"), "2026-03-01 12:00:00"),
        (json!("2026-03-01"), "2026-03-01 00:00:00"),
        (json!(1_772_366_400_000_i64), "2026-03-01 12:00:00"),
        (json!("2000-01-01T00:00:00.000Z"), "2000-01-01 00:00:00"),
    ] {
        let id = crate::kit::unique("time");
        let event = json!({"userId": id, "eventName": "A", "timestamp": timestamp});
        workspace.api.post("/events/track", &event, 200).await;
        let read = eventually("the event is visible", || async {
            let found = workspace.api.get(format!("/events/query?userId={id}"), 200).await.json();
            found.get(0).map(|event| event["timestamp"].clone())
        });
        assert_eq!(read.await, read_back, "{timestamp}");
    }
}

#[tokio::test]
async fn timestamps_outside_the_range_are_refused_with_a_hint() {
    let workspace = Workspace::new().await;
    for timestamp in [
        json!("1999-12-31T23:59:59.999Z"),
        json!("2999-01-01T00:00:00Z"),
        json!(1_772_366_400),
        json!(-1),
        json!(1e300),
        json!("2026-13-01"),
        json!("yesterday"),
        json!(""),
    ] {
        let event = json!({"userId": "ann", "eventName": "A", "timestamp": timestamp});
        let errors = workspace.api.post("/events/track", &event, 400).await.errors();
        assert_eq!(errors.len(), 1, "{timestamp}: {errors:?}");
        assert!(errors[0].starts_with("timestamp"), "{timestamp}: {errors:?}");
    }
    let seconds = json!({"userId": "ann", "eventName": "A", "timestamp": 1_772_366_400});
    let errors = workspace.api.post("/events/track", &seconds, 400).await.errors();
    assert!(errors[0].contains("epoch seconds?"), "{errors:?}");
}

#[tokio::test]
async fn an_event_without_timestamp_gets_the_servers_time() {
    let workspace = Workspace::new().await;
    let before = chrono::DateTime::parse_from_rfc3339("2026-01-01T00:00:00Z").unwrap();
    workspace.api.post("/events/track", &json!({"userId": "ann", "eventName": "A"}), 200).await;
    let event = &events_of(&workspace, 1).await[0];
    let read = event["timestamp"].as_str().unwrap();
    let read = chrono::NaiveDateTime::parse_from_str(read, "%Y-%m-%d %H:%M:%S").unwrap();
    assert!(read.and_utc() > before, "{read}");
}

#[tokio::test]
async fn an_array_has_1_to_500_events() {
    let workspace = Workspace::new().await;
    let of = |count: usize| {
        Value::Array(
            (0..count).map(|n| json!({"userId": format!("u{n}"), "eventName": "A"})).collect(),
        )
    };
    let verdict = workspace.api.post("/events/track", &of(500), 200).await.json();
    assert_eq!(verdict, json!({"processed": 500, "accepted": 500, "rejected": []}));
    assert_eq!(events_of(&workspace, 500).await.len(), 500);
    let answer = workspace.api.post("/events/track", &of(501), 400).await.json();
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("500") && message.contains("501"), "{message}");
    workspace.api.post("/events/track", &json!([]), 400).await;
    // Nothing of a refused array is stored.
    assert_eq!(events_of(&workspace, 500).await.len(), 500);
}

#[tokio::test]
async fn invalid_elements_are_rejected_by_index_and_the_others_recorded() {
    let workspace = Workspace::new().await;
    let batch = json!([
        {"userId": "a", "eventName": "First"},
        {"eventName": "Unidentified"},
        "not an event",
        null,
        {"userId": "b"},
        {"userId": "c", "eventName": "Last", "properties": nested(9)},
        {"userId": "d", "eventName": "Good"},
    ]);
    let verdict = workspace.api.post("/events/track", &batch, 200).await.json();
    assert_eq!(verdict["processed"], 7);
    assert_eq!(verdict["accepted"], 2);
    let rejected = verdict["rejected"].as_array().unwrap();
    let indexes: Vec<_> = rejected.iter().map(|r| r["index"].as_u64().unwrap()).collect();
    assert_eq!(indexes, [1, 2, 3, 4, 5]);
    assert_eq!(rejected[0]["name"], "Unidentified");
    assert!(rejected[1].get("name").is_none() && rejected[3].get("name").is_none());
    assert!(rejected.iter().all(|r| !r["reason"].as_str().unwrap().is_empty()));
    assert_eq!(events_of(&workspace, 2).await.len(), 2);
}

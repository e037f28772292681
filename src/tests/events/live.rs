//! `GET /events/live`: what arrives is shown or counted, within limits, while the key lives.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use web::auth::keys;

use crate::{
    kit::{
        Client, LiveStream as Stream, Part, Process, Workspace, data_dir, eventually, server,
        unique,
    },
    sdk::Device,
};

fn named(name: &str) -> Value {
    json!({"userId": "ann", "eventName": name})
}

#[tokio::test]
async fn accepted_and_refused_events_are_shown_with_what_was_sent() {
    let workspace = Workspace::new().await;
    let (token, _) = server().key(&workspace.name, "events:*").await;
    let key = token.split('_').nth(1).unwrap();
    let api = Client::new(&server().url, Some(&token));
    let mut stream = Stream::open(&workspace.api, "").await;
    let body = r#"[
        {"userId": "ann", "anonymousId": "a-1", "eventName": "A", "clientEventId": "c-1",
         "timestamp": "2026-03-01T12:00:00Z", "properties": {"n":
 1.50}},
        {"eventName": "B", "clientEventId": "c-2"},
        {"serviceUserId": "00000000000000000000ABCD", "eventName": "C"}]"#;
    api.post_bytes("/events/track", body, 200).await;
    let mut shown = Vec::new();
    for _ in 0..3 {
        let mut event = stream.event().await;
        let received = event.as_object_mut().unwrap().remove("receivedAt").unwrap();
        assert!(received.as_str().unwrap().ends_with('Z'), "{received}");
        shown.push(event);
    }
    let accepted = json!({
        "status": "accepted", "eventId": "c-1", "name": "A", "userId": "ann", "anonymousId": "a-1",
        "properties": {"n": 1.50}, "timestamp": "2026-03-01T12:00:00.000Z", "keyId": key,
    });
    let rejected = json!({
        "status": "rejected", "eventId": "c-2", "name": "B", "userId": null, "keyId": key,
        "reason": "userId, serviceUserId, anonymousId or userAlias is required",
        "body": r#"{"eventName": "B", "clientEventId": "c-2"}"#,
    });
    assert_eq!(shown[0], accepted);
    assert_eq!(shown[1]["userId"], "00000000000000000000abcd");
    assert_eq!(shown[2], rejected);

    let device = Device::of(&workspace).await;
    device
        .post("/v1/track", &json!({"userId": "ann", "eventName": "D", "clientEventId": "d"}), 200)
        .await;
    device.post("/v1/track", &json!({"userId": "ann"}), 400).await;
    let (first, second) = (stream.event().await, stream.event().await);
    assert_eq!(first["eventId"], "sdk:d");
    assert_eq!(second["reason"], "eventName is required");
    for event in [first, second] {
        let of_app = event["keyId"].as_str().unwrap();
        assert!(of_app.len() == key.len() && of_app != key, "{event}");
    }

    let user = json!({"externalId": unique("bob"), "events": [{"name": "E"}]});
    workspace.api.post("/users", &user, 201).await;
    let event = stream.event().await;
    assert_eq!((&event["name"], &event["userId"]), (&json!("E"), &user["externalId"]));
}

#[tokio::test]
async fn long_properties_are_cut() {
    let workspace = Workspace::new().await;
    let mut stream = Stream::open(&workspace.api, "").await;
    // `{"a":"…"}` of exactly the limit, and one more.
    for (text, is_whole) in [("x".repeat(4_088), true), ("x".repeat(4_089), false)] {
        let event = json!({"userId": "ann", "eventName": "A", "properties": {"a": text}});
        workspace.api.post("/events/track", &event, 200).await;
        let shown = stream.event().await;
        assert_eq!(shown["properties"]["a"].as_str().map(str::len), is_whole.then_some(4_088));
        let beginning = shown["propertiesBeginning"].as_str().map(str::len);
        assert_eq!(beginning, (!is_whole).then_some(4_096));
    }
}

#[tokio::test]
async fn filters_choose_what_is_shown() {
    let workspace = Workspace::new().await;
    let table = [
        ("", vec!["A", "B", "A", "A"]),
        ("?name=A", vec!["A", "A", "A"]),
        ("?userId=ann", vec!["A", "B", "A"]),
        ("?status=accepted", vec!["A", "B", "A"]),
        ("?status=rejected", vec!["A"]),
        ("?name=A&userId=ann&status=accepted", vec!["A"]),
        ("?name=a", vec![]),
    ];
    let mut streams = Vec::new();
    for (query, expected) in table {
        streams.push((query, expected, Stream::open(&workspace.api, query).await));
    }
    let events = json!([named("A"), named("B"), {"userId": "bob", "eventName": "A"}]);
    workspace.api.post("/events/track", &events, 200).await;
    let refused = json!({"userId": "ann", "eventName": "A", "timestamp": "soon"});
    workspace.api.post("/events/track", &refused, 400).await;
    // The last ones: every stream shows one of them.
    let last = json!([named("a"), named("last"), {"userId": "ann", "eventName": "A", "clientEventId": "last"}]);
    workspace.api.post("/events/track", &last, 200).await;
    let refused = json!({"userId": "ann", "eventName": "last", "timestamp": "soon"});
    workspace.api.post("/events/track", &refused, 400).await;
    for (query, expected, mut stream) in streams {
        let mut names = Vec::new();
        loop {
            let event = stream.event().await;
            let name = event["name"].as_str().unwrap();
            if ["a", "last"].contains(&name) || event["eventId"] == "last" {
                break;
            }
            names.push(name.to_owned());
        }
        assert_eq!(names, expected, "{query}");
    }
}

#[tokio::test]
async fn invalid_filters_are_refused() {
    let workspace = Workspace::new().await;
    let name = "x".repeat(256);
    for (query, error) in [
        ("status=maybe".to_owned(), "status must be one of: accepted, rejected"),
        (format!("name={name}"), "name must be at most 255 characters"),
        (format!("userId={name}"), "userId must be at most 255 characters"),
    ] {
        let answer = workspace.api.get(format!("/events/live?{query}"), 400).await;
        assert_eq!(answer.errors(), [error]);
    }
}

#[tokio::test]
async fn a_workspace_sees_its_own_events_only() {
    let (here, there) = (Workspace::new().await, Workspace::new().await);
    let mut stream = Stream::open(&here.api, "").await;
    there.api.post("/events/track", &named("A"), 200).await;
    there.api.post("/events/track", &json!({"eventName": "A"}), 400).await;
    here.api.post("/events/track", &named("last"), 200).await;
    assert_eq!(stream.names_until("last").await, [""; 0]);
}

#[tokio::test]
async fn a_repeat_is_shown_once() {
    let workspace = Workspace::new().await;
    let mut stream = Stream::open(&workspace.api, "").await;
    let event = |name: &str, at: Option<&str>| json!({"userId": "ann", "eventName": name, "clientEventId": "one", "timestamp": at});
    let sent = [
        event("A", Some("2026-03-01T12:00:00Z")),
        event("A", Some("2026-03-01T12:00:00Z")),
        event("A", Some("2026-03-02T12:00:00Z")),
        event("B", None),
        event("B", None),
        named("last"),
    ];
    for event in sent {
        workspace.api.post("/events/track", &event, 200).await;
    }
    assert_eq!(stream.names_until("last").await, ["A", "A", "B"]);
}

/// Reads until `count` events were shown or counted; returns how many were shown.
async fn account_for(stream: &mut Stream, count: u64) -> u64 {
    let (mut shown, mut left_out) = (0, 0);
    while shown + left_out < count {
        match stream.next().await.expect("the stream goes on") {
            Part::Event(_) => shown += 1,
            Part::Sampled(count) => left_out += count,
            Part::Comment(_) => {}
        }
    }
    assert_eq!(shown + left_out, count);
    shown
}

#[tokio::test]
async fn of_more_than_a_hundred_in_a_second_the_others_are_counted() {
    let workspace = Workspace::new().await;
    let mut stream = Stream::open(&workspace.api, "?name=A").await;
    let mut of_others = Stream::open(&workspace.api, "?status=rejected").await;
    let events = Value::Array(vec![named("A"); 500]);
    workspace.api.post("/events/track", &events, 200).await;
    // They came at once, so within one second of the stream.
    assert_eq!(account_for(&mut stream, 500).await, 100);
    workspace.api.post("/events/track", &named("A"), 200).await;
    assert_eq!(account_for(&mut stream, 1).await, 1);
    workspace.api.post("/events/track", &json!({"eventName": "last"}), 400).await;
    assert_eq!(of_others.names_until("last").await, [""; 0]);
}

#[tokio::test]
async fn a_reader_that_pauses_delays_no_event_and_counts_what_it_missed() {
    let workspace = Workspace::new().await;
    let mut stream = Stream::open(&workspace.api, "").await;
    let properties = json!({"a": "x".repeat(3_000)});
    let event = json!({"userId": "ann", "eventName": "A", "properties": properties});
    let (requests, in_request) = (30, 500);
    let body = Value::Array(vec![event; in_request]);
    for _ in 0..requests {
        workspace.api.post("/events/track", &body, 200).await;
    }
    let shown = account_for(&mut stream, requests * in_request as u64).await;
    assert!(shown >= 100, "{shown}");
}

#[tokio::test]
async fn a_workspace_has_ten_streams_at_most() {
    let workspace = Workspace::new().await;
    let mut streams = Vec::new();
    for _ in 0..10 {
        streams.push(Stream::open(&workspace.api, "").await);
    }
    let refused = workspace.api.get("/events/live", 429).await;
    let message = "The workspace has 10 live streams open on this server, which is the most";
    assert_eq!(refused.json()["message"], message);
    assert!(refused.headers.contains_key("retry-after"));
    // Others are not affected, and one that goes makes room.
    let other = Workspace::new().await;
    Stream::open(&other.api, "").await;
    streams.pop();
    let mut again = eventually("there is room again", || async {
        let request = workspace.api.request(Method::GET, "/events/live");
        let response = request.send().await.unwrap();
        (response.status() == StatusCode::OK).then(|| Stream::of(response))
    })
    .await;
    workspace.api.post("/events/track", &named("last"), 200).await;
    for stream in streams.iter_mut().chain([&mut again]) {
        assert_eq!(stream.names_until("last").await, [""; 0]);
    }
}

#[tokio::test]
async fn a_revoked_key_ends_its_stream() {
    let workspace = Workspace::new().await;
    let (token, _) = server().key(&workspace.name, "events:read").await;
    let key = token.split('_').nth(1).unwrap().parse().unwrap();
    let client = Client::new(&server().url, Some(&token));
    let mut stream = Stream::open(&client, "").await;
    let mut of_another = Stream::open(&workspace.api, "").await;
    server()
        .with(async move |app| {
            keys::revoke(app.db(), app.clock().now(), key).await.unwrap();
        })
        .await;
    while let Some(part) = stream.next().await {
        assert!(matches!(part, Part::Comment(_)), "{part:?}");
    }
    client.get("/events/live", 401).await;
    workspace.api.post("/events/track", &named("last"), 200).await;
    assert_eq!(of_another.names_until("last").await, [""; 0]);
}

#[tokio::test]
async fn changes_of_profiles_by_event_sdks_are_shown_by_the_name_of_their_call() {
    let workspace = Workspace::new().await;
    let mut stream = Stream::open(&workspace.api, "").await;
    let mut of_aliases = Stream::open(&workspace.api, "?name=alias").await;
    let (key, _) = server().key(&workspace.name, "events:write,users:write").await;
    let batch = json!({"writeKey": key, "batch": [
        {"type": "identify", "messageId": "m-1", "userId": "ann", "anonymousId": "a-1",
            "traits": {"plan": "gold", "email": "ann@example.test"}},
        {"type": "group", "messageId": "m-2", "userId": "ann", "groupId": "g", "traits": {"size": 3}},
        {"type": "alias", "messageId": "m-3", "userId": "ann", "previousId": "a-2"},
        {"type": "alias", "messageId": "m-4", "userId": "ann"},
    ]});
    for _ in 0..2 {
        Client::anonymous().post("/v1/batch", &batch, 200).await;
    }
    let mut shown = Vec::new();
    for _ in 0..4 {
        let event = stream.event().await;
        let of = |field: &str| event[field].clone();
        shown.push(json!([
            of("status"),
            of("name"),
            of("userId"),
            of("anonymousId"),
            of("properties")
        ]));
    }
    let expected = [
        json!(["accepted", "identify", "ann", "a-1", {"plan": "gold"}]),
        json!(["accepted", "group", "ann", null, {"groupId": "g", "group": {"size": 3}}]),
        json!(["accepted", "alias", "ann", null, {"previousId": "a-2"}]),
        json!(["rejected", "alias", "ann", null, null]),
    ];
    assert_eq!(shown, expected);
    assert_eq!(of_aliases.event().await["eventId"], "m-3");
}

#[tokio::test]
async fn heartbeats_keep_a_silent_stream_open() {
    let workspace = Workspace::new().await;
    let mut stream = Stream::open(&workspace.api, "").await;
    assert_eq!(stream.next().await, Some(Part::Comment("heartbeat".to_owned())));
}

#[tokio::test]
async fn a_server_that_stops_ends_its_streams() {
    let (process, key) = Process::start(&data_dir("live-stop"), &[]).await;
    let client = process.client(&key.unwrap());
    let mut stream = Stream::open(&client, "").await;
    client.post("/events/track", &named("A"), 200).await;
    assert_eq!(stream.event().await["name"], "A");
    let (status, last) = tokio::join!(process.stop(), stream.next());
    // A stream that is cut off would be an error.
    assert_eq!(last, None);
    assert_eq!(status.code(), Some(0));
}

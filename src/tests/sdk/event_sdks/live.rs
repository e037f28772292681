//! `GET /events/live` while event SDKs send: what is accepted, and what is refused with its reason.

use super::*;
use crate::kit::LiveStream;

/// The next events that a stream shows, without the time of their arrival.
async fn shown(stream: &mut LiveStream, count: usize) -> Vec<Value> {
    let mut events = Vec::new();
    for _ in 0..count {
        let mut event = stream.event().await;
        let received = event.as_object_mut().unwrap().remove("receivedAt").unwrap();
        assert!(received.as_str().unwrap().ends_with('Z'), "{received}");
        events.push(event);
    }
    events
}

/// What is listed of refused events, as the stream shows them.
async fn listed(workspace: &Workspace, count: usize) -> Vec<Value> {
    eventually("the refused calls are listed", || async {
        let list = workspace.api.get("/events/rejected", 200).await.json();
        let mut data = list["data"].as_array().unwrap().clone();
        for event in &mut data {
            let fields = event.as_object_mut().unwrap();
            fields.remove("at").unwrap();
            let id = fields.remove("messageId").unwrap();
            fields.insert("eventId".to_owned(), id);
            fields.insert("status".to_owned(), json!("rejected"));
        }
        // The list is newest first.
        data.reverse();
        (list["total"] == count).then_some(data)
    })
    .await
}

fn key_id(sender: &Sender) -> &str {
    sender.key.split('_').nth(1).unwrap()
}

#[tokio::test]
async fn calls_of_segments_batch_are_shown_and_refused_ones_with_their_reason() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write").await;
    let mut stream = LiveStream::open(&workspace.api, "").await;
    let opened = json!({"type": "track", "event": "Opened", "messageId": "m1", "userId": "ann", "anonymousId": "a1",
        "timestamp": "2026-03-01T12:00:00Z", "properties": {"n": 1}});
    let unknown = json!({"type": "teleport", "messageId": "m2", "userId": "ann"});
    let nameless = json!({"type": "track", "messageId": "m3", "anonymousId": "a1"});
    sender.batch(&[unknown.clone(), opened.clone(), nameless.clone(), json!(5)]).await;
    let key = key_id(&sender);
    // The text of what is no call is not kept.
    let refused = [
        json!({"status": "rejected", "eventId": "m2", "name": "teleport", "userId": "ann", "keyId": key,
            "reason": "type must be track, page, screen, identify, group or alias", "body": unknown.to_string()}),
        json!({"status": "rejected", "eventId": "m3", "name": "track", "userId": "a1", "keyId": key,
            "reason": "event is required", "body": nameless.to_string()}),
        json!({"status": "rejected", "eventId": null, "name": null, "userId": null, "keyId": key,
            "reason": "event must be an object", "body": ""}),
    ];
    let accepted = json!({"status": "accepted", "eventId": "m1", "name": "Opened", "userId": "ann", "anonymousId": "a1",
        "properties": {"n": 1}, "timestamp": "2026-03-01T12:00:00.000Z", "keyId": key});
    let events = shown(&mut stream, 4).await;
    assert_eq!(events[0], accepted);
    assert_eq!(events[1..], refused);
    assert_eq!(listed(&workspace, 3).await, refused);

    // A retry is shown once; of an app the id is that of its event.
    sender.batch(std::slice::from_ref(&opened)).await;
    let app = Sender::app(&workspace).await;
    app.batch(&[opened, unknown]).await;
    let events = shown(&mut stream, 2).await;
    assert_eq!((&events[0]["eventId"], &events[1]["eventId"]), (&json!("sdk:m1"), &json!("m2")));
    assert_eq!(
        (&events[0]["keyId"], &events[1]["keyId"]),
        (&json!(key_id(&app)), &json!(key_id(&app)))
    );
}

#[tokio::test]
async fn calls_of_posthogs_batch_are_shown_and_refused_ones_with_their_reason() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write").await;
    let mut stream = LiveStream::open(&workspace.api, "").await;
    let http = Client::anonymous();
    let send = async |calls: Value| {
        let body = json!({"api_key": sender.key, "batch": calls});
        http.send(http.request(Method::POST, "/batch/").json(&body), 200).await;
    };
    let bought = json!({"event": "Bought", "uuid": "u1", "distinct_id": "ann", "timestamp": "2026-03-01T12:00:00Z",
        "properties": {"$lib": "posthog-node", "n": 1}});
    let page = json!({"event": "$pageview", "uuid": "u2", "distinct_id": "anon",
        "timestamp": "2026-03-01T12:00:00Z", "properties": {"$process_person_profile": false}});
    let of_no_person = json!({"event": "Bought", "uuid": "u3", "properties": {"n": 1}});
    let nameless = json!({"uuid": "u4", "distinct_id": "ann"});
    send(json!([of_no_person, bought, nameless, page])).await;
    let key = key_id(&sender);
    let events = shown(&mut stream, 4).await;
    let accepted = json!({"status": "accepted", "eventId": "u1", "name": "Bought", "userId": "ann",
        "properties": {"_lib": "posthog-node", "n": 1}, "timestamp": "2026-03-01T12:00:00.000Z", "keyId": key,
        "adjusted": {"renamed": 1, "cut": 0, "dropped": 0}});
    assert_eq!(events[0], accepted);
    assert_eq!(
        (&events[1]["name"], &events[1]["userId"], &events[1]["anonymousId"]),
        (&json!("Page Viewed"), &Value::Null, &json!("anon"))
    );
    let refused = [
        json!({"status": "rejected", "eventId": "u3", "name": "Bought", "userId": null, "keyId": key,
            "reason": "distinct_id is required", "body": of_no_person.to_string()}),
        json!({"status": "rejected", "eventId": "u4", "name": null, "userId": "ann", "keyId": key,
            "reason": "event is required", "body": nameless.to_string()}),
    ];
    assert_eq!(events[2..], refused);
    assert_eq!(listed(&workspace, 2).await, refused);
    send(json!([bought, {"event": "Last", "distinct_id": "ann"}])).await;
    assert_eq!(stream.event().await["name"], "Last", "a retry is shown once");
}

#[tokio::test]
async fn what_is_changed_about_calls_is_shown_with_them() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let mut stream = LiveStream::open(&workspace.api, "?status=accepted").await;
    let deep = json!({"a": {"b": {"c": {"d": 1}}}});
    let order = json!({"type": "track", "event": "Order Completed", "userId": "ann", "messageId": "m1",
        "properties": {"order_id": "1", "$a": 1}, "context": {"deep": deep, "page": {"path": "/"}}});
    let plain = json!({"type": "track", "event": "Plain", "userId": "ann", "messageId": "m2"});
    let identify =
        json!({"type": "identify", "userId": "ann", "messageId": "m3", "traits": {"$a": 1}});
    let without_user = json!({"type": "identify", "anonymousId": "x", "messageId": "m4",
        "traits": {"email": "x@example.test", "plan": "pro"}});
    let group = json!({"type": "group", "groupId": "acme", "messageId": "m5"});
    sender.batch(&[order, plain, without_user, identify, group]).await;
    let adjusted =
        |renamed, cut, dropped| json!({"renamed": renamed, "cut": cut, "dropped": dropped});
    // Changes of profiles become durable by themselves; calls without a user follow.
    let events = shown(&mut stream, 5).await;
    let find = |id: &str| events.iter().find(|event| event["eventId"] == id).unwrap();
    assert_eq!(find("m1")["adjusted"], adjusted(2, 1, 0));
    assert!(find("m2").get("adjusted").is_none());
    assert_eq!(find("m3")["adjusted"], adjusted(1, 0, 0));
    let dropped = &events[3..];
    assert_eq!(
        (&dropped[0]["name"], &dropped[0]["userId"], &dropped[0]["anonymousId"]),
        (&json!("identify"), &Value::Null, &json!("x"))
    );
    assert_eq!(
        (&dropped[0]["status"], &dropped[0]["adjusted"]),
        (&json!("accepted"), &adjusted(0, 0, 2))
    );
    assert_eq!(
        (&dropped[1]["name"], &dropped[1]["adjusted"]),
        (&json!("group"), &adjusted(0, 0, 1))
    );
    // Nothing of it is stored.
    assert!(search(&workspace, "x@example.test").await.is_empty());

    // What a public key may not set is dropped, and so are traits of a key that may not change profiles.
    let app = Sender::app(&workspace).await;
    let consent =
        json!({"type": "identify", "userId": "bob", "traits": {"consent": true, "plan": "pro"}});
    app.batch(&[consent]).await;
    assert_eq!(shown(&mut stream, 1).await[0]["adjusted"], adjusted(0, 0, 1));
    let tracker = Sender::of(&workspace, "events:write").await;
    let bought = json!({"event": "Bought", "distinct_id": "ann", "$set": {"a": 1, "b": 1}});
    let body = json!({"api_key": tracker.key, "batch": [bought]});
    tracker.post("/batch/", &body, 200).await;
    let event = &shown(&mut stream, 1).await[0];
    assert_eq!((&event["name"], &event["adjusted"]), (&json!("Bought"), &adjusted(0, 0, 2)));
}

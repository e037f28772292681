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
        "properties": {"_lib": "posthog-node", "n": 1}, "timestamp": "2026-03-01T12:00:00.000Z", "keyId": key});
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

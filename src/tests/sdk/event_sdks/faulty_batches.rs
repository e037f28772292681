//! Batches of nothing but faults, keys of others, and clocks that are years off.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};

use super::*;

/// Waits until so many refusals are counted; gives those that are listed, the newest first.
pub(super) async fn refused(workspace: &Workspace, total: u64) -> Vec<Value> {
    eventually("the refusals are counted", || async {
        let list = workspace.api.get("/events/rejected?limit=1000", 200).await.json();
        let counted = list["total"].as_u64().unwrap();
        assert!(counted <= total, "{counted} of {total}");
        (counted == total).then(|| list["data"].as_array().unwrap().clone())
    })
    .await
}

/// Likewise, page after page to the end of the list.
pub(super) async fn all_refused(workspace: &Workspace, total: u64) -> Vec<Value> {
    let mut listed = refused(workspace, total).await;
    loop {
        let path = format!("/events/rejected?limit=1000&offset={}", listed.len());
        let page = workspace.api.get(path, 200).await.json();
        let page = page["data"].as_array().unwrap();
        if page.is_empty() {
            return listed;
        }
        listed.extend(page.iter().cloned());
    }
}

fn reasons(listed: &[Value]) -> Vec<&str> {
    listed.iter().rev().map(|it| it["reason"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn of_a_hundred_thousand_tiny_events_each_is_counted_and_none_stored() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    let body = format!(r#"{{"batch":[{}0]}}"#, "0,".repeat(99_999));
    let answer = sender.http.send(sender.request("/v1/batch").body(body), 200).await;
    assert_eq!(answer.json(), json!({"success": true}));
    let listed = refused(&workspace, 100_000).await;
    assert_eq!(listed.len(), 500, "as many of one request are named");
    assert!(listed.iter().all(|it| it["reason"] == "event must be an object"), "{:?}", listed[0]);
    // The next event shows that nothing came before it.
    sender.batch(&[json!({"type": "track", "event": "E", "userId": "ann"})]).await;
    events(&workspace, "ann", 1).await;
    assert_eq!(workspace.api.get("/events/query", 200).await.json().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_batch_of_nothing_but_faults_is_answered_and_each_names_its_reason() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write").await;
    let good = json!({"type": "track", "event": "E", "userId": "ann"});
    sender
        .batch(&[
            json!({"batch": [good]}),
            json!([good]),
            json!("track"),
            json!(null),
            json!({"type": "track", "event": "E"}),
            json!({"type": "identify", "userId": "ann", "traits": {"plan": "pro"}}),
            json!({"type": "alias", "userId": "ann", "previousId": "a"}),
        ])
        .await;
    let scope = "a key with the scope users:write is required to change profiles";
    let object = "event must be an object";
    let user = "userId or anonymousId is required";
    let expected = ["type is required", object, object, object, user, scope, scope];
    assert_eq!(reasons(&refused(&workspace, 7).await), expected);

    let nested = json!({"event": "E", "distinct_id": "ann"});
    let body = json!({"api_key": sender.key, "batch": [{"batch": [nested]}, {"event": "$set", "distinct_id": "ann"}]});
    sender.post("/batch/", &body, 200).await;
    let expected = ["event is required; distinct_id is required", scope];
    assert_eq!(reasons(&refused(&workspace, 9).await)[7..], expected);
    sender.batch(&[json!({"type": "track", "event": "E", "userId": "ann"})]).await;
    events(&workspace, "ann", 1).await;
    assert!(search(&workspace, "ann").await.is_empty());
}

#[tokio::test]
async fn the_key_of_the_head_counts_and_no_other_workspace_sees_anything() {
    let (here, there) = (Workspace::new().await, Workspace::new().await);
    let sender = Sender::of(&here, "events:write,users:write").await;
    let other = Sender::of(&there, "events:write,users:write").await;
    let calls = json!([
        {"type": "track", "event": "E", "userId": "ann", "messageId": "m"},
        {"type": "alias", "userId": "ann", "previousId": "a"},
        {"type": "none"},
    ]);
    sender.post("/v1/batch", &json!({"batch": calls, "writeKey": other.key}), 200).await;
    events(&here, "ann", 1).await;
    profile(&here, "ann", |_| true).await;
    refused(&here, 1).await;
    // The same ids are free in the other workspace.
    other.post("/v1/batch", &json!({"batch": [calls[0]]}), 200).await;
    events(&there, "ann", 1).await;
    refused(&there, 0).await;
    assert!(search(&there, "ann").await.is_empty());
    events(&here, "ann", 1).await;
}

#[tokio::test]
async fn what_cannot_be_read_of_a_change_of_a_person_is_refused_with_the_reason() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write,users:write").await;
    // Half of a surrogate pair.
    let unreadable = r#"{"a":"\ud83d","$set":{"plan":"pro"},"traits":{"plan":"pro"}}"#;
    let people = ["$identify", "$set", "$groupidentify", "$create_alias"];
    let calls = people.map(|name| {
        format!(r#"{{"event":"{name}","distinct_id":"ann","properties":{unreadable}}}"#)
    });
    let body = format!(r#"{{"api_key":"{}","batch":[{}]}}"#, sender.key, calls.join(","));
    sender.http.send(sender.request("/batch/").body(body), 200).await;
    let listed = refused(&workspace, 4).await;
    let fault = "properties.a must not contain unpaired surrogates";
    assert_eq!(reasons(&listed), [fault; 4]);
    let names: Vec<_> = listed.iter().rev().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, people);
    let identify = format!(r#"{{"type":"identify","userId":"ann","context":{unreadable}}}"#);
    let body = format!(r#"{{"batch":[{identify}]}}"#);
    sender.http.send(sender.request("/v1/batch").body(body), 200).await;
    let fault = "context.a must not contain unpaired surrogates";
    assert_eq!(reasons(&refused(&workspace, 5).await)[4], fault);
    assert!(search(&workspace, "ann").await.is_empty());
}

/// Sends an event twice, the second time a second later by the sender's clock, and gives its time.
async fn arrived(
    workspace: &Workspace,
    sender: &Sender,
    name: &str,
    times: Times,
) -> DateTime<Utc> {
    for late in [0, 1] {
        let sent_at = times.sent_at + TimeDelta::seconds(late);
        let call = json!({"type": "track", "event": name, "userId": name, "messageId": name,
            "timestamp": times.timestamp.map(|it| it.to_rfc3339())});
        let body = json!({"batch": [call], "sentAt": sent_at.to_rfc3339()});
        sender.post("/v1/batch", &body, 200).await;
    }
    let last = json!({"type": "track", "event": "Last", "userId": name});
    sender.batch(&[last]).await;
    let events = events(workspace, name, 2).await;
    let event = events.iter().find(|event| event["event_id"] == name).unwrap();
    let text = event["timestamp"].as_str().unwrap();
    NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap().and_utc()
}

/// The times of a batch by the clock of its sender.
#[derive(Debug, Clone, Copy)]
struct Times {
    timestamp: Option<DateTime<Utc>>,
    sent_at: DateTime<Utc>,
}

#[tokio::test]
async fn a_sent_at_that_is_years_off_moves_an_event_only_where_it_may_have_happened() {
    let workspace = Workspace::new().await;
    let sender = Sender::of(&workspace, "events:write").await;
    let now = Clock::system().now().utc();
    let years = |years: i64| TimeDelta::days(365 * years);
    let before = |years_ago: i64| now - years(years_ago);
    for (name, timestamp, sent_at, expected) in [
        // The sender's clock is off, and both times with it.
        ("both-ahead", Some(before(-5)), before(-5), now),
        ("both-behind", Some(before(20)), before(20), now),
        // It says that the event happened years before it was sent.
        ("sent-later", Some(now), before(-5), before(5)),
        // Corrected, the time would lie more than a year ahead, or before 2000: it stays as sent.
        ("sent-before", Some(now), before(5), now),
        ("long-before", Some(before(1)), before(-40), before(1)),
        ("no-time", None, before(-5), now),
    ] {
        let times = Times { timestamp, sent_at };
        let at = arrived(&workspace, &sender, name, times).await;
        // Within the tolerance at midnight, and the time that the test took.
        let off = (at - expected).num_seconds().abs();
        assert!(off < 16 * 60, "{name}: {at} for {expected}");
    }
}

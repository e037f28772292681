//! Subscriptions and events that come along with users.

use serde_json::{Value, json};

use super::{id, post};
use crate::kit::{Workspace, eventually, server};

/// The list every workspace begins with.
async fn default_list(workspace: &Workspace) -> String {
    let (db, workspace) = (server().db(), workspace.id.uuid());
    let list: uuid::Uuid = server()
        .on(async move {
            sqlx::query_scalar(
                "select id from subscription_list where workspace_id = $1 and is_default",
            )
            .bind(workspace)
            .fetch_one(&db)
            .await
            .unwrap()
        })
        .await;
    list.to_string()
}

/// Contacts of the workspace with each status on any list, and entries of their history by source.
async fn stored(workspace: &Workspace) -> (i64, i64, i64) {
    let (db, workspace) = (server().db(), workspace.id.uuid());
    server()
        .on(async move {
            let count = |sql: &'static str| sqlx::query_scalar::<_, i64>(sql).bind(workspace).fetch_one(&db);
            (
                count("select count(*) from list_membership where workspace_id = $1 and status = 'subscribed'").await.unwrap(),
                count("select count(*) from list_membership where workspace_id = $1 and status = 'unsubscribed'").await.unwrap(),
                count("select count(*) from subscription_history where workspace_id = $1 and source = 'api' and actor like 'api_key:%'").await.unwrap(),
            )
        })
        .await
}

#[tokio::test]
async fn inline_subscriptions_apply_and_never_revert_an_opt_out() {
    let workspace = Workspace::new().await;
    let list = default_list(&workspace).await;
    let nowhere = "01890000-0000-7000-8000-000000000000";
    let sent = json!({"externalId": "ann", "subscriptions": [
        {"listId": list},
        {"listId": list, "channel": "sms", "status": "unsubscribed"},
        {"listId": nowhere, "channel": "push"},
        {"listId": "no id at all"},
        {"channel": "viber"},
    ]});
    let ann = post(&workspace, &sent, 201).await;
    assert_eq!(
        ann["subscriptions"],
        json!({"applied": 2, "skipped": [
            {"listId": nowhere, "channel": "push", "reason": "list not found"},
            {"listId": "no id at all", "channel": "email", "reason": "list not found"},
            {"listId": null, "channel": "viber", "reason": "listId is required"},
        ]})
    );
    assert!(ann.get("events").is_none());
    assert_eq!(stored(&workspace).await, (1, 1, 2));
    let again = json!({"externalId": "ann", "subscriptions": [{"listId": list, "channel": "sms"}]});
    let again = post(&workspace, &again, 200).await;
    assert_eq!(
        again["subscriptions"],
        json!({"applied": 0, "skipped": [{"listId": list, "channel": "sms",
            "reason": "contact has opted out of this list on this channel"}]})
    );
    let none = post(&workspace, &json!({"externalId": "ann", "subscriptions": []}), 200).await;
    assert_eq!(none["subscriptions"], json!({"applied": 0, "skipped": []}));
}

#[tokio::test]
async fn malformed_inline_fields_reject_the_user_with_every_error() {
    let workspace = Workspace::new().await;
    let sent = json!({"externalId": "ann", "phone": 1,
        "subscriptions": [{"listId": 1, "channel": "fax", "status": "maybe"}, 7],
        "events": [{"name": 1, "properties": [], "timestamp": {}}, "x"]});
    assert_eq!(
        workspace.api.post("/users", &sent, 400).await.errors(),
        [
            "phone must be a string",
            "subscriptions[0].listId must be a string",
            "subscriptions[0].channel must be one of: email, sms, whatsapp, push, viber",
            "subscriptions[0].status must be one of: subscribed, unsubscribed",
            "subscriptions[1] must be an object",
            "events[0].name must be a string",
            "events[0].properties must be an object",
            "events[0].timestamp must be a string or a number",
            "events[1] must be an object",
        ]
    );
    for (sent, error) in [
        (json!({"externalId": "a", "subscriptions": {}}), "subscriptions must be an array"),
        (json!({"externalId": "a", "events": "x"}), "events must be an array"),
        (
            json!({"externalId": "a", "events": vec![json!({"name": "A"}); 26]}),
            "events must have at most 25 elements, received 26",
        ),
        (
            json!({"externalId": "a", "subscriptions": vec![json!({"listId": "x"}); 101]}),
            "subscriptions must have at most 100 elements, received 101",
        ),
    ] {
        assert_eq!(workspace.api.post("/users", &sent, 400).await.errors(), [error]);
    }
    assert_eq!(workspace.api.get("/users", 200).await.json()["pagination"]["total"], 0);
    // In an array an item without what it needs refuses its element.
    let body = json!([
        {"externalId": "a", "subscriptions": [{"channel": "sms"}]},
        {"externalId": "b", "events": [{"properties": {}}]},
        {"externalId": "c", "events": [{"name": ""}]},
    ]);
    let answer = workspace.api.post("/users", &body, 200).await.json();
    let reasons: Vec<&str> = answer["failed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["reason"].as_str().unwrap())
        .collect();
    assert_eq!(
        reasons,
        [
            "subscriptions[0].listId is required",
            "events[0].name is required",
            "events[0].name is required"
        ]
    );
}

#[tokio::test]
async fn inline_events_are_tracked_and_read_back_by_either_id() {
    let workspace = Workspace::new().await;
    let long = "x".repeat(256);
    let sent = json!({"externalId": "ann", "events": [
        {"name": "Signup Completed", "properties": {"plan": "pro", "n": 1.50}, "timestamp": "2026-03-01T12:00:00Z"},
        {"name": "Page Viewed", "timestamp": 1_772_366_401_000_i64},
        {"name": "Old", "timestamp": "1999-12-31T00:00:00Z"},
        {"name": "Reserved", "properties": {"$mine": 1}},
        {"name": long},
        {"properties": {}},
    ]});
    let ann = post(&workspace, &sent, 201).await;
    // The texts are those of /events/track.
    let tracked: Vec<Value> = sent["events"].as_array().unwrap()[2..]
        .iter()
        .map(|event| {
            let mut event = event.clone();
            let name = event.as_object_mut().unwrap().remove("name");
            if let Some(name) = name {
                event["eventName"] = name;
            }
            event["userId"] = json!("ann");
            event
        })
        .collect();
    let verdict = workspace.api.post("/events/track", &json!(tracked), 200).await.json();
    let reasons = |list: &Value| -> Vec<String> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|one| one["reason"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ann["events"]["accepted"], 2);
    assert_eq!(reasons(&ann["events"]["rejected"]), reasons(&verdict["rejected"]));
    let names: Vec<&Value> =
        ann["events"]["rejected"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, [&json!("Old"), &json!("Reserved"), &json!(long), &Value::Null]);
    assert!(ann.get("subscriptions").is_none());

    // A lead has no external id: its events are bound to the internal one, and stay the person's.
    let lead = json!({"email": "lead@example.test", "events": [{"name": "Lead", "timestamp": "2026-03-01T12:00:02Z"}]});
    let lead = post(&workspace, &lead, 201).await;
    post(&workspace, &json!({"externalId": "c1", "email": "lead@example.test"}), 200).await;
    let event = json!({"userId": "c1", "eventName": "Bought", "timestamp": "2026-03-01T12:00:03Z"});
    workspace.api.post("/events/track", &event, 200).await;
    for (user, expected) in
        [(&ann, vec!["Page Viewed", "Signup Completed"]), (&lead, vec!["Bought", "Lead"])]
    {
        let names = eventually("the events are visible", || async {
            let page = workspace.api.get(format!("/users/{}/events", id(user)), 200).await.json();
            let data = page["data"].as_array().unwrap().clone();
            (data.len() == 2).then_some(data)
        })
        .await;
        let names: Vec<&str> =
            names.iter().map(|event| event["event_name"].as_str().unwrap()).collect();
        assert_eq!(names, expected);
    }
    let read = workspace
        .api
        .get("/events/query?userId=ann&eventName=Signup%20Completed", 200)
        .await
        .json();
    assert_eq!(
        (&read[0]["user_id"], &read[0]["properties"]),
        (&json!("ann"), &json!({"plan": "pro", "n": 1.5}))
    );
}

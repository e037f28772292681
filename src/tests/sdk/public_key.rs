//! Limits of a public key on orders, campaigns and suppressions.

use serde_json::json;

use super::{Device, person};
use crate::{
    campaigns::{call, id, made},
    kit::{Workspace, eventually, server, unique},
};

#[tokio::test]
async fn an_sdk_event_never_replaces_a_servers_event_and_is_no_order() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let order = |total: f64| {
        json!({"userId": "ann", "eventName": "Order Completed", "clientEventId": "order-1",
            "timestamp": "2026-10-01T12:00:00Z",
            "properties": {"orderId": "1001", "total": total, "currency": "EUR"}})
    };
    let forged = device.post("/v1/track", &order(0.01), 200).await.json();
    assert_eq!(forged, json!({"eventId": "sdk:order-1", "success": true}));
    workspace.api.post("/events/track", &order(49.90), 200).await;
    let events = eventually("both are read", || async {
        let events = workspace.api.get("/events/query?userId=ann", 200).await.json();
        (events.as_array().unwrap().len() == 2).then_some(events)
    })
    .await;
    let mut ids: Vec<&str> =
        events.as_array().unwrap().iter().map(|it| it["event_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["order-1", "sdk:order-1"]);
    let asked = json!({"eventName": "Order Completed", "groupBy": "month", "metrics": ["count", "sum"], "sumField": "total",
        "startDate": "2026-09-01"});
    let found = workspace.api.post("/events/aggregate", &asked, 200).await.json();
    let results = found["data"]["results"].as_array().unwrap().clone();
    assert_eq!(results.len(), 1, "{found}");
    assert_eq!(results[0]["sum_value"], 49.9, "{found}");
}

#[tokio::test]
async fn an_sdk_event_triggers_no_campaign() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    person(&workspace, json!({})).await;
    workspace
        .api
        .post("/users", &json!({"externalId": "bob", "email": "bob@example.test"}), 201)
        .await;
    let body = json!({
        "name": "Welcome", "channel": "email", "sendType": "triggered",
        "triggerConfig": {"type": "event", "eventName": "Signed Up", "reEntry": "always"},
        "variants": [{"id": "a", "name": "A", "weight": 100,
            "message": {"subject": "Hi", "html": "<p>Hi <a href=\"{{ unsubscribe_url }}\">no more</a></p>"}}]});
    let campaign = made(&workspace.api, &body).await;
    call(&workspace.api, &campaign, "send", 200).await;
    let event = |id: &str| json!({"userId": "bob", "eventName": "Signed Up", "clientEventId": id});
    device.post("/v1/track", &event("from-app"), 200).await;
    workspace.api.post("/events/track", &event("from-server"), 200).await;
    // Events are looked at in the order they came in.
    let entered = eventually("the server's event has triggered it", || async {
        let (db, workspace) = (server().db(), workspace.id.uuid());
        let work = async move {
            sqlx::query_scalar::<_, String>(
                "select event_id from campaign_entry where workspace_id = $1 order by 1",
            )
            .bind(workspace)
            .fetch_all(&db)
            .await
            .unwrap()
        };
        let entered = server().on(work).await;
        (!entered.is_empty()).then_some(entered)
    })
    .await;
    assert_eq!(entered, ["from-server"], "{}", id(&campaign));
}

/// The reasons of the suppressions of an address or number.
async fn reasons(workspace: &Workspace, channel: &str, identifier: &str) -> Vec<String> {
    let (db, id) = (server().db(), workspace.id.uuid());
    let (channel, identifier) = (channel.to_owned(), identifier.to_owned());
    let work = async move {
        sqlx::query_scalar::<_, String>(
            "select reason from suppression
             where workspace_id = $1 and channel = $2 and identifier = $3 order by 1",
        )
        .bind(id)
        .bind(channel)
        .bind(identifier)
        .fetch_all(&db)
        .await
        .unwrap()
    };
    server().on(work).await
}

#[tokio::test]
async fn an_sdk_opt_in_keeps_suppressions_of_operators_and_other_workspaces() {
    let organization = unique("org");
    let (workspace, sister) = (
        Workspace::in_organization(&organization).await,
        Workspace::in_organization(&organization).await,
    );
    let device = Device::of(&workspace).await;
    let (ann, internal) = person(&workspace, json!({})).await;
    let phone = "+491511234567";
    workspace.api.post("/users", &json!({"externalId": ann, "phone": phone}), 200).await;
    let email = format!("{ann}@example.test");
    let device = device.by(&ann);
    for (channel, identifier) in [("email", email.as_str()), ("sms", phone)] {
        let out = json!({"userId": ann, "channel": channel, "status": "unsubscribed"});
        device.post("/v1/subscriptions/channel", &out, 200).await;
        let manual = json!({"channel": channel, "identifier": identifier, "reason": "manual"});
        workspace.api.post("/suppressions", &manual, 201).await;
        assert_eq!(reasons(&workspace, channel, identifier).await, ["manual", "unsubscribe"]);
        let opt_in = json!({"userId": ann, "channel": channel, "status": "optedIn"});
        device.post("/v1/subscriptions/channel", &opt_in, 200).await;
        assert_eq!(reasons(&workspace, channel, identifier).await, ["manual"], "{channel}");
    }
    assert_eq!(reasons(&sister, "sms", phone).await, ["unsubscribe"], "of the organization");
    // What a program with an API key says reaches as far as ever.
    let path = format!("/subscriptions/contacts/{internal}/channels/sms");
    let body = json!({"channel": "sms", "status": "optedIn"});
    let request = workspace.api.request(reqwest::Method::PUT, &path).json(&body);
    workspace.api.send(request, 200).await;
    assert!(reasons(&workspace, "sms", phone).await.is_empty());
    assert!(reasons(&sister, "sms", phone).await.is_empty());
}

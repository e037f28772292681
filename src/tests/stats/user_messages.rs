//! `GET /users/:userId/messages`: what became of the messages to a person, whatever campaign they are of.

use ingest::record::MessageKind as K;
use serde_json::{Value, json};
use uuid::Uuid;

use super::fixture::{campaign, hour, in_euros, iso, message_event, person, publish};
use crate::{
    identity::merge,
    kit::{Client, Workspace},
};

async fn page(api: &Client, user: &str, query: &str) -> Value {
    api.get(format!("/users/{user}/messages{query}"), 200).await.json()
}

fn kinds(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn messages_of_all_campaigns_and_of_none_are_listed_newest_first() {
    let workspace = in_euros().await;
    let ((_, ann), (_, other)) = (person(&workspace).await, person(&workspace).await);
    let first = campaign(&workspace, json!({})).await;
    let second = campaign(&workspace, json!({})).await;
    let name = workspace.api.get(format!("/campaigns/{first}"), 200).await.json();
    let url = "https://example.com/?a=1&b=<2>";
    let events = [
        message_event(first, &ann, K::Queued, hour(1)),
        message_event(first, &ann, K::Sent, hour(2)),
        message_event(second, &ann, K::Failed, hour(3)).because("550", "no such <box>"),
        message_event(first, &ann, K::Clicked, hour(4)).on(url),
        message_event(Uuid::nil(), &ann, K::Sent, hour(5)),
        message_event(first, &other, K::Sent, hour(2)),
    ];
    publish(&workspace, &events).await;
    let all = page(&workspace.api, &ann, "").await;
    assert_eq!(kinds(&all), ["sent", "clicked", "failed", "sent", "queued"]);
    assert_eq!(all["hasMore"], false);
    let clicked = &all["data"][1];
    assert_eq!(clicked["campaignId"], first.to_string());
    assert_eq!((&clicked["campaignName"], &clicked["url"]), (&name["name"], &json!(url)));
    assert_eq!(
        (&clicked["channel"], &clicked["timestamp"]),
        (&json!("email"), &json!(iso(hour(4))))
    );
    let failed = &all["data"][2];
    assert_eq!((&failed["code"], &failed["reason"]), (&json!("550"), &json!("no such <box>")));
    let single = &all["data"][0];
    assert!(single["campaignId"].is_null() && single["campaignName"].is_null(), "{single}");

    let some = page(&workspace.api, &ann, "?limit=2&offset=1").await;
    assert_eq!((kinds(&some), &some["hasMore"]), (vec!["clicked", "failed"], &json!(true)));
    let query = format!("?startDate={}&endDate={}", iso(hour(2)), iso(hour(3)));
    assert_eq!(kinds(&page(&workspace.api, &ann, &query).await), ["failed", "sent"]);
    assert_eq!(kinds(&page(&workspace.api, &other, "").await), ["sent"]);
}

#[tokio::test]
async fn messages_to_merged_profiles_are_the_survivors_and_of_no_other_workspace() {
    let (workspace, elsewhere) = (in_euros().await, Workspace::new().await);
    let ((ann, ann_id), (bob, bob_id)) = (person(&workspace).await, person(&workspace).await);
    let id = campaign(&workspace, json!({})).await;
    let events = [
        message_event(id, &ann_id, K::Sent, hour(1)),
        message_event(id, &bob_id, K::Skipped, hour(2)),
    ];
    publish(&workspace, &events).await;
    merge(&workspace, &bob, &ann).await;
    for user in [&ann_id, &bob_id] {
        assert_eq!(kinds(&page(&workspace.api, user, "").await), ["skipped", "sent"], "{user}");
    }
    elsewhere.api.get(format!("/users/{ann_id}/messages"), 404).await;
    let limited = workspace.with_scopes("campaigns:read").await;
    let refused = limited.get(format!("/users/{ann_id}/messages"), 403).await.text;
    assert!(refused.contains("users:read"), "{refused}");
    for (query, limit) in [("", 50), ("?limit=1000", 1_000), ("?limit=1001", 1_000)] {
        assert_eq!(page(&workspace.api, &ann_id, query).await["limit"], limit, "{query}");
    }
    for query in ["?startDate=soon", "?endDate=2026-02-30"] {
        workspace.api.get(format!("/users/{ann_id}/messages{query}"), 400).await;
    }
}

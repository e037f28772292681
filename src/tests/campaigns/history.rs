//! The history of a campaign: calls, actors and changes.

use serde_json::{Value, json};

use super::{call, email, id, made, put, triggered};
use crate::kit::Workspace;

#[tokio::test]
async fn history_lists_every_call_newest_first_with_actor_and_changes() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &triggered("one")).await;
    put(api, &campaign, json!({"name": "two"}), 200).await;
    for suffix in ["send", "pause", "resume"] {
        call(api, &campaign, suffix, 200).await;
    }
    put(api, &campaign, json!({"name": "three"}), 200).await;
    for suffix in ["discard-draft", "cancel", "archive", "unarchive"] {
        call(api, &campaign, suffix, 200).await;
    }
    call(api, &campaign, "send", 409).await;
    let answer = api.get(format!("/campaigns/{}/history", id(&campaign)), 200).await.json();
    let items = answer["items"].as_array().unwrap();
    let actions: Vec<&str> = items.iter().map(|it| it["action"].as_str().unwrap()).collect();
    assert_eq!(
        actions,
        [
            "unarchived",
            "archived",
            "cancelled",
            "draft_discarded",
            "draft_updated",
            "resumed",
            "paused",
            "sent",
            "updated",
            "created",
        ]
    );
    assert_eq!(answer["total"], actions.len());
    let key = campaign["createdBy"].as_str().unwrap().strip_prefix("api_key:").unwrap();
    for item in items {
        assert_eq!(item["actor"], json!({"type": "api_key", "id": key}));
        assert!(item["createdAt"].is_string() && item["id"].is_string());
    }
    assert_eq!(items[8]["changes"], json!([{"path": "/name", "before": "one", "after": "two"}]));
    assert_eq!(
        items[7]["changes"],
        json!([{"path": "/status", "before": "draft", "after": "active"}])
    );
}

#[tokio::test]
async fn a_page_holds_fifty_unless_asked_and_two_hundred_at_most() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &triggered("t")).await;
    call(api, &campaign, "send", 200).await;
    for _ in 0..100 {
        call(api, &campaign, "pause", 200).await;
        call(api, &campaign, "resume", 200).await;
    }
    let page = async |query: &str| {
        api.get(format!("/campaigns/{}/history{query}", id(&campaign)), 200).await.json()
    };
    for (query, length) in
        [("", 50), ("?limit=200", 200), ("?limit=201", 200), ("?limit=x", 50), ("?limit=3", 3)]
    {
        let page = page(query).await;
        assert_eq!(
            (page["items"].as_array().unwrap().len(), &page["total"]),
            (length, &json!(202))
        );
    }
    let last = page("?limit=2&offset=201").await;
    assert_eq!(last["items"].as_array().unwrap().len(), 1);
    assert_eq!(last["items"][0]["action"], "created");
}

#[tokio::test]
async fn history_shows_long_values_by_their_length() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &email("one")).await;
    let mut variants = campaign["variants"].clone();
    variants[0]["message"]["text"] = json!("x".repeat(5000));
    put(api, &campaign, json!({"variants": variants}), 200).await;
    let answer = api.get(format!("/campaigns/{}/history?limit=1", id(&campaign)), 200).await.json();
    let change = &answer["items"][0]["changes"][0];
    assert_eq!(change["path"], "/variants/0/message/text");
    assert_eq!(
        (&change["before"], &change["after"]),
        (&Value::Null, &json!("(5002 characters of JSON)"))
    );
}

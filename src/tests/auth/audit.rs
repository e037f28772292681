//! `GET /audit`: each change of the settings of a workspace, once, with its author.

use reqwest::Method;
use serde_json::{Value, json};

use crate::kit::{Client, Workspace, unique};

async fn put(api: &Client, path: &str, body: &Value, expected: u16) {
    api.send(api.request(Method::PUT, path).json(body), expected).await;
}

async fn delete(api: &Client, path: &str, expected: u16) {
    api.send(api.request(Method::DELETE, path), expected).await;
}

/// Actions, kinds and names of the newest entries, newest first.
async fn newest(workspace: &Workspace, count: usize) -> Vec<(String, String, Value)> {
    let log = workspace.api.get(format!("/audit?limit={count}"), 200).await.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let entries = log["data"].as_array().unwrap().iter();
    let entry = |it: &Value| {
        (text(&it["action"]), text(&it["object"]["kind"]), it["object"]["name"].clone())
    };
    entries.map(entry).collect()
}

fn entry(action: &str, kind: &str, name: &str) -> (String, String, Value) {
    (action.to_owned(), kind.to_owned(), json!(name))
}

#[tokio::test]
async fn changes_of_lists_are_logged() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let body = json!({"name": "News", "channels": ["email", "sms"]});
    let list = api.post("/lists", &body, 201).await.json();
    let path = format!("/lists/{}", list["id"].as_str().unwrap());
    put(api, &path, &json!({"name": "Notes", "requireDoubleOptIn": true}), 200).await;
    // What changes nothing, or is refused, is not there.
    put(api, &path, &json!({}), 200).await;
    put(api, &path, &json!({"name": ""}), 400).await;
    api.post("/lists", &json!({"name": "notes"}), 409).await;
    delete(api, &path, 204).await;
    delete(api, &path, 404).await;
    api.post(&format!("{path}/restore"), &json!({}), 200).await;
    api.post(&format!("{path}/restore"), &json!({}), 200).await;
    let expected = [
        entry("list.restored", "list", "Notes"),
        entry("list.archived", "list", "Notes"),
        entry("list.changed", "list", "Notes"),
        entry("list.created", "list", "News"),
    ];
    assert_eq!(newest(&workspace, 5).await[..4], expected);
    let changed = api.get("/audit?action=list.changed", 200).await.json();
    assert_eq!(
        changed["data"][0]["details"],
        json!({"channels": ["email", "sms"], "isPublic": true, "type": "marketing", "requireDoubleOptIn": true})
    );
    assert_eq!(changed["data"][0]["object"]["id"], list["id"]);
    assert_eq!(changed["data"][0]["ipAddress"], "127.0.0.1");
}

#[tokio::test]
async fn changes_of_sender_domains_and_the_preference_page_are_logged() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let domain = format!("{}.example.com", unique("audit"));
    let body = json!({"domain": domain});
    let added = api.post("/sender-domains", &body, 201).await.json();
    api.post("/sender-domains", &body, 409).await;
    let path = format!("/sender-domains/{}", added["id"].as_str().unwrap());
    delete(api, &path, 204).await;
    delete(api, &path, 404).await;
    let page = "/subscriptions/hosted-page/preference-center";
    put(api, page, &json!({"mode": "redirect", "redirectUrl": "https://example.com/bye"}), 200)
        .await;
    put(api, page, &json!({"mode": "custom", "html": "no form"}), 400).await;
    let log = newest(&workspace, 4).await;
    assert_eq!(log[0].0, "preference_page.changed");
    let expected = [
        entry("sender_domain.deleted", "sender_domain", &domain),
        entry("sender_domain.added", "sender_domain", &domain),
    ];
    assert_eq!(log[1..3], expected);
    let changed = api.get("/audit?action=preference_page.changed", 200).await.json();
    assert_eq!(
        changed["data"][0]["details"],
        json!({"mode": "redirect", "redirectUrl": "https://example.com/bye", "htmlBytes": 0})
    );
}

//! `/keys` and `/audit`: making and revoking keys over HTTP, and the log of it.

use reqwest::Method;
use serde_json::{Value, json};

use crate::kit::{Client, Workspace, eventually, server};

async fn delete(client: &Client, id: &str, status: u16) {
    client.send(client.request(Method::DELETE, &format!("/keys/{id}")), status).await;
}

fn holder(key: &Value) -> Client {
    Client::new(&server().url, key["key"].as_str())
}

#[tokio::test]
async fn a_key_is_shown_once_works_and_stops() {
    let workspace = Workspace::new().await;
    let body = json!({"name": "Shop", "scopes": ["users:read", "settings:*"]});
    let made = workspace.api.post("/keys", &body, 201).await.json();
    let scopes = json!(["users:read", "settings:read", "settings:write"]);
    assert_eq!(
        (&made["name"], &made["kind"], &made["scopes"]),
        (&json!("Shop"), &json!("api"), &scopes)
    );
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    assert!(key.starts_with(&format!("mr_{id}_")), "{key}");
    let own = holder(&made);
    own.get("/users", 200).await;
    own.get("/campaigns", 403).await;
    // The list has everything but the secret.
    let keys = own.get("/keys?limit=1", 200).await;
    // A secret may have underscores itself.
    let secret = key.splitn(3, '_').last().unwrap();
    assert!(!keys.text.contains(secret), "{}", keys.text);
    let keys = keys.json();
    assert_eq!((&keys["data"][0]["id"], &keys["pagination"]["total"]), (&json!(id), &json!(2)));
    assert_eq!(keys["pagination"]["hasMore"], true);
    delete(&workspace.api, id, 204).await;
    eventually("the key is refused", || async {
        let answer = own.request(Method::GET, "/users").send().await.unwrap();
        (answer.status() == 401).then_some(())
    })
    .await;
    delete(&workspace.api, id, 204).await;
    // Each change once, with its author; revoking again changed nothing.
    let log = workspace.api.get("/audit", 200).await.json();
    let actions: Vec<&str> =
        log["data"].as_array().unwrap().iter().map(|it| it["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["key.revoked", "key.created", "key.created"]);
    let entry = &log["data"][1];
    assert_eq!(entry["object"], json!({"kind": "key", "id": id, "name": "Shop"}));
    assert_eq!(entry["details"], json!({"kind": "api", "scopes": scopes}));
    let workspace_key = log["data"][2]["object"]["id"].as_str().unwrap();
    assert_eq!(entry["actor"], format!("api_key:{workspace_key}"));
    assert_eq!(
        (&entry["ipAddress"], &log["data"][2]["actor"]),
        (&json!("127.0.0.1"), &json!("command_line"))
    );
    let revoked = workspace.api.get("/audit?action=key.revoked&limit=1", 200).await.json();
    assert_eq!(
        (&revoked["pagination"]["total"], &revoked["data"][0]),
        (&json!(1), &log["data"][0])
    );
    workspace.api.get("/audit?action=key.eaten", 400).await;
}

#[tokio::test]
async fn a_key_has_no_scope_that_its_maker_lacks() {
    let workspace = Workspace::new().await;
    let limited = workspace.with_scopes("settings:write,users:read").await;
    for (scopes, missing) in [
        (json!(["users:write"]), "users:write"),
        (json!(["users:read", "users:*"]), "users:write"),
        (json!(["*"]), "users:write"),
    ] {
        let refused = limited.post("/keys", &json!({"scopes": scopes}), 403).await.text;
        assert!(refused.contains(missing), "{scopes}: {refused}");
    }
    limited.post("/keys", &json!({"scopes": ["users:read"]}), 201).await;
    // An SDK key has none at all.
    let sdk = limited.post("/keys", &json!({"kind": "sdk", "name": "App"}), 201).await.json();
    assert!(sdk["key"].as_str().unwrap().starts_with("mrs_"), "{sdk}");
    assert_eq!(sdk["scopes"], json!([]));
    limited.get("/keys", 403).await;
}

#[tokio::test]
async fn faulty_keys_are_refused_at_their_fields() {
    let workspace = Workspace::new().await;
    for (body, error) in [
        (json!({}), "scopes must have at least 1 element"),
        (json!({"scopes": []}), "scopes must have at least 1 element"),
        (json!({"scopes": "*"}), "scopes must be an array"),
        (json!({"scopes": ["users:eat"]}), "scopes[0] must be one of"),
        (json!({"scopes": ["users:read", ""]}), "scopes[1] must be one of"),
        (json!({"scopes": ["users:read,events:read"]}), "scopes[0] must be one of"),
        (json!({"scopes": [7]}), "scopes[0] must be a string"),
        (json!({"kind": "sdk", "scopes": ["*"]}), "scopes must be absent"),
        (json!({"kind": "ssh", "scopes": ["*"]}), "kind must be one of: api, sdk"),
        (json!({"name": "", "scopes": ["*"]}), "name must be between 1 and 255"),
        (json!({"name": "x".repeat(256), "scopes": ["*"]}), "name must be between 1 and 255"),
        (json!({"name": "a\u{7}b", "scopes": ["*"]}), "name must not contain control characters"),
    ] {
        let errors = workspace.api.post("/keys", &body, 400).await.errors();
        assert!(errors.iter().any(|it| it.starts_with(error)), "{body}: {errors:?}");
    }
    assert_eq!(workspace.api.get("/keys", 200).await.json()["pagination"]["total"], 1);
    let long = json!({"name": "ش".repeat(255), "scopes": ["*"]});
    assert_eq!(workspace.api.post("/keys", &long, 201).await.json()["scopes"], json!(["*"]));
}

#[tokio::test]
async fn keys_of_another_workspace_are_not_found() {
    let (here, there) = (Workspace::new().await, Workspace::new().await);
    let theirs = there.api.post("/keys", &json!({"scopes": ["users:read"]}), 201).await.json();
    for id in [theirs["id"].as_str().unwrap(), "deaddeaddead", "short", "not-an-id-at-all"] {
        delete(&here.api, id, 404).await;
    }
    holder(&theirs).get("/users", 200).await;
    let log = here.api.get("/audit", 200).await.text;
    assert!(!log.contains(theirs["id"].as_str().unwrap()), "{log}");
}

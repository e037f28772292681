//! Isolation of workspaces, and scopes.

use serde_json::json;

use super::track::events_of;
use crate::kit::{Client, Workspace};

#[tokio::test]
async fn a_workspace_never_sees_events_of_another() {
    let (one, other) = (Workspace::new().await, Workspace::new().await);
    let event = json!({"userId": "ann", "eventName": "A", "properties": {"n": 1}});
    one.api.post("/events/track", &event, 200).await;
    events_of(&one, 1).await;
    assert_eq!(other.api.get("/events/query", 200).await.json(), json!([]));
    assert_eq!(other.api.get("/events/query?userId=ann", 200).await.json(), json!([]));
    let answer = other.api.post("/events/aggregate", &json!({"eventName": "A"}), 200).await.json();
    assert_eq!(answer["data"]["total"], 0);
}

#[tokio::test]
async fn each_scope_gives_access_to_its_endpoints_only() {
    let workspace = Workspace::new().await;
    let event = json!({"userId": "ann", "eventName": "A"});
    let question = json!({"eventName": "A"});
    for (scopes, track, read) in [
        ("events:write", 200, 403),
        ("events:read", 403, 200),
        ("events:*", 200, 200),
        ("*", 200, 200),
        ("users:read,users:write,users:delete", 403, 403),
        ("campaigns:*,settings:read,compliance:write", 403, 403),
    ] {
        let client: Client = workspace.with_scopes(scopes).await;
        let tracked = client.post("/events/track", &event, track).await;
        client.get("/events/query", read).await;
        let asked = client.post("/events/aggregate", &question, read).await;
        if track == 403 {
            assert_eq!(tracked.json()["message"], "Missing required scope: events:write");
        }
        if read == 403 {
            assert_eq!(asked.json()["message"], "Missing required scope: events:read");
        }
    }
}

#[tokio::test]
async fn a_missing_or_invalid_credential_is_401_before_validation() {
    for client in [
        Client::anonymous(),
        Client::new(&crate::kit::server().url, Some("mr_abcdefghijkl_nonsense")),
        Client::new(&crate::kit::server().url, Some("")),
    ] {
        client.post_bytes("/events/track", "not json", 401).await;
        client.get("/events/query?startDate=nonsense", 401).await;
        client.post("/events/aggregate", &json!({}), 401).await;
        client.get("/users/0123456789abcdef01234567/events", 401).await;
    }
}

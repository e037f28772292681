//! Exports: one document with everything, gone with an erasure.

use serde_json::{Value, json};

use super::{ended, erase, request, until_events, workspace};
use crate::kit::unique;

#[tokio::test]
async fn an_export_has_everything_and_is_gone_with_an_erasure() {
    let workspace = workspace().await;
    let api = &workspace.api;
    let external = unique("ann");
    let body = json!({
        "externalId": external, "email": format!("{external}@example.test"), "attributes": {"score": 49.90},
    });
    let made = api.post("/users", &body, 201).await.json();
    let user = made["id"].as_str().unwrap();
    let other = api.post("/users", &json!({"externalId": format!("{external}-former")}), 201).await;
    let merge = json!({"from": format!("{external}-former"), "into": external});
    api.post("/users/merge", &merge, 200).await;
    let address = format!("{external}@example.test");
    let row = json!({"channel": "email", "identifier": address});
    api.post("/suppressions", &row, 201).await;
    let path = format!("/suppressions/{address}?channel=email");
    api.send(api.request(reqwest::Method::DELETE, &path), 200).await;
    let path = format!("/subscriptions/contacts/{user}/channels/email");
    let consent = json!({"channel": "email", "status": "unsubscribed"});
    api.send(api.request(reqwest::Method::PUT, &path).json(&consent), 200).await;
    let events = json!([
        {"userId": external, "eventName": "Paid", "properties": {"total": 12.50, "nested": {"a": [1, "x"]}}},
        {"userId": format!("{external}-former"), "eventName": "Seen"},
        {"userId": "another", "eventName": "Seen"},
    ]);
    api.post("/events/track", &events, 200).await;
    until_events(api, &external, 2).await;

    let id = request(api, &json!({"type": "export", "userId": user})).await;
    let done = ended(api, &id).await;
    assert_eq!(done["state"], "done", "{done}");
    assert!(done["expiresAt"].is_string());
    let document = api.get(format!("/privacy/requests/{id}/download"), 200).await;
    assert_eq!(document.headers["content-type"], "application/json");
    let document = document.json();
    assert_eq!(document["profiles"].as_array().unwrap().len(), 2);
    assert_eq!(document["consents"][0]["status"], "unsubscribed");
    assert!(!document["consentHistory"].as_array().unwrap().is_empty());
    let former = other.json()["id"].as_str().unwrap().to_owned();
    assert!(document["identifiers"].to_string().contains(&former));
    let events = document["events"].as_array().unwrap();
    let names: Vec<_> = events.iter().map(|event| event["eventName"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let paid = events.iter().find(|event| event["eventName"] == "Paid").unwrap();
    assert_eq!(paid["properties"], json!({"total": 12.50, "nested": {"a": [1, "x"]}}));
    for name in ["lists", "devices", "messages", "messageEvents", "suppressions"] {
        assert!(document[name].is_array(), "{name}");
    }

    let removed = &document["removedSuppressions"][0];
    assert_eq!((&removed["identifier"], &removed["reason"]), (&json!(address), &json!("manual")));
    assert_eq!(removed["removedSource"], "api", "{removed}");
    assert_eq!(removed["actor"], removed["removedActor"], "{removed}");
    assert!(removed["actor"].as_str().unwrap().starts_with("api_key:"), "{removed}");
    assert!(removed["removedAt"].is_string() && removed["createdAt"].is_string(), "{removed}");

    erase(api, json!({"userId": user})).await;
    api.get(format!("/privacy/requests/{id}/download"), 404).await;
    let export = api.get(format!("/privacy/requests/{id}"), 200).await.json();
    assert_eq!(export["userId"], Value::Null);
}

#[tokio::test]
async fn only_an_export_that_is_done_can_be_downloaded() {
    let workspace = workspace().await;
    let api = &workspace.api;
    api.post("/users", &json!({"externalId": "ann"}), 201).await;
    let id = request(api, &json!({"type": "erase", "externalId": "ann"})).await;
    api.get(format!("/privacy/requests/{id}/download"), 404).await;
    ended(api, &id).await;
}

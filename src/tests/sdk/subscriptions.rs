//! `/v1/subscriptions`: consent given in an app.

use serde_json::json;

use super::{Device, person};
use crate::{kit::Workspace, suppressions::history::words};

#[tokio::test]
async fn consent_given_in_an_app_is_stored_with_history() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, id) = person(&workspace, json!({})).await;
    let device = device.by(&ann);
    let word =
        json!({"userId": ann, "channel": "push", "status": "optedIn", "consentText": "Yes."});
    let kept = device.post("/v1/subscriptions/channel", &word, 200).await.json();
    assert_eq!(kept, json!({"userId": id, "channel": "push", "status": "optedIn"}));
    let contact = workspace.api.get(format!("/subscriptions/contacts/{id}"), 200).await.json();
    assert_eq!(contact["channels"]["push"]["status"], "optedIn");
    assert_eq!(contact["channels"]["push"]["optInSource"], "sdk");
    assert_eq!(contact["channels"]["push"]["consentText"], "Yes.");
    let history =
        workspace.api.get(format!("/subscriptions/contacts/{id}/history"), 200).await.text;
    assert!(history.contains("sdk_key:"), "{history}");
    let wrong = json!({"userId": ann, "channel": "in_app", "status": "maybe"});
    assert_eq!(device.post("/v1/subscriptions/channel", &wrong, 400).await.errors().len(), 2);
    let unknown = json!({"userId": "unknown-user", "channel": "push", "status": "optedIn"});
    device.by("unknown-user").post("/v1/subscriptions/channel", &unknown, 404).await;
}

#[tokio::test]
async fn an_opt_in_in_an_app_removes_the_opt_out_and_is_in_its_history() {
    let workspace = Workspace::new().await;
    let device = Device::of(&workspace).await;
    let (ann, _) = person(&workspace, json!({})).await;
    let email = format!("{ann}@example.test");
    let device = device.by(&ann);
    for status in ["unsubscribed", "optedIn"] {
        let word = json!({"userId": ann, "channel": "email", "status": status});
        device.post("/v1/subscriptions/channel", &word, 200).await;
    }
    let history = ["added unsubscribe sdk sdk_key", "removed unsubscribe sdk sdk_key"];
    assert_eq!(words(&workspace.api, "email", &email).await, history);
}

#[tokio::test]
async fn a_double_opt_in_list_is_pending_until_the_person_confirms() {
    let (workspace, elsewhere) = (Workspace::new().await, Workspace::new().await);
    let device = Device::of(&workspace).await;
    let (ann, id) = person(&workspace, json!({})).await;
    let device = device.by(&ann);
    let list = async |body: serde_json::Value| {
        workspace.api.post("/lists", &body, 201).await.json()["id"].clone()
    };
    let open = list(json!({"name": "Open"})).await;
    let careful = list(json!({"name": "Careful", "requireDoubleOptIn": true})).await;
    let word = |list: &serde_json::Value, status: &str| json!({"userId": ann, "listId": list, "channel": "email", "status": status});
    let group = "/v1/subscriptions/group";
    let kept = device.post(group, &word(&open, "subscribed"), 200).await.json();
    assert_eq!(kept["status"], "subscribed");
    let waits = device.post(group, &word(&careful, "subscribed"), 200).await;
    assert_eq!(waits.json()["status"], "pending");
    assert!(!waits.text.contains("/c/"), "the link is the person's alone: {}", waits.text);
    let kept = device.post(group, &word(&open, "unsubscribed"), 200).await.json();
    assert_eq!(kept["status"], "unsubscribed");
    let lists = workspace.api.get(format!("/subscriptions/contacts/{id}/lists"), 200).await.json();
    let lists = lists.as_array().unwrap();
    assert_eq!(lists.len(), 1, "nothing is subscribed before the click: {lists:?}");
    assert_eq!(lists[0]["status"], "unsubscribed");
    let theirs = elsewhere.api.post("/lists", &json!({"name": "Theirs"}), 201).await.json();
    device.post(group, &word(&theirs["id"], "subscribed"), 404).await;
    device.post(group, &word(&json!("no-id"), "subscribed"), 404).await;
}

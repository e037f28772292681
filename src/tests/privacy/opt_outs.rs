//! Opt-outs outlive an erasure: a profile that is imported again stays suppressed.

use serde_json::{Value, json};

use super::{erase, workspace};
use crate::kit::Client;

async fn put_consent(api: &Client, user: &str, channel: &str, status: &str) {
    let path = format!("/subscriptions/contacts/{user}/channels/{channel}");
    let body = json!({"channel": channel, "status": status});
    api.send(api.request(reqwest::Method::PUT, &path).json(&body), 200).await;
}

async fn consent(api: &Client, user: &str, channel: &str) -> Value {
    let path = format!("/subscriptions/contacts/{user}");
    let contact = api.get(path, 200).await.json();
    if contact.to_string().contains(channel) { contact } else { Value::Null }
}

async fn user(api: &Client, body: &Value) -> String {
    api.post("/users", body, 201).await.json()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_profile_with_an_address_of_an_erased_person_is_opted_out_as_that_was() {
    let workspace = workspace().await;
    let api = &workspace.api;
    let ann = json!({"externalId": "ann", "email": "ann@example.test", "phone": "+4915112345001"});
    let id = user(api, &ann).await;
    put_consent(api, &id, "email", "unsubscribed").await;
    put_consent(api, &id, "push", "unsubscribed").await;
    let row = json!({"channel": "sms", "identifier": "+4915112345001", "reason": "manual"});
    api.post("/suppressions", &row, 201).await;
    let bob = user(api, &json!({"externalId": "bob", "email": "bob@example.test"})).await;
    erase(api, json!({"externalId": "ann"})).await;
    erase(api, json!({"userId": bob})).await;
    let listed = api.get("/suppressions?channel=sms", 200).await.json();
    assert_eq!(listed["total"], 0, "no number is stored: {listed}");

    // By the address alone, in other letters; by the number alone; by the external id alone.
    let by_email = user(api, &json!({"email": "Ann@Example.TEST"})).await;
    let found = consent(api, &by_email, "email").await;
    assert!(found.to_string().contains("unsubscribed"), "{found}");
    let by_phone = json!({"externalId": "other", "phone": "+49 151 12345001"});
    user(api, &by_phone).await;
    let listed = api.get("/suppressions?channel=sms", 200).await.json();
    assert_eq!(listed["items"][0]["identifier"], "+4915112345001", "{listed}");
    let by_external = user(api, &json!({"externalId": "ann"})).await;
    let found = consent(api, &by_external, "push").await;
    assert!(found.to_string().contains("unsubscribed"), "{found}");
    // Without an opt-out there is none.
    let again = user(api, &json!({"externalId": "bob", "email": "bob@example.test"})).await;
    let found = consent(api, &again, "email").await;
    assert!(!found.to_string().contains("unsubscribed"), "{found}");
}

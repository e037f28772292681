//! `DELETE /suppressions/:identifier`, and what it does to contacts.

use serde_json::{Value, json};

use crate::{
    consent::fixture::{self, Contact},
    kit::{Client, Workspace},
};

async fn remove(api: &Client, identifier: &str, channel: &str, expected: u16) -> Value {
    let path = format!("/suppressions/{}?channel={channel}", identifier.replace('+', "%2B"));
    api.send(api.request(reqwest::Method::DELETE, &path), expected).await.json()
}

#[tokio::test]
async fn removing_deletes_all_rows_of_the_identifier_and_channel_only() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let list = fixture::list(workspace.id, false).await;
    let ann = "ann@example.test";
    for body in [
        json!({"channel": "email", "identifier": ann}),
        json!({"channel": "email", "identifier": ann, "reason": "unsubscribe"}),
        json!({"channel": "email", "identifier": ann, "scope": "group", "listId": list}),
        json!({"channel": "email", "identifier": "bob@example.test"}),
        json!({"channel": "sms", "identifier": "+4915112345"}),
        json!({"channel": "whatsapp", "identifier": "+4915112345"}),
    ] {
        api.post("/suppressions", &body, 201).await;
    }
    api.post("/suppressions/hard-bounce", &json!({"identifier": ann}), 201).await;
    let answer = remove(api, "ANN@example.test", "email", 200).await;
    assert_eq!(answer, json!({"identifier": ann, "removed": 4}));
    let answer = remove(api, ann, "email", 200).await;
    assert_eq!(answer, json!({"identifier": ann, "removed": 0}));
    assert_eq!(remove(api, "+4915112345", "sms", 200).await["removed"], 1);
    let total = async |channel: &str| {
        api.get(format!("/suppressions?channel={channel}"), 200).await.json()["total"].clone()
    };
    assert_eq!((total("email").await, total("whatsapp").await), (json!(1), json!(1)));
    let refused = remove(api, "1234", "sms", 400).await;
    assert!(refused["errors"][0].as_str().unwrap().starts_with("identifier must be a phone"));
}

#[tokio::test]
async fn removing_a_hard_bounce_validates_the_address_of_every_contact() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let ann = Contact::new(&workspace).await;
    let twin = Contact::with(&workspace, &ann.email, "+4915100001").await;
    let other = Contact::new(&workspace).await;
    for contact in [&ann, &other] {
        api.post("/suppressions/hard-bounce", &json!({"identifier": contact.email}), 201).await;
    }
    assert_eq!(remove(api, &ann.email, "email", 200).await["removed"], 1);
    for contact in [&ann, &twin] {
        let valid = api.get(contact.path("/email-valid"), 200).await.json();
        assert_eq!(valid, json!({"valid": true}));
        let history = contact.history(api).await;
        assert_eq!(history.len(), 2);
        assert_eq!(history[0]["metadata"], json!({"reason": "suppression removed"}));
        assert_eq!(history[0]["action"], "api_update");
    }
    let valid = api.get(other.path("/email-valid"), 200).await.json();
    assert_eq!(valid, json!({"valid": false}));
}

#[tokio::test]
async fn removing_a_suppression_creates_no_consent() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let ann = Contact::new(&workspace).await;
    for channel in ["email", "sms"] {
        ann.set(api, channel, "unsubscribed").await;
    }
    let entries = ann.history(api).await.len();
    assert_eq!(remove(api, &ann.email, "email", 200).await["removed"], 1);
    assert_eq!(remove(api, &ann.phone, "sms", 200).await["removed"], 1);
    for channel in ["email", "sms"] {
        assert_eq!(ann.standing(api, channel).await["suppressed"], false);
        let path = ann.path(&format!("/channels/{channel}/status"));
        assert_eq!(api.get(path, 200).await.json(), json!({"subscribed": false}));
    }
    assert_eq!(ann.history(api).await.len(), entries, "consent was not written");
}

#[tokio::test]
async fn removing_other_suppressions_keeps_the_bounce_mark() {
    // What marked the contact is not among the rows that go, so nothing is known to be lifted.
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let ann = Contact::new(&workspace).await;
    fixture::run(
        workspace.id,
        "insert into channel_consent (workspace_id, user_id, channel, is_valid, bounce_type, bounce_count, updated_at)
         select $1, id, 'email', false, 'hard', 1, now() from users where workspace_id = $1",
    )
    .await;
    api.post("/suppressions", &json!({"channel": "email", "identifier": ann.email}), 201).await;
    remove(api, &ann.email, "email", 200).await;
    assert_eq!(api.get(ann.path("/email-valid"), 200).await.json()["valid"], false);
}

//! Opt-outs outlive an erasure: a profile that is imported again stays suppressed.

use serde_json::{Value, json};

use super::{erase, workspace};
use crate::kit::{Client, Workspace};

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

/// Entries of the history of an identifier in a ledger.
async fn past(api: &Client, channel: &str, identifier: &str) -> u64 {
    let identifier = identifier.replace('+', "%2B");
    let path = format!("/suppressions/{identifier}/history?channel={channel}");
    api.get(path, 200).await.json()["total"].as_u64().unwrap()
}

#[tokio::test]
async fn what_was_removed_from_ledgers_goes_where_no_profile_shares_the_identifier() {
    let here = workspace().await;
    let (there, shared, stranger) = (
        Workspace::on(&here.server).await,
        Workspace::on(&here.server).await,
        Workspace::on(&here.server).await,
    );
    let (db, own, others) = (here.server.db(), here.id.uuid(), [there.id.uuid(), shared.id.uuid()]);
    let join = async move {
        sqlx::query(
            "update workspace set organization_id = (select organization_id from workspace where id = $1)
             where id = any($2)",
        )
        .bind(own)
        .bind(others)
        .execute(&db)
        .await
        .unwrap();
    };
    here.server.on(join).await;
    let (number, address, both) = ("+4915112345002", "cy@example.test", "both@example.test");
    let cy = user(&here.api, &json!({"externalId": "cy", "email": address, "phone": number})).await;
    let dan = user(&here.api, &json!({"externalId": "dan", "email": both})).await;
    user(&here.api, &json!({"externalId": "eve", "email": both})).await;
    user(&shared.api, &json!({"externalId": "cy", "phone": number})).await;
    for (workspace, channel, identifier) in [
        (&here, "sms", number),
        (&here, "whatsapp", number),
        (&here, "email", address),
        (&here, "email", both),
        (&there, "sms", number),
        (&there, "email", address),
        (&shared, "sms", number),
        (&stranger, "sms", number),
    ] {
        let api = &workspace.api;
        api.post("/suppressions", &json!({"channel": channel, "identifier": identifier}), 201)
            .await;
        let path = format!("/suppressions/{}?channel={channel}", identifier.replace('+', "%2B"));
        api.send(api.request(reqwest::Method::DELETE, &path), 200).await;
        assert_eq!(past(api, channel, identifier).await, 2);
    }
    // What is in the ledger when the person is erased goes without a trace, too.
    let row = json!({"channel": "email", "identifier": address});
    here.api.post("/suppressions", &row, 201).await;
    erase(&here.api, json!({"userId": cy})).await;
    erase(&here.api, json!({"userId": dan})).await;
    for (workspace, channel, identifier, left) in [
        (&here, "sms", number, 0),
        (&here, "whatsapp", number, 0),
        (&here, "email", address, 0),
        // Other profiles have them.
        (&here, "email", both, 2),
        (&shared, "sms", number, 2),
        // An address is of one workspace, and the organization is another.
        (&there, "sms", number, 0),
        (&there, "email", address, 2),
        (&stranger, "sms", number, 2),
    ] {
        let found = past(&workspace.api, channel, identifier).await;
        assert_eq!(found, left, "{channel} {identifier} in {}", workspace.name);
    }
}

//! `POST /suppressions` and `POST /suppressions/hard-bounce`.

use serde_json::{Value, json};

use crate::{
    consent::fixture::{self, Contact},
    kit::{Workspace, unique},
};

#[tokio::test]
async fn adding_a_suppression_is_idempotent() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let body = json!({"channel": "email", "identifier": " Ann@Example.TEST "});
    let row = api.post("/suppressions", &body, 201).await.json();
    assert_eq!(
        row,
        json!({
            "identifier": "ann@example.test", "channel": "email", "identifierType": "email",
            "reason": "manual", "source": "api", "scope": "global", "listId": null,
            "createdAt": row["createdAt"],
        })
    );
    assert_eq!(api.post("/suppressions", &body, 200).await.json(), row);
    let list = fixture::list(workspace.id, false).await;
    let other = fixture::list(workspace.id, false).await;
    for (channel, identifier, reason, list, stored) in [
        ("email", "ann@example.test", "unsubscribe", None, "ann@example.test"),
        ("email", "ann@example.test", "manual", Some(list), "ann@example.test"),
        ("email", "ann@example.test", "manual", Some(other), "ann@example.test"),
        ("sms", "0049 (151) 234-5678", "manual", None, "+491512345678"),
        ("whatsapp", "0151.234.5678", "unsubscribe", None, "01512345678"),
    ] {
        let mut body = json!({"channel": channel, "identifier": identifier, "reason": reason});
        if let Some(list) = list {
            body["scope"] = json!("group");
            body["listId"] = json!(list);
        }
        let row = api.post("/suppressions", &body, 201).await.json();
        assert_eq!((&row["identifier"], &row["reason"]), (&json!(stored), &json!(reason)));
        assert_eq!(row["identifierType"], if channel == "email" { "email" } else { "phone" });
        assert_eq!(row["listId"], json!(list));
        assert_eq!(row["scope"], if list.is_some() { "group" } else { "global" });
        assert_eq!(api.post("/suppressions", &body, 200).await.json(), row);
    }
    assert_eq!(api.get("/suppressions?channel=email", 200).await.json()["total"], 4);
}

#[tokio::test]
async fn delivery_reasons_are_refused_and_every_invalid_field_named() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    for reason in ["hard_bounce", "complaint", "spam", ""] {
        let body = json!({"channel": "email", "identifier": "a@example.test", "reason": reason});
        let answer = api.post("/suppressions", &body, 400).await;
        assert_eq!(answer.errors(), ["reason must be one of: manual, unsubscribe"], "{reason}");
    }
    let wrong = json!({"channel": 1, "identifier": 2, "reason": 3, "scope": 4, "listId": 5});
    assert_eq!(
        api.post("/suppressions", &wrong, 400).await.errors(),
        [
            "channel must be a string",
            "identifier must be a string",
            "reason must be a string",
            "scope must be a string",
            "listId must be a string",
        ]
    );
    let answer = api.post("/suppressions", &json!({"channel": "sms"}), 400).await;
    assert_eq!(answer.errors(), ["identifier is required"]);
    for (channel, identifier) in [
        ("email", "ann"),
        ("email", "+4915112345"),
        ("email", "a\0@example.test"),
        ("sms", "1234"),
        ("sms", "+1234567890123456"),
        ("whatsapp", "a@example.test"),
    ] {
        let body = json!({"channel": channel, "identifier": identifier});
        let answer = api.post("/suppressions", &body, 400).await;
        assert!(answer.errors()[0].starts_with("identifier must "), "{:?}", answer.errors());
    }
    for identifier in ["12345", "+123456789012345"] {
        api.post("/suppressions", &json!({"channel": "sms", "identifier": identifier}), 201).await;
    }
    assert_eq!(api.get("/suppressions?channel=email", 200).await.json()["total"], 0);
}

#[tokio::test]
async fn a_group_suppression_needs_an_existing_list() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let list = fixture::list(workspace.id, false).await;
    let archived = fixture::list(workspace.id, false).await;
    fixture::archive(workspace.id, archived).await;
    let theirs = fixture::list(Workspace::new().await.id, false).await;
    let body = |list: Value| json!({"channel": "email", "identifier": "a@example.test", "scope": "group", "listId": list});
    let answer = api.post("/suppressions", &body(Value::Null), 400).await;
    assert_eq!(answer.errors(), ["listId is required when scope is group"]);
    let unknown = uuid::Uuid::nil().to_string();
    for list in [unknown, theirs.to_string(), archived.to_string(), "news".to_owned()] {
        let answer = api.post("/suppressions", &body(json!(list)), 404).await.json();
        assert_eq!(answer["message"], "List not found", "{list}");
    }
    api.post("/suppressions", &body(json!(list)), 201).await;
    let stray = json!({"channel": "email", "identifier": "a@example.test", "listId": list});
    let answer = api.post("/suppressions", &stray, 400).await;
    assert_eq!(answer.errors(), ["listId is only taken when scope is group"]);
}

#[tokio::test]
async fn a_hard_bounce_marks_exactly_the_contacts_with_the_address() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let ann = Contact::new(&workspace).await;
    let twin = Contact::with(&workspace, &ann.email, "+4915100001").await;
    let bob = Contact::new(&workspace).await;
    let gone = Contact::with(&workspace, &ann.email, "+4915100002").await;
    fixture::delete(workspace.id, gone.id).await;
    ann.set(api, "email", "optedIn").await;
    let body = json!({"identifier": format!(" {} ", ann.email.to_uppercase())});
    let row = api.post("/suppressions/hard-bounce", &body, 201).await.json();
    assert_eq!(
        row,
        json!({
            "identifier": ann.email, "channel": "email", "identifierType": "email",
            "reason": "hard_bounce", "source": "api", "scope": "global", "listId": null,
            "createdAt": row["createdAt"],
        })
    );
    for contact in [&ann, &twin] {
        let email = api.get(contact.path(""), 200).await.json()["channels"]["email"].clone();
        let seen = json!([email["isValid"], email["bounceType"], email["bounceCount"]]);
        assert_eq!(seen, json!([false, "hard", 1]));
        assert!(email["lastBounceAt"].is_string());
        assert_eq!(contact.actions(api).await[0], "hard_bounce");
    }
    let entry = ann.history(api).await[0].clone();
    assert_eq!(
        json!([entry["previousStatus"], entry["newStatus"], entry["source"], entry["ipAddress"]]),
        json!(["optedIn", "optedIn", "api", "127.0.0.1"])
    );
    assert_eq!(api.get(bob.path(""), 200).await.json()["channels"], json!({}));
    let check = api.get(ann.path("/channels/email/status"), 200).await.json();
    assert_eq!(check["subscribed"], true, "deliverability is not consent");
    // The row is there once; each assertion is a bounce of its own.
    assert_eq!(api.post("/suppressions/hard-bounce", &body, 200).await.json(), row);
    let email = api.get(ann.path(""), 200).await.json()["channels"]["email"].clone();
    assert_eq!(email["bounceCount"], 2);
}

#[tokio::test]
async fn a_hard_bounce_can_be_added_for_an_unknown_email_address() {
    let workspace = Workspace::new().await;
    let address = format!("{}@example.test", unique("unknown"));
    let path = "/suppressions/hard-bounce";
    workspace.api.post(path, &json!({"identifier": address}), 201).await;
    for (body, error) in [
        (json!({}), "identifier is required"),
        (json!({"identifier": 7}), "identifier must be a string"),
        (json!({"identifier": "+4915112345"}), "identifier must be an email address"),
    ] {
        assert_eq!(workspace.api.post(path, &body, 400).await.errors(), [error]);
    }
}

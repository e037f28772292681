//! Memberships: subscribe, unsubscribe, and double opt-in.

use contacts::consent::ops;
use kernel::{Clock, ListId, Timestamp};
use serde_json::{Value, json};
use web::{
    http::Requester,
    links::{ConfirmSubscription, Link, Links},
};

use super::fixture::{self, Contact, archive, delete_with, list, tenant};
use crate::kit::{Workspace, server};

async fn workspace_with_contact() -> (Workspace, Contact) {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    (workspace, ann)
}

async fn subscribe(workspace: &Workspace, ann: &Contact, list: ListId, body: Value) -> Value {
    workspace.api.post(&ann.path(&format!("/lists/{list}")), &body, 200).await.json()
}

async fn unsubscribe(workspace: &Workspace, ann: &Contact, list: ListId, body: Value) {
    let path = ann.path(&format!("/lists/{list}"));
    let answer = delete_with(&workspace.api, &path, &body, 200).await.json();
    assert_eq!(answer, json!({"success": true}));
}

async fn memberships(workspace: &Workspace, ann: &Contact) -> Vec<Value> {
    workspace.api.get(ann.path("/lists"), 200).await.json().as_array().unwrap().clone()
}

#[tokio::test]
async fn a_subscription_answers_the_row_and_its_repeat_changes_nothing() {
    let (workspace, ann) = workspace_with_contact().await;
    let list = list(workspace.id, false).await;
    let tenant = tenant(workspace.id).await;
    let body = json!({"channel": "email", "source": "import", "consentText": "Yes."});
    let row = subscribe(&workspace, &ann, list, body.clone()).await;
    let expected = json!({
        "_id": row["_id"], "organizationId": tenant.organization, "workspaceId": tenant.workspace,
        "contactId": ann.id, "listId": list, "channel": "email", "status": "subscribed",
        "subscribedAt": row["createdAt"], "optInSource": "import", "consentText": "Yes.",
        "createdAt": row["createdAt"], "updatedAt": row["createdAt"],
    });
    assert_eq!(row, expected);
    assert_eq!(subscribe(&workspace, &ann, list, body).await, row, "idempotent");
    assert_eq!(memberships(&workspace, &ann).await, std::slice::from_ref(&row));
    let contact = workspace.api.get(ann.path(""), 200).await.json();
    assert_eq!(contact["lists"], json!([row]));
    assert_eq!(ann.actions(&workspace.api).await, ["api_update", "subscribe"]);
    let entry = &ann.history(&workspace.api).await[1];
    assert_eq!((&entry["listId"], &entry["consentText"]), (&json!(list), &json!("Yes.")));
}

#[tokio::test]
async fn one_list_has_a_membership_for_each_channel() {
    let (workspace, ann) = workspace_with_contact().await;
    let list = list(workspace.id, false).await;
    // The list is for email; memberships of other channels are taken all the same.
    for channel in ["email", "sms", "whatsapp", "push", "viber"] {
        subscribe(&workspace, &ann, list, json!({"channel": channel})).await;
    }
    unsubscribe(&workspace, &ann, list, json!({"channel": "sms"})).await;
    let rows = memberships(&workspace, &ann).await;
    assert_eq!(rows.len(), 5);
    for row in rows {
        let expected = if row["channel"] == "sms" { "unsubscribed" } else { "subscribed" };
        assert_eq!(row["status"], expected, "{row}");
    }
}

#[tokio::test]
async fn a_list_opt_out_is_stored_and_only_a_subscription_reverts_it() {
    let (workspace, ann) = workspace_with_contact().await;
    let (one, two) = (list(workspace.id, false).await, list(workspace.id, false).await);
    subscribe(&workspace, &ann, one, json!({"channel": "email"})).await;
    unsubscribe(&workspace, &ann, one, json!({"channel": "email", "source": "form"})).await;
    unsubscribe(&workspace, &ann, two, json!({"channel": "email"})).await;
    unsubscribe(&workspace, &ann, two, json!({"channel": "email"})).await;
    let rows = memberships(&workspace, &ann).await;
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_eq!(row["status"], "unsubscribed");
    }
    assert!(rows[0]["subscribedAt"].is_string() && rows[1]["subscribedAt"].is_null());
    let back = subscribe(&workspace, &ann, two, json!({"channel": "email"})).await;
    assert_eq!((&back["status"], &back["_id"]), (&json!("subscribed"), &rows[1]["_id"]));
    let actions = ann.actions(&workspace.api).await;
    assert_eq!(actions, ["resubscribe", "api_update", "unsubscribe", "unsubscribe", "subscribe"]);
    // An opt-out of a list is no opt-out of the channel.
    assert_eq!(ann.standing(&workspace.api, "email").await["suppressed"], false);
    let check = workspace.api.get(ann.path("/channels/email/status"), 200).await.json();
    assert_eq!(check["subscribed"], true);
}

#[tokio::test]
async fn a_subscription_lifts_consent_suppressions_of_that_list_only() {
    let (workspace, ann) = workspace_with_contact().await;
    let api = &workspace.api;
    let (one, two) = (list(workspace.id, false).await, list(workspace.id, false).await);
    for (list, reason) in [(one, "manual"), (one, "unsubscribe"), (two, "manual")] {
        let row = json!({"channel": "email", "identifier": ann.email, "reason": reason, "scope": "group", "listId": list});
        api.post("/suppressions", &row, 201).await;
    }
    let global = json!({"channel": "email", "identifier": ann.email});
    api.post("/suppressions", &global, 201).await;
    subscribe(&workspace, &ann, one, json!({"channel": "email"})).await;
    let left = api.get("/suppressions?channel=email", 200).await.json();
    let scopes: Vec<_> = left["items"].as_array().unwrap().iter().map(|r| &r["listId"]).collect();
    assert_eq!(scopes, [&Value::Null, &json!(two)]);
}

#[tokio::test]
async fn an_unknown_list_is_404_and_an_archived_one_accepts_opt_outs() {
    let (workspace, ann) = workspace_with_contact().await;
    let other = Workspace::new().await;
    let (theirs, archived) = (list(other.id, false).await, list(workspace.id, false).await);
    subscribe(&workspace, &ann, archived, json!({"channel": "email"})).await;
    archive(workspace.id, archived).await;
    let body = json!({"channel": "email"});
    let unknown = ListId::mint(Clock::system().now());
    for list in [unknown.to_string(), theirs.to_string(), "news".to_owned()] {
        let path = ann.path(&format!("/lists/{list}"));
        let answer = workspace.api.post(&path, &body, 404).await.json();
        assert_eq!(answer["message"], "List not found", "{list}");
        delete_with(&workspace.api, &path, &body, 404).await;
    }
    workspace.api.post(&ann.path(&format!("/lists/{archived}")), &body, 404).await;
    unsubscribe(&workspace, &ann, archived, body).await;
    assert_eq!(memberships(&workspace, &ann).await[0]["status"], "unsubscribed");
}

#[tokio::test]
async fn every_field_of_the_wrong_type_is_named_once_in_order() {
    let (workspace, ann) = workspace_with_contact().await;
    let path = ann.path(&format!("/lists/{}", list(workspace.id, false).await));
    let wrong = json!({"channel": 1, "source": 2, "consentText": 3});
    let answer = workspace.api.post(&path, &wrong, 400).await;
    assert_eq!(
        answer.errors(),
        ["channel must be a string", "source must be a string", "consentText must be a string"]
    );
    let answer = delete_with(&workspace.api, &path, &wrong, 400).await;
    assert_eq!(answer.errors(), ["channel must be a string", "source must be a string"]);
    for body in [json!({}), json!({"channel": null})] {
        assert_eq!(workspace.api.post(&path, &body, 400).await.errors(), ["channel is required"]);
        let answer = delete_with(&workspace.api, &path, &body, 400).await;
        assert_eq!(answer.errors(), ["channel is required"]);
    }
    let request = workspace.api.request(reqwest::Method::DELETE, &path);
    let answer = workspace.api.send(request, 400).await;
    assert_eq!(answer.errors(), ["body is not valid JSON: it is empty"]);
}

/// Opens the link of a pending answer and confirms it at a given time.
async fn confirm(url: &str, now: Timestamp) -> Option<Value> {
    let token = url.rsplit('/').next().unwrap().to_owned();
    let db = server().db();
    server()
        .on(async move {
            let links = Links::new(db.clone(), "http://localhost".parse().unwrap());
            let link = links.open(now, &token).await.unwrap();
            let Some(Link::ConfirmSubscription(link)) = link else { return None };
            let requester = Requester { ip: None, user_agent: Some("mail reader".to_owned()) };
            let row = ops::confirm(&db, now, link, &requester).await.unwrap();
            row.map(|row| serde_json::to_value(row).unwrap())
        })
        .await
}

fn now() -> Timestamp {
    Clock::system().now()
}

#[tokio::test]
async fn a_form_on_a_double_opt_in_list_is_pending_until_confirmed() {
    let (workspace, ann) = workspace_with_contact().await;
    let list = list(workspace.id, true).await;
    let tenant = tenant(workspace.id).await;
    let body = json!({"channel": "email", "source": "form", "consentText": "Yes, weekly."});
    let pending = subscribe(&workspace, &ann, list, body).await;
    let url = pending["confirmUrl"].as_str().unwrap().to_owned();
    assert!(url.starts_with(&format!("{}/c/", server().url)), "{url}");
    assert!(!url.contains(&ann.email) && !url.contains("weekly"));
    assert_eq!(
        pending,
        json!({
            "organizationId": tenant.organization, "workspaceId": tenant.workspace, "contactId": ann.id,
            "listId": list, "channel": "email", "status": "pending", "optInSource": "form",
            "consentText": "Yes, weekly.", "confirmUrl": url, "expiresAt": pending["expiresAt"],
        })
    );
    assert!(memberships(&workspace, &ann).await.is_empty(), "nothing before the click");
    assert!(ann.history(&workspace.api).await.is_empty());
    let row = confirm(&url, now()).await.unwrap();
    assert_eq!((&row["status"], &row["optInSource"]), (&json!("subscribed"), &json!("form")));
    assert_eq!(row["consentText"], "Yes, weekly.");
    let entry = ann.history(&workspace.api).await[0].clone();
    assert_eq!((&entry["action"], &entry["actor"]), (&json!("subscribe"), &json!("recipient")));
    assert_eq!((&entry["source"], &entry["userAgent"]), (&json!("form"), &json!("mail reader")));
    // A second click finds it done, and writes nothing.
    assert_eq!(confirm(&url, now()).await.unwrap(), row);
    assert_eq!(ann.history(&workspace.api).await.len(), 1);
    // Who is subscribed already has nothing to confirm.
    let again =
        subscribe(&workspace, &ann, list, json!({"channel": "email", "source": "form"})).await;
    assert_eq!(again["status"], "subscribed");
}

#[tokio::test]
async fn only_forms_on_double_opt_in_lists_are_pending() {
    let (workspace, ann) = workspace_with_contact().await;
    let (strict, open) = (list(workspace.id, true).await, list(workspace.id, false).await);
    for (list, source, expected) in [
        (strict, "form", "pending"),
        (strict, "preference_center", "pending"),
        (strict, "api", "subscribed"),
        (open, "form", "subscribed"),
        (open, "preference_center", "subscribed"),
    ] {
        let body = json!({"channel": "sms", "source": source});
        let answer = subscribe(&workspace, &ann, list, body).await;
        assert_eq!(answer["status"], expected, "{source}");
    }
    let (other, strict) = (Contact::new(&workspace).await, list(workspace.id, true).await);
    subscribe(&workspace, &other, strict, json!({"channel": "sms", "source": "import"})).await;
    assert_eq!(memberships(&workspace, &other).await.len(), 1);
}

#[tokio::test]
async fn a_later_opt_out_overrides_the_confirmation_link() {
    let (workspace, ann) = workspace_with_contact().await;
    let list = list(workspace.id, true).await;
    let form = json!({"channel": "email", "source": "form"});
    let pending = subscribe(&workspace, &ann, list, form.clone()).await;
    let url = pending["confirmUrl"].as_str().unwrap().to_owned();
    unsubscribe(&workspace, &ann, list, json!({"channel": "email"})).await;
    assert_eq!(confirm(&url, now()).await, None);
    assert_eq!(memberships(&workspace, &ann).await[0]["status"], "unsubscribed");
    // Nor does a link that was used bring anyone back.
    let pending = subscribe(&workspace, &ann, list, form).await;
    assert_eq!(pending["status"], "pending", "an opt-out is taken back by the link only");
    let url = pending["confirmUrl"].as_str().unwrap().to_owned();
    assert_eq!(confirm(&url, now()).await.unwrap()["status"], "subscribed");
    unsubscribe(&workspace, &ann, list, json!({"channel": "email"})).await;
    assert_eq!(confirm(&url, now()).await, None);
    assert_eq!(memberships(&workspace, &ann).await[0]["status"], "unsubscribed");
}

#[tokio::test]
async fn a_confirmation_link_is_valid_for_seven_days_and_one_purpose() {
    let (workspace, ann) = workspace_with_contact().await;
    let list = list(workspace.id, true).await;
    let pending =
        subscribe(&workspace, &ann, list, json!({"channel": "email", "source": "form"})).await;
    let url = pending["confirmUrl"].as_str().unwrap().to_owned();
    let expires = Timestamp::parse(pending["expiresAt"].as_str().unwrap()).unwrap();
    assert_eq!(confirm(&url, expires).await, None, "too late");
    let mut changed = url.clone();
    let last = changed.pop().unwrap();
    changed.push(if last == 'A' { 'B' } else { 'A' });
    for wrong in [changed.as_str(), &url[..url.len() - 1], "x/", "x/a.b", "x/%00"] {
        assert_eq!(confirm(wrong, now()).await, None, "{wrong}");
    }
    archive(workspace.id, list).await;
    assert_eq!(confirm(&url, now()).await, None, "the list is archived");
    fixture::delete(workspace.id, ann.id).await;
    assert_eq!(confirm(&url, now()).await, None, "the contact is gone");
}

#[tokio::test]
async fn a_confirmation_link_without_a_pending_request_confirms_nothing() {
    let (workspace, ann) = workspace_with_contact().await;
    let list = list(workspace.id, true).await;
    let link = ConfirmSubscription {
        workspace: workspace.id,
        user: ann.id,
        list,
        channel: kernel::Channel::Email,
    };
    let db = server().db();
    let confirmed = server()
        .on(async move {
            let gone = ConfirmSubscription { workspace: kernel::WorkspaceId::mint(now()), ..link };
            assert_eq!(ops::confirm(&db, now(), gone, &Requester::default()).await.unwrap(), None);
            ops::confirm(&db, now(), link, &Requester::default()).await.unwrap()
        })
        .await;
    assert_eq!(confirmed, None);
    assert!(memberships(&workspace, &ann).await.is_empty());
}

//! Workspaces, organizations, credentials and scopes.

use serde_json::{Value, json};

use super::fixture::{self, Contact, delete_with, put, session, standing, workspace_of};
use crate::kit::{Client, Workspace, unique};

#[tokio::test]
async fn phone_opt_outs_apply_across_the_organization_and_email_ones_do_not() {
    let organization = unique("organization");
    let one = workspace_of(&organization).await;
    let two = workspace_of(&organization).await;
    let foreign = Workspace::new().await;
    let ann = Contact::new(&one).await;
    for channel in ["email", "sms", "whatsapp"] {
        ann.set(&one.api, channel, "unsubscribed").await;
    }
    let suppressed =
        async |api: &Client, channel: &str| ann.standing(api, channel).await["suppressed"] == true;
    let late = workspace_of(&organization).await;
    for channel in ["sms", "whatsapp"] {
        for api in [&one.api, &two.api, &late.api] {
            assert!(suppressed(api, channel).await, "{channel}");
        }
    }
    for api in [&two.api, &late.api, &foreign.api] {
        assert!(!suppressed(api, "email").await);
    }
    assert!(!suppressed(&foreign.api, "sms").await);
    // The opt-in reaches as far, from any source.
    let same = Contact::with(&two, &ann.email, &ann.phone).await;
    same.set(&two.api, "sms", "optedIn").await;
    for api in [&one.api, &two.api, &late.api] {
        assert!(!suppressed(api, "sms").await && suppressed(api, "whatsapp").await);
    }
    assert!(suppressed(&one.api, "email").await);
}

#[tokio::test]
async fn a_concurrent_opt_out_reaches_a_new_workspace() {
    let organization = unique("organization");
    let one = workspace_of(&organization).await;
    let mut contacts = Vec::new();
    for _ in 0..8 {
        contacts.push(Contact::new(&one).await);
    }
    let opt_outs = contacts.iter().cloned().map(|contact| {
        let api = one.api.clone();
        tokio::spawn(async move { drop(contact.set(&api, "sms", "unsubscribed").await) })
    });
    let opt_outs: Vec<_> = opt_outs.collect();
    let (two, three) = tokio::join!(workspace_of(&organization), workspace_of(&organization));
    for opt_out in opt_outs {
        opt_out.await.unwrap();
    }
    for contact in contacts {
        for workspace in [&one, &two, &three] {
            assert_eq!(contact.standing(&workspace.api, "sms").await["suppressed"], true);
        }
    }
}

#[tokio::test]
async fn the_same_address_in_another_workspace_is_separate() {
    let (here, there) = (Workspace::new().await, Workspace::new().await);
    let ann = Contact::new(&here).await;
    let same = Contact::with(&there, &ann.email, &ann.phone).await;
    here.api.post("/suppressions/hard-bounce", &json!({"identifier": ann.email}), 201).await;
    ann.set(&here.api, "sms", "unsubscribed").await;
    assert_eq!(there.api.get(same.path("/email-valid"), 200).await.json()["valid"], true);
    assert_eq!(standing(&there.api, "sms", &ann.phone).await["suppressed"], false);
    let path = format!("/suppressions/{}?channel=email", ann.email);
    let request = there.api.request(reqwest::Method::DELETE, &path);
    assert_eq!(there.api.send(request, 200).await.json()["removed"], 0);
    assert_eq!(here.api.get(ann.path("/email-valid"), 200).await.json()["valid"], false);
}

/// Every route with what it needs, as the specification's table has it.
async fn routes(workspace: &Workspace) -> Vec<(&'static str, String, Value, &'static str)> {
    let ann = Contact::new(workspace).await;
    let list = fixture::list(workspace.id, false).await;
    let member = json!({"channel": "email"});
    vec![
        ("GET", ann.path(""), Value::Null, "compliance:read"),
        ("GET", ann.path("/lists"), Value::Null, "compliance:read"),
        ("GET", ann.path("/history"), Value::Null, "compliance:read"),
        ("GET", ann.path("/channels/sms/status"), Value::Null, "compliance:read"),
        ("GET", ann.path("/email-valid"), Value::Null, "compliance:read"),
        (
            "PUT",
            ann.path("/channels/sms"),
            json!({"channel": "sms", "status": "subscribed"}),
            "compliance:write",
        ),
        ("POST", ann.path("/clear-bounce"), json!({}), "compliance:write"),
        ("POST", ann.path(&format!("/lists/{list}")), member.clone(), "compliance:write"),
        ("DELETE", ann.path(&format!("/lists/{list}")), member, "compliance:write"),
    ]
}

const SCOPES: &[&str] = &[
    "users:read",
    "users:write",
    "users:delete",
    "events:read",
    "events:write",
    "compliance:read",
    "compliance:write",
    "settings:read",
    "settings:write",
    "email_suppression:read",
    "email_suppression:write",
    "sms_suppression:read",
    "sms_suppression:write",
];

#[tokio::test]
async fn every_route_requires_its_scope_of_keys_and_sessions() {
    let workspace = Workspace::new().await;
    let routes = routes(&workspace).await;
    for scope in SCOPES {
        let key = workspace.with_scopes(scope).await;
        for api in [key, session(workspace.id, scope)] {
            for (method, path, body, needed) in &routes {
                let mut request = api.request(method.parse().unwrap(), path);
                if !body.is_null() {
                    request = request.json(body);
                }
                let expected = if scope == needed { 200 } else { 403 };
                let answer = api.send(request, expected).await.json();
                if expected == 403 {
                    let text = format!("Missing required scope: {needed}");
                    assert_eq!(answer["message"], text, "{method} {path}");
                }
            }
        }
    }
}

#[tokio::test]
async fn sessions_can_use_consent_but_not_users_or_events() {
    let workspace = Workspace::new().await;
    let ann = Contact::new(&workspace).await;
    let dashboard = session(workspace.id, "*");
    dashboard.get(ann.path(""), 200).await;
    dashboard.get("/suppressions?channel=email", 200).await;
    dashboard.get(format!("/users/{}/events", ann.id), 401).await;
    dashboard.post("/events/track", &json!({"userId": "a", "eventName": "A"}), 401).await;
    let nowhere = session(kernel::WorkspaceId::mint(kernel::Clock::system().now()), "*");
    let answer = nowhere.get(ann.path(""), 401).await.json();
    assert_eq!(answer["message"], "Invalid session token");
    Client::anonymous().get(ann.path(""), 401).await;
}

#[tokio::test]
async fn the_scope_is_checked_before_the_request_is_validated() {
    let workspace = Workspace::new().await;
    let poor = workspace.with_scopes("events:read").await;
    poor.get("/subscriptions/contacts/no-id", 403).await;
    put(&poor, "/subscriptions/contacts/no-id/channels/fax", &json!([]), 403).await;
    delete_with(&poor, "/subscriptions/contacts/no-id/lists/x", &json!(7), 403).await;
}

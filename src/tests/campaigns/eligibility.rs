//! `/campaigns/:id/eligibility`: whether a campaign would reach one person, and why not.

use serde_json::{Value, json};

use super::{email_with, id, made};
use crate::kit::{Client, Workspace, eventually, server};

async fn asked(workspace: &Workspace, campaign: &Value, user: &str) -> Value {
    let path = format!("/campaigns/{}/eligibility?userId={user}", id(campaign));
    workspace.api.get(path, 200).await.json()
}

async fn unsubscribe(workspace: &Workspace, user: &Value) {
    let path = format!("/subscriptions/contacts/{}/channels/email", id(user));
    let body = json!({"channel": "email", "status": "unsubscribed"});
    let request = workspace.api.request(reqwest::Method::PUT, &path).json(&body);
    workspace.api.send(request, 200).await;
}

/// Profiles by their names, all of a plan.
async fn person(workspace: &Workspace, name: &str, email: Option<&str>, plan: &str) -> Value {
    let mut body = json!({"externalId": name, "attributes": {"plan": plan}});
    if let Some(email) = email {
        body["email"] = json!(email);
    }
    workspace.api.post("/users", &body, 201).await.json()
}

#[tokio::test]
async fn each_rule_answers_why_a_person_gets_no_message() {
    let workspace = Workspace::new().await;
    let ann = person(&workspace, "ann", Some("ann@example.test"), "pro").await;
    person(&workspace, "free", Some("free@example.test"), "free").await;
    person(&workspace, "nowhere", None, "pro").await;
    let out = person(&workspace, "out", Some("out@example.test"), "pro").await;
    unsubscribe(&workspace, &out).await;
    person(&workspace, "gone", Some("gone@example.test"), "pro").await;
    let suppressed = json!({"channel": "email", "identifier": "gone@example.test"});
    workspace.api.post("/suppressions", &suppressed, 201).await;
    // The targeting is checked before consent.
    let both = person(&workspace, "both", Some("both@example.test"), "free").await;
    unsubscribe(&workspace, &both).await;
    let filter =
        json!({"type": "attribute", "field": "plan", "operator": "equals", "value": "pro"});
    let targeting = json!({"filterGroups": [{"filters": [filter]}]});
    let campaign = made(&workspace.api, &email_with("News", json!({"targeting": targeting}))).await;
    for (user, reason) in [
        ("ann", None),
        (id(&ann), None),
        ("free", Some("not_in_audience")),
        ("both", Some("not_in_audience")),
        ("nowhere", Some("no_address")),
        ("out", Some("channel_consent")),
        ("gone", Some("suppressed_manual")),
    ] {
        let found = asked(&workspace, &campaign, user).await;
        assert_eq!(found["reason"], json!(reason), "{user}: {found}");
        assert_eq!(found["eligible"], json!(reason.is_none()), "{user}: {found}");
        assert_eq!(
            found["inAudience"],
            json!(reason != Some("not_in_audience")),
            "{user}: {found}"
        );
        assert_eq!(found["detail"].is_string(), reason.is_some(), "{user}: {found}");
    }
    assert_eq!(asked(&workspace, &campaign, "ann").await["userId"], ann["id"]);
}

#[tokio::test]
async fn events_and_opt_ins_count_as_at_a_launch() {
    let workspace = Workspace::new().await;
    for name in ["ann", "bob"] {
        person(&workspace, name, Some(&format!("{name}@example.test")), "pro").await;
    }
    let event = json!({"userId": "ann", "eventName": "Bought"});
    workspace.api.post("/events/track", &event, 200).await;
    let filter = json!({"type": "event", "field": "Bought", "operator": "performed"});
    let targeting = json!({"filterGroups": [{"filters": [filter]}]});
    let campaign =
        made(&workspace.api, &email_with("Buyers", json!({"targeting": targeting}))).await;
    eventually("the event counts", || async {
        (asked(&workspace, &campaign, "ann").await["eligible"] == true).then_some(())
    })
    .await;
    assert_eq!(asked(&workspace, &campaign, "bob").await["reason"], "not_in_audience");
    let targeting = json!({"subscriptionPreference": "opted_in_only"});
    let strict = made(&workspace.api, &email_with("Strict", json!({"targeting": targeting}))).await;
    let found = asked(&workspace, &strict, "ann").await;
    assert_eq!(found["reason"], "channel_consent", "{found}");
}

#[tokio::test]
async fn the_question_needs_a_person_of_the_workspace_and_both_scopes() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    person(&workspace, "ann", None, "pro").await;
    let campaign = made(&workspace.api, &email_with("News", json!({}))).await;
    let path = format!("/campaigns/{}/eligibility", id(&campaign));
    workspace.api.get(&path, 400).await;
    workspace.api.get(format!("{path}?userId="), 400).await;
    workspace.api.get(format!("{path}?userId={}", "x".repeat(256)), 400).await;
    workspace.api.get(format!("{path}?userId=unknown"), 404).await;
    other.api.get(format!("{path}?userId=ann"), 404).await;
    for scopes in ["campaigns:read", "users:read"] {
        let body = json!({"name": scopes, "scopes": [scopes]});
        let key = workspace.api.post("/keys", &body, 201).await.json();
        let client = Client::new(&server().url, key["key"].as_str());
        client.get(format!("{path}?userId=ann"), 403).await;
    }
}

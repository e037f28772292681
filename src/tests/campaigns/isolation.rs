//! Campaigns of one workspace cannot be read or changed from another.

use serde_json::json;

use super::{call, email, id, in_status, made, put, read, triggered};
use crate::kit::Workspace;

#[tokio::test]
async fn campaigns_of_another_workspace_are_not_found() {
    let (here, there) = (Workspace::new().await, Workspace::new().await);
    let theirs = in_status(&there, &triggered("theirs"), "active").await;
    put(&there.api, &theirs, json!({"name": "edited"}), 200).await;
    let theirs = read(&there.api, &theirs).await;
    let api = &here.api;
    for suffix in [
        "send",
        "pause",
        "resume",
        "cancel",
        "retry",
        "resend",
        "publish",
        "discard-draft",
        "duplicate",
        "archive",
        "unarchive",
        "stop-recurring",
        "versions/1/rollback",
    ] {
        let text = call(api, &theirs, suffix, 404).await.text;
        assert!(text.contains("Campaign not found"), "{text}");
    }
    for suffix in ["", "/versions", "/versions/1", "/versions/compare?v1=1&v2=2", "/history"] {
        api.get(format!("/campaigns/{}{suffix}", id(&theirs)), 404).await;
    }
    put(api, &theirs, json!({"name": "mine"}), 404).await;
    let path = format!("/campaigns/{}", id(&theirs));
    api.send(api.request(reqwest::Method::DELETE, &path), 404).await;
    let listed = api.get("/campaigns?q=theirs", 200).await.json();
    assert_eq!(listed["pagination"]["total"], 0);
    assert_eq!(read(&there.api, &theirs).await, theirs);
}

#[tokio::test]
async fn a_version_belongs_to_its_campaign() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let (one, two) = (made(api, &email("one")).await, made(api, &email("two")).await);
    let listed = api.get(format!("/campaigns/{}/versions", id(&one)), 200).await.json();
    let version = listed["data"][0]["id"].as_str().unwrap();
    api.get(format!("/campaigns/{}/versions/{version}", id(&one)), 200).await;
    api.get(format!("/campaigns/{}/versions/{version}", id(&two)), 404).await;
    call(api, &two, &format!("versions/{version}/rollback"), 404).await;
    assert_eq!(read(api, &two).await, two);
}

#[tokio::test]
async fn campaign_calls_have_a_rate_limit_of_their_own() {
    let workspace = Workspace::new().await;
    let answer = workspace.api.get("/campaigns", 200).await;
    assert_eq!(answer.headers["ratelimit-limit"], "500");
    assert_eq!(answer.headers["ratelimit-policy"], "\"campaigns\";q=500;w=1");
}

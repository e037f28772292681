//! `If-Match`: a change that is made only where the content is still what its caller has seen.

use reqwest::Method;
use serde_json::{Value, json};

use super::{call, email, id, made, put, read, triggered};
use crate::kit::{Answer, Client, Workspace};

async fn put_if(api: &Client, campaign: &Value, etags: &str, name: &str, status: u16) -> Answer {
    let request = api.request(Method::PUT, &format!("/campaigns/{}", id(campaign)));
    api.send(request.header("if-match", etags).json(&json!({"name": name})), status).await
}

async fn etag(api: &Client, campaign: &Value) -> String {
    let found = api.get(format!("/campaigns/{}", id(campaign)), 200).await;
    found.headers["etag"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_change_is_made_only_to_what_its_caller_has_seen() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &email("one")).await;
    let seen = etag(api, &campaign).await;
    let changed = put_if(api, &campaign, &seen, "two", 200).await;
    let now = changed.headers["etag"].to_str().unwrap().to_owned();
    assert_ne!(now, seen);
    assert_eq!(etag(api, &campaign).await, now);

    let refused = put_if(api, &campaign, &seen, "three", 409).await;
    assert_eq!(refused.json()["statusCode"], 409);
    assert!(refused.text.contains("has been changed"), "{}", refused.text);
    assert_eq!(read(api, &campaign).await["name"], "two");
    // Any of several, any at all, and without the header.
    put_if(api, &campaign, &format!("{seen}, {now}"), "four", 200).await;
    put_if(api, &campaign, "*", "five", 200).await;
    put(api, &campaign, json!({"name": "six"}), 200).await;
    for wrong in ["6", "\"6", ""] {
        let refused = put_if(api, &campaign, wrong, "seven", 400).await;
        assert!(refused.text.contains("If-Match"), "{}", refused.text);
    }
    assert_eq!(read(api, &campaign).await["name"], "six");
}

#[tokio::test]
async fn an_etag_is_of_the_content_and_of_edits_that_wait() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &triggered("one")).await;
    let draft = etag(api, &campaign).await;
    call(api, &campaign, "send", 200).await;
    call(api, &campaign, "pause", 200).await;
    call(api, &campaign, "resume", 200).await;
    assert_eq!(etag(api, &campaign).await, draft, "its content is the same");
    put_if(api, &campaign, &draft, "two", 200).await;
    let pending = etag(api, &campaign).await;
    assert_ne!(pending, draft);
    // Discarding makes no version, and is a change of what is edited.
    call(api, &campaign, "discard-draft", 200).await;
    assert_ne!(etag(api, &campaign).await, pending);
    put_if(api, &campaign, &pending, "three", 409).await;
}

/// Of callers who have seen the same, one makes a change.
#[tokio::test]
async fn one_of_concurrent_changes_is_made() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &email("one")).await;
    let seen = etag(api, &campaign).await;
    let path = format!("/campaigns/{}", id(&campaign));
    let change = |number: usize| {
        let request = api.request(Method::PUT, &path).header("if-match", &seen);
        request.json(&json!({"name": format!("name {number}")})).send()
    };
    let answers = futures_util::future::join_all((0..8).map(change)).await;
    let statuses: Vec<u16> = answers.into_iter().map(|it| it.unwrap().status().as_u16()).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 7, "{statuses:?}");
    assert_eq!(read(api, &campaign).await["version"], 2);
}

async fn send_if(api: &Client, campaign: &Value, call: &str, etag: &str, status: u16) -> Answer {
    let request = api.request(Method::POST, &format!("/campaigns/{}/{call}", id(campaign)));
    api.send(request.header("if-match", etag).json(&json!({})), status).await
}

/// What is launched is what the caller has seen.
#[tokio::test]
async fn a_launch_is_of_what_its_caller_has_seen() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    for call_name in ["send", "launch-rl"] {
        let mut body = triggered("one");
        let variant = |id: &str| {
            let mut variant = body["variants"][0].clone();
            (variant["id"], variant["name"], variant["weight"]) = (json!(id), json!(id), json!(50));
            variant
        };
        body["variants"] = json!([variant("a"), variant("b")]);
        let campaign = made(api, &body).await;
        let seen = etag(api, &campaign).await;
        put(api, &campaign, json!({"name": "two"}), 200).await;
        let refused = send_if(api, &campaign, call_name, &seen, 409).await;
        assert_eq!(refused.json()["statusCode"], 409);
        assert!(refused.text.contains("has been changed"), "{}", refused.text);
        let wrong = send_if(api, &campaign, call_name, "2", 400).await;
        assert!(wrong.text.contains("If-Match"), "{}", wrong.text);
        assert_eq!(read(api, &campaign).await["status"], "draft");
        let now = etag(api, &campaign).await;
        let launched = send_if(api, &campaign, call_name, &format!("{seen}, {now}"), 200).await;
        assert_eq!(launched.json()["status"], "active");
        assert_eq!(etag(api, &campaign).await, now, "launching leaves the content as it is");
    }
}

//! Versions: created by every saved change, compared, restored.

use serde_json::{Value, json};

use super::{call, email, force, id, in_status, made, put, read, triggered};
use crate::kit::{Client, Workspace};

async fn versions(api: &Client, campaign: &Value) -> Value {
    api.get(format!("/campaigns/{}/versions", id(campaign)), 200).await.json()
}

#[tokio::test]
async fn only_saved_changes_create_versions() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &triggered("one")).await;
    put(api, &campaign, json!({"name": "two", "tags": ["t"]}), 200).await;
    put(api, &campaign, json!({"name": "two"}), 200).await;
    call(api, &campaign, "send", 200).await;
    put(api, &campaign, json!({"name": "three"}), 200).await;
    call(api, &campaign, "publish", 200).await;
    call(api, &campaign, "pause", 200).await;
    let listed = versions(api, &campaign).await;
    assert_eq!(listed["total"], 4);
    let versions: Vec<Value> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| json!([it["version"], it["changeType"], it["changedFields"]]))
        .collect();
    assert_eq!(
        versions[..3],
        [
            json!([4, "publish", ["name"]]),
            json!([3, "update", ["name"]]),
            json!([2, "update", ["name", "tags"]]),
        ]
    );
    assert_eq!((&versions[3][0], &versions[3][1]), (&json!(1), &json!("create")));
    assert_eq!(listed["data"][0]["createdBy"], campaign["createdBy"]);
    assert_eq!(read(api, &campaign).await["version"], 4);

    let name = listed["data"][3]["id"].as_str().unwrap();
    for name in [name, "1"] {
        let found =
            api.get(format!("/campaigns/{}/versions/{name}", id(&campaign)), 200).await.json();
        assert_eq!((&found["version"], &found["snapshot"]["name"]), (&json!(1), &json!("one")));
        assert_eq!(found["snapshot"]["variants"], campaign["variants"]);
        assert_eq!(found["snapshot"].get("status"), None, "writable fields alone");
    }
    let page =
        api.get(format!("/campaigns/{}/versions?limit=1&offset=1", id(&campaign)), 200).await;
    assert_eq!(page.json()["data"][0]["version"], 3);
    for absent in ["0", "5", "x", "00000000-0000-7000-8000-00000000dead"] {
        let path = format!("/campaigns/{}/versions/{absent}", id(&campaign));
        assert!(api.get(path, 404).await.text.contains("Version not found"));
    }
}

#[tokio::test]
async fn versions_are_compared_by_pointer_and_variants_by_id() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let mut body = email("ab");
    let mut second = body["variants"][0].clone();
    second["id"] = json!("b");
    body["variants"][0]["weight"] = json!(50);
    second["weight"] = json!(50);
    body["variants"] = json!([body["variants"][0], second]);
    let campaign = made(api, &body).await;
    let mut turned = campaign["variants"].clone();
    turned.as_array_mut().unwrap().reverse();
    turned[0]["message"]["subject"] = json!("Other");
    put(api, &campaign, json!({"variants": turned, "description": "d"}), 200).await;

    let compare = async |query: &str, status: u16| {
        api.get(format!("/campaigns/{}/versions/compare{query}", id(&campaign)), status).await
    };
    let found = compare("?v1=1&v2=2", 200).await.json();
    assert_eq!(
        found["changes"],
        json!([
            {"path": "/description", "op": "add", "before": null, "after": "d"},
            {"path": "/variants/0/message/subject", "op": "replace", "before": "Hello", "after": "Other"},
        ])
    );
    assert_eq!((&found["v1"]["version"], &found["v2"]["version"]), (&json!(1), &json!(2)));
    assert_eq!(found["identical"], false);
    let by_id = format!("?v1={}&v2=2", found["v2"]["id"].as_str().unwrap());
    let same = compare(&by_id, 200).await.json();
    assert_eq!((&same["identical"], &same["changes"]), (&json!(true), &json!([])));
    assert_eq!(compare("", 400).await.errors(), ["v1 is required", "v2 is required"]);
    compare("?v1=1", 400).await;
    compare("?v1=1&v2=9", 404).await;
    compare("?v1=x&v2=1", 404).await;
}

#[tokio::test]
async fn a_version_is_restored_in_place_or_as_a_draft() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let back = async |campaign: &Value, version: &str, status: u16| {
        call(api, campaign, &format!("versions/{version}/rollback"), status).await
    };
    let draft = made(api, &email("one")).await;
    put(api, &draft, json!({"name": "two"}), 200).await;
    let rolled = back(&draft, "1", 200).await.json();
    assert_eq!((&rolled["name"], &rolled["version"]), (&json!("one"), &json!(3)));
    assert_eq!(versions(api, &draft).await["data"][0]["changeType"], "rollback");
    back(&draft, "7", 404).await;

    let live = in_status(&workspace, &triggered("one"), "active").await;
    put(api, &live, json!({"name": "two"}), 200).await;
    call(api, &live, "publish", 200).await;
    let rolled = back(&live, "1", 200).await.json();
    assert_eq!((&rolled["name"], &rolled["pendingDraft"]["name"]), (&json!("two"), &json!("one")));
    assert_eq!(rolled["version"], 4);
    let published = call(api, &live, "publish", 200).await.json();
    assert_eq!((&published["name"], &published["version"]), (&json!("one"), &json!(5)));

    for (status, refused) in [
        ("completed", 409),
        ("cancelled", 409),
        ("archived", 409),
        ("active", 409),
        ("paused", 200),
    ] {
        let campaign = made(api, &email("one")).await;
        put(api, &campaign, json!({"resendPolicy": "everyone"}), 200).await;
        force(&workspace, &campaign, status, None).await;
        back(&campaign, "1", refused).await;
    }
}

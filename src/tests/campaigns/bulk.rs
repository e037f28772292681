//! Bulk calls: one change to many campaigns, each answered separately.

use serde_json::{Value, json};

use super::{email, email_with, force, id, in_status, made, read, triggered};
use crate::kit::Workspace;

const ABSENT: &str = "00000000-0000-7000-8000-00000000dead";
const NOT_FOUND: &str = "Campaign not found";

#[tokio::test]
async fn bulk_calls_answer_each_id_separately() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let api = &workspace.api;
    let theirs = made(&other.api, &email("theirs")).await;
    for suffix in ["archive", "unarchive", "duplicate", "tag", "delete"] {
        let ours = made(api, &email("ours")).await;
        if suffix == "unarchive" {
            super::call(api, &ours, "archive", 200).await;
        }
        let upper = id(&ours).to_uppercase();
        let mut body =
            json!({"ids": [id(&theirs), id(&ours), "x", ABSENT, "", upper, id(&ours), "x"]});
        if suffix == "tag" {
            body["tags"] = json!(["t"]);
        }
        let answer = api.post(&format!("/campaigns/bulk-{suffix}"), &body, 200).await.json();
        assert_eq!(answer["succeeded"], json!([id(&ours)]), "{suffix}");
        let failed =
            [id(&theirs), "x", ABSENT, ""].map(|id| json!({"id": id, "reason": NOT_FOUND}));
        assert_eq!(answer["failed"], json!(failed), "{suffix}");
        if suffix == "duplicate" {
            assert_eq!(answer["created"][0]["sourceId"], ours["id"]);
            let copy = json!({"id": answer["created"][0]["id"]});
            assert_eq!(read(api, &copy).await["name"], "ours (copy)");
            assert_eq!(answer["created"].as_array().unwrap().len(), 1);
        }
    }
    assert_eq!(read(&other.api, &theirs).await, theirs, "nothing happened there");
}

#[tokio::test]
async fn bulk_calls_check_each_campaigns_status_separately() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let draft = made(api, &email("draft")).await;
    let live = in_status(&workspace, &triggered("live"), "active").await;
    let put_away = in_status(&workspace, &email("away"), "archived").await;
    let ids = json!({"ids": [id(&draft), id(&live), id(&put_away)]});
    let answer = api.post("/campaigns/bulk-unarchive", &ids, 200).await.json();
    assert_eq!(answer["succeeded"], json!([id(&put_away)]));
    let reasons: Vec<&str> = answer["failed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failed| failed["reason"].as_str().unwrap())
        .collect();
    assert_eq!(
        reasons,
        [
            "The campaign is draft: only an archived campaign can be unarchived",
            "The campaign is active: only an archived campaign can be unarchived",
        ]
    );
    let answer = api.post("/campaigns/bulk-delete", &ids, 200).await.json();
    assert_eq!(answer["succeeded"].as_array().unwrap().len(), 3);
    api.get(format!("/campaigns/{}", id(&draft)), 404).await;
    assert_eq!(read(api, &live).await["status"], "archived", "a campaign that ran is kept");
}

#[tokio::test]
async fn bulk_tagging_adds_tags_and_removes_none() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let tag = async |campaign: &Value, tags: Value| {
        let body = json!({"ids": [id(campaign)], "tags": tags});
        api.post("/campaigns/bulk-tag", &body, 200).await.json()
    };
    let draft = made(api, &email_with("d", json!({"tags": ["a"]}))).await;
    tag(&draft, json!(["b", "a", " b "])).await;
    let tagged = read(api, &draft).await;
    assert_eq!((&tagged["tags"], &tagged["version"]), (&json!(["a", "b"]), &json!(2)));
    tag(&draft, json!(["b"])).await;
    assert_eq!(read(api, &draft).await, tagged, "nothing new changes nothing");

    let live = in_status(&workspace, &triggered("live"), "active").await;
    super::put(api, &live, json!({"description": "later"}), 200).await;
    tag(&live, json!(["now"])).await;
    let live = read(api, &live).await;
    assert_eq!((&live["tags"], &live["pendingDraft"]["tags"]), (&json!(["now"]), &json!(["now"])));
    assert_eq!(live["description"], Value::Null);

    let many: Vec<String> = (0..49).map(|n| n.to_string()).collect();
    assert_eq!(
        tag(&draft, json!(many)).await["failed"][0]["reason"],
        "tags must have at most 50 elements"
    );
    assert_eq!(tag(&draft, json!(many[..48])).await["failed"], json!([]));
    let gone = made(api, &email("gone")).await;
    force(&workspace, &gone, "cancelled", None).await;
    assert_eq!(
        tag(&gone, json!(["t"])).await["failed"][0]["reason"],
        "The campaign is cancelled: it cannot be changed any more"
    );
}

#[tokio::test]
async fn a_bulk_call_takes_1_to_200_ids() {
    let workspace = Workspace::new().await;
    for suffix in ["delete", "archive", "unarchive", "duplicate", "tag"] {
        let ask = async |ids: Value, status: u16| {
            let body = json!({"ids": ids, "tags": ["t"]});
            workspace.api.post(&format!("/campaigns/bulk-{suffix}"), &body, status).await
        };
        let answer = ask(json!(vec![ABSENT; 200]), 200).await.json();
        assert_eq!(answer["failed"].as_array().unwrap().len(), 1);
        for wrong in [json!([]), json!(vec![ABSENT; 201]), json!(null), json!("x"), json!([7])] {
            let answer = ask(wrong, 400).await;
            assert!(answer.errors()[0].starts_with("ids"), "{}", answer.text);
        }
    }
    for wrong in
        [json!([]), json!(vec!["t"; 51]), json!([""]), json!(["t".repeat(101)]), json!(null)]
    {
        let body = json!({"ids": [ABSENT], "tags": wrong});
        let answer = workspace.api.post("/campaigns/bulk-tag", &body, 400).await;
        assert!(answer.errors()[0].starts_with("tags"), "{}", answer.text);
    }
}

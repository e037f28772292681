//! Creating, reading, changing and deleting one campaign.

use reqwest::Method;
use serde_json::{Value, json};

use super::{email, email_with, id, in_ms, made, put, read, triggered};
use crate::kit::Workspace;

#[tokio::test]
async fn a_new_campaign_is_a_draft_and_reads_back_complete() {
    let workspace = Workspace::new().await;
    let body = email_with("  Spring  ", json!({"tags": ["a", " b ", "a"], "description": "d"}));
    let campaign = made(&workspace.api, &body).await;
    assert_eq!(campaign["name"], "Spring");
    assert_eq!(campaign["description"], "d");
    assert_eq!(campaign["tags"], json!(["a", "b"]));
    assert_eq!(campaign["status"], "draft");
    assert_eq!(campaign["sendType"], "immediate");
    assert_eq!(campaign["resendPolicy"], "only_new");
    assert_eq!(campaign["ignoreTouchingRules"], false);
    assert_eq!(campaign["version"], 1);
    assert_eq!(campaign["hasPendingDraft"], false);
    assert_eq!(campaign["occurrence"], 0);
    for unset in [
        "failureReason",
        "pendingDraft",
        "pendingDraftUpdatedAt",
        "startedAt",
        "completedAt",
        "cancelledAt",
        "archivedAt",
        "lastSentAt",
        "nextSendAt",
        "scheduledAt",
        "targeting",
        "rl",
    ] {
        assert_eq!(campaign.get(unset), Some(&Value::Null), "{unset}");
    }
    let actor = campaign["createdBy"].as_str().unwrap();
    assert!(actor.starts_with("api_key:"), "{actor}");
    assert_eq!(campaign["updatedBy"], actor);
    assert_eq!(read(&workspace.api, &campaign).await, campaign);
}

#[tokio::test]
async fn a_campaign_with_a_send_time_is_scheduled_unless_sent_as_draft() {
    let workspace = Workspace::new().await;
    let at = in_ms(3_600_000);
    let schedule = json!({"sendType": "scheduled", "scheduledAt": at});
    let campaign = made(&workspace.api, &email_with("s", schedule.clone())).await;
    assert_eq!(campaign["status"], "scheduled");
    assert_eq!(campaign["scheduledAt"], at);
    assert_eq!(campaign["nextSendAt"], at);

    let mut draft = email_with("s", schedule);
    draft["status"] = json!("draft");
    let campaign = made(&workspace.api, &draft).await;
    assert_eq!(campaign["status"], "draft");
    assert_eq!(campaign["nextSendAt"], Value::Null);

    let timeless = email_with("s", json!({"sendType": "scheduled"}));
    assert_eq!(made(&workspace.api, &timeless).await["status"], "draft");
    for (fields, problem) in [
        (json!({"status": "scheduled"}), "status can be scheduled only where"),
        (json!({"status": "active"}), "status must be draft or scheduled"),
        (json!({"status": "gone"}), "status must be one of: draft, scheduled"),
        (
            json!({"sendType": "scheduled", "scheduledAt": in_ms(-1000)}),
            "scheduledAt must be in the future",
        ),
        (json!({"scheduledAt": "2020-01-01"}), "scheduledAt must be in the future"),
    ] {
        let answer = workspace.api.post("/campaigns", &email_with("s", fields), 400).await;
        assert!(answer.errors()[0].starts_with(problem), "{}", answer.text);
    }
}

#[tokio::test]
async fn a_send_time_in_the_past_is_listed_with_the_other_errors() {
    let workspace = Workspace::new().await;
    let fields =
        json!({"name": "", "sendType": "sometimes", "scheduledAt": "2020-01-01T00:00:00Z"});
    let answer = workspace.api.post("/campaigns", &email_with("s", fields), 400).await;
    let errors = answer.errors();
    assert_eq!(errors.len(), 3, "{}", answer.text);
    assert!(
        errors.iter().any(|error| error == "scheduledAt must be in the future"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn every_invalid_field_is_named() {
    let workspace = Workspace::new().await;
    let answer = workspace.api.post("/campaigns", &json!({}), 400).await;
    assert_eq!(
        answer.errors(),
        ["name is required", "channel is required", "variants is required"]
    );
    let body = json!({
        "name": " ", "channel": "fax", "variants": [], "description": "x".repeat(1001),
        "sendType": "soon", "scheduledAt": "tomorrow", "emailConfigId": "", "subscriptionCategoryId": "x",
        "resendPolicy": "cooldown", "resendCooldownDays": 0, "tags": ["", "y".repeat(101)],
        "ignoreTouchingRules": "no",
    });
    let answer = workspace.api.post("/campaigns", &body, 400).await;
    assert_eq!(answer.json()["message"], "Bad Request");
    let fields: Vec<String> =
        answer.errors().iter().map(|error| error.split_once(' ').unwrap().0.to_owned()).collect();
    for field in [
        "name",
        "channel",
        "variants",
        "description",
        "sendType",
        "scheduledAt",
        "emailConfigId",
        "subscriptionCategoryId",
        "resendCooldownDays",
        "tags[0]",
        "tags[1]",
        "ignoreTouchingRules",
    ] {
        assert!(fields.iter().any(|found| found == field), "{field}: {fields:?}");
    }
}

#[tokio::test]
async fn each_limit_accepts_its_maximum_and_refuses_one_more() {
    let workspace = Workspace::new().await;
    let variants = |count: usize| {
        let variant = &email("v")["variants"][0];
        (0..count)
            .map(|at| {
                let mut variant = variant.clone();
                variant["id"] = json!(format!("v{at}"));
                variant["weight"] = json!(0);
                variant
            })
            .collect::<Vec<_>>()
    };
    for (field, most, beyond) in [
        ("name", json!("n".repeat(255)), json!("n".repeat(256))),
        ("description", json!("ä".repeat(1000)), json!("ä".repeat(1001))),
        ("variants", json!(variants(8)), json!(variants(9))),
        (
            "tags",
            json!((0..50).map(|n| n.to_string()).collect::<Vec<_>>()),
            json!((0..51).map(|n| n.to_string()).collect::<Vec<_>>()),
        ),
        ("tags", json!(["t".repeat(100)]), json!(["t".repeat(101)])),
        ("resendCooldownDays", json!(3650), json!(3651)),
        ("emailConfigId", json!("c".repeat(255)), json!("c".repeat(256))),
    ] {
        made(&workspace.api, &email_with("limit", json!({field: most}))).await;
        let answer = workspace
            .api
            .post("/campaigns", &email_with("limit", json!({field: beyond})), 400)
            .await;
        assert!(answer.errors()[0].starts_with(field), "{field}: {}", answer.text);
    }
}

#[tokio::test]
async fn a_body_may_have_8_mib_and_not_more() {
    let workspace = Workspace::new().await;
    let padding = |bytes: usize| {
        let body = email("big").to_string();
        [body.as_bytes(), &vec![b' '; bytes - body.len()]].concat()
    };
    workspace.api.post_bytes("/campaigns", padding(8 << 20), 201).await;
    let answer = workspace.api.post_bytes("/campaigns", padding((8 << 20) + 1), 413).await;
    assert!(answer.text.contains("8388608"), "{}", answer.text);
}

#[tokio::test]
async fn a_patch_changes_only_sent_fields_and_null_removes() {
    let workspace = Workspace::new().await;
    let body = email_with("Spring", json!({"description": "d", "tags": ["a"]}));
    let campaign = made(&workspace.api, &body).await;
    let changed = put(&workspace.api, &campaign, json!({"description": null, "tags": ["b"]}), 200)
        .await
        .json();
    assert_eq!(changed["description"], Value::Null);
    assert_eq!(changed["tags"], json!(["b"]));
    assert_eq!(changed["name"], "Spring");
    assert_eq!(changed["variants"], campaign["variants"]);
    assert_eq!(changed["version"], 2);
    assert_eq!(read(&workspace.api, &campaign).await, changed);

    let same = put(&workspace.api, &campaign, json!({}), 200).await.json();
    assert_eq!(same, changed, "an empty change keeps the time of the last change");
    let same =
        put(&workspace.api, &campaign, json!({"name": "Spring", "own": 1}), 200).await.json();
    assert_eq!(same, changed);

    let answer = put(&workspace.api, &campaign, json!({"name": null, "variants": null}), 400).await;
    assert_eq!(answer.errors(), ["name is required", "variants is required"]);
    assert_eq!(read(&workspace.api, &campaign).await, changed);
}

#[tokio::test]
async fn an_update_moves_only_between_draft_and_scheduled() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &email("c")).await;
    put(api, &campaign, json!({"status": "draft"}), 200).await;
    let answer = put(api, &campaign, json!({"status": "scheduled"}), 400).await;
    assert!(answer.errors()[0].starts_with("status can be scheduled only"), "{}", answer.text);
    let answer = put(api, &campaign, json!({"status": "active"}), 409).await;
    assert!(answer.text.contains("lifecycle endpoint"), "{}", answer.text);

    let at = in_ms(60_000);
    let schedule = json!({"sendType": "scheduled", "scheduledAt": at});
    let draft = put(api, &campaign, schedule, 200).await.json();
    assert_eq!(draft["status"], "draft");
    let scheduled = put(api, &campaign, json!({"status": "scheduled"}), 200).await.json();
    assert_eq!((&scheduled["status"], &scheduled["nextSendAt"]), (&json!("scheduled"), &json!(at)));
    let later = in_ms(120_000);
    let moved = put(api, &campaign, json!({"scheduledAt": later}), 200).await.json();
    assert_eq!((&moved["status"], &moved["nextSendAt"]), (&json!("scheduled"), &json!(later)));
    put(api, &campaign, json!({"scheduledAt": in_ms(-1)}), 400).await;
    let draft = put(api, &campaign, json!({"status": "draft"}), 200).await.json();
    assert_eq!((&draft["status"], &draft["nextSendAt"]), (&json!("draft"), &Value::Null));

    put(api, &campaign, json!({"status": "scheduled"}), 200).await;
    let draft = put(api, &campaign, json!({"scheduledAt": null}), 200).await.json();
    assert_eq!(draft["status"], "draft", "without a time there is nothing to wait for");
    assert_eq!(draft["nextSendAt"], Value::Null);
}

#[tokio::test]
async fn a_subscription_category_is_an_active_list_of_the_workspace() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let list = |workspace: Workspace| async move {
        workspace.api.post("/lists", &json!({"name": "News"}), 201).await.json()["id"].clone()
    };
    let theirs = list(other).await;
    let gone = workspace.api.post("/lists", &json!({"name": "Old"}), 201).await.json();
    let path = format!("/lists/{}", id(&gone));
    workspace.api.send(workspace.api.request(Method::DELETE, &path), 204).await;
    let absent = json!("00000000-0000-7000-8000-00000000dead");
    let campaign = made(&workspace.api, &email("c")).await;
    for refused in [theirs, gone["id"].clone(), absent, json!("7")] {
        let fields = json!({"subscriptionCategoryId": refused});
        let expected = ["subscriptionCategoryId must be the id of an active list"];
        let answer = workspace.api.post("/campaigns", &email_with("c", fields.clone()), 400).await;
        assert_eq!(answer.errors(), expected);
        assert_eq!(put(&workspace.api, &campaign, fields, 400).await.errors(), expected);
    }
    let api = workspace.api.clone();
    let ours = list(workspace).await;
    let changed = put(&api, &campaign, json!({"subscriptionCategoryId": ours}), 200).await.json();
    assert_eq!(changed["subscriptionCategoryId"], ours);
    // A list that is archived afterwards does not stand in the way of other changes.
    api.send(api.request(Method::DELETE, &format!("/lists/{}", ours.as_str().unwrap())), 204).await;
    put(&api, &campaign, json!({"description": "still"}), 200).await;
}

#[tokio::test]
async fn deleting_removes_drafts_and_archives_campaigns_that_ran() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let delete = async |campaign: &Value, status: u16| {
        api.send(api.request(Method::DELETE, &format!("/campaigns/{}", id(campaign))), status).await
    };
    let draft = made(api, &email("draft")).await;
    delete(&draft, 204).await;
    api.get(format!("/campaigns/{}", id(&draft)), 404).await;
    delete(&draft, 404).await;

    let live = made(api, &triggered("live")).await;
    super::call(api, &live, "send", 200).await;
    delete(&live, 204).await;
    let archived = read(api, &live).await;
    assert_eq!(archived["status"], "archived");
    assert!(archived["archivedAt"].is_string());
    delete(&live, 204).await;
    assert_eq!(read(api, &live).await, archived);
}

#[tokio::test]
async fn hostile_campaign_bodies_are_4xx_and_never_5xx() {
    let workspace = Workspace::new().await;
    let deep =
        [r#"{"name":"n","channel":"in_app","targeting":"#, &"[".repeat(10_000), "}"].concat();
    for body in [
        "",
        "null",
        "[]",
        "7",
        "\"x\"",
        "{",
        r#"{"name":"\ud800","channel":"in_app"}"#,
        r#"{"name":"a\u0000b","channel":"in_app"}"#,
        r#"{"name":"n","channel":"in_app","tags":["\u0000"]}"#,
        r#"{"name":"n","channel":"in_app","targeting":{"userIds":["\u0000"]}}"#,
        r#"{"name":"n","channel":"in_app","resendCooldownDays":1e400}"#,
        r#"{"name":"n","channel":"in_app","resendCooldownDays":99999999999999999999}"#,
        r#"{"name":"n","channel":"in_app","scheduledAt":1}"#,
        r#"{"name":{},"channel":[],"variants":{}}"#,
        &deep,
    ] {
        workspace.api.post_bytes("/campaigns", body, 400).await;
    }
    for path in
        ["/campaigns/x", "/campaigns/00000000-0000-0000-0000-000000000000", "/campaigns/%00"]
    {
        workspace.api.get(path, 404).await;
    }
}

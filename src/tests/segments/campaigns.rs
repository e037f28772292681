//! Campaigns that use segments: these are kept while a campaign needs them, and it goes live only if they exist.

use serde_json::{Value, json};

use super::{all, create, delete, in_segment, path, person, plan, put};
use crate::{
    campaigns::{self, call, email_with, force, in_ms, made, read, recurring, triggered},
    kit::{Workspace, eventually},
};

async fn refusal(workspace: &Workspace, segment: &Value) -> String {
    let refused = delete(&workspace.api, &path(segment), 409).await;
    refused["message"].as_str().unwrap().to_owned()
}

/// A campaign with this targeting.
fn with(mut body: Value, targeting: &Value) -> Value {
    body["targeting"] = targeting.clone();
    body
}

#[tokio::test]
async fn a_segment_is_kept_until_the_campaigns_that_use_it_have_ended() {
    let workspace = Workspace::new().await;
    let targeting = |segment: &Value| all(&[in_segment(segment, "not_member")]);
    for (status, is_ended) in [
        ("draft", false),
        ("scheduled", false),
        ("active", false),
        ("paused", false),
        ("completed", true),
        ("cancelled", true),
        ("archived", true),
        ("failed", true),
    ] {
        let segment = create(&workspace, status, &json!({})).await;
        let body = with(campaigns::email(&format!("To {status}")), &targeting(&segment));
        let campaign = made(&workspace.api, &body).await;
        force(&workspace, &campaign, status, None).await;
        if is_ended {
            delete(&workspace.api, &path(&segment), 204).await;
        } else {
            let message = format!("The segment is in use by the campaign \"To {status}\"");
            assert_eq!(refusal(&workspace, &segment).await, message, "{status}");
        }
    }
}

#[tokio::test]
async fn users_of_both_kinds_are_named_and_another_targeting_frees_a_segment() {
    let workspace = Workspace::new().await;
    let segment = create(&workspace, "Used", &json!({})).await;
    let excluded = json!({"excludeFilterGroups": [{"filters": [
        {"type": "segment", "value": segment["id"].as_str().unwrap().to_uppercase(), "operator": "member"},
    ]}]});
    let user = create(&workspace, "User", &all(&[in_segment(&segment, "member")])).await;
    let first = made(&workspace.api, &with(campaigns::email("First"), &excluded)).await;
    let second = made(&workspace.api, &with(campaigns::email("Second"), &excluded)).await;
    assert_eq!(
        refusal(&workspace, &segment).await,
        "The segment is in use by the segment \"User\" and the campaigns \"Second\", \"First\""
    );
    delete(&workspace.api, &path(&user), 204).await;
    delete(&workspace.api, &format!("/campaigns/{}", campaigns::id(&second)), 204).await;
    assert_eq!(
        refusal(&workspace, &segment).await,
        "The segment is in use by the campaign \"First\""
    );
    campaigns::put(&workspace.api, &first, json!({"targeting": {}}), 200).await;
    delete(&workspace.api, &path(&segment), 204).await;
}

#[tokio::test]
async fn saved_insights_use_segments_too() {
    let workspace = Workspace::new().await;
    let segment = create(&workspace, "Used", &json!({})).await;
    let series = json!([{"eventName": "Seen"}]);
    for (name, people) in [
        ("By segment", json!({"segmentId": segment["id"]})),
        ("By filter", json!({"targeting": all(&[in_segment(&segment, "member")])})),
    ] {
        let question =
            json!({"series": series, "people": people, "from": "2026-03-01", "to": "2026-03-02"});
        let insight = json!({"name": name, "kind": "trends", "question": question});
        let insight = workspace.api.post("/insights", &insight, 201).await.json();
        let message = format!("The segment is in use by the insight \"{name}\"");
        assert_eq!(refusal(&workspace, &segment).await, message);
        let path = format!("/insights/{}", insight["id"].as_str().unwrap());
        delete(&workspace.api, &path, 204).await;
    }
    delete(&workspace.api, &path(&segment), 204).await;
}

#[tokio::test]
async fn pending_edits_use_segments_too() {
    let workspace = Workspace::new().await;
    let segment = create(&workspace, "Used", &json!({})).await;
    let campaign = made(&workspace.api, &triggered("Welcome")).await;
    call(&workspace.api, &campaign, "send", 200).await;
    let edit = json!({"targeting": all(&[in_segment(&segment, "member")])});
    campaigns::put(&workspace.api, &campaign, edit, 200).await;
    assert_eq!(
        refusal(&workspace, &segment).await,
        "The segment is in use by the campaign \"Welcome\""
    );
    call(&workspace.api, &campaign, "discard-draft", 200).await;
    delete(&workspace.api, &path(&segment), 204).await;
    // Edits that name a segment that is gone are not published.
    let edit = json!({"targeting": all(&[in_segment(&segment, "not_member")])});
    campaigns::put(&workspace.api, &campaign, edit, 200).await;
    let refused = call(&workspace.api, &campaign, "publish", 400).await;
    assert_eq!(refused.errors(), [UNKNOWN]);
}

const UNKNOWN: &str =
    "targeting.filterGroups[0].filters[0].field must be the id of a segment of this workspace";

#[tokio::test]
async fn a_campaign_goes_live_only_with_segments_that_exist() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let foreign = create(&other, "Theirs", &json!({})).await;
    for filter in [
        in_segment(&foreign, "not_member"),
        json!({"type": "segment", "field": "vips", "operator": "member"}),
    ] {
        let targeting = all(&[filter]);
        let draft = made(&workspace.api, &with(campaigns::email("Draft"), &targeting)).await;
        let refused = call(&workspace.api, &draft, "send", 400).await;
        assert_eq!(refused.errors(), [UNKNOWN]);
        assert_eq!(read(&workspace.api, &draft).await["status"], "draft");
        let preview = call(&workspace.api, &draft, "preview-launch", 200).await.json();
        assert_eq!(preview["canLaunch"], false);
        let checks = preview["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["id"] == "segments_known").unwrap();
        assert_eq!((&check["status"], &check["message"]), (&json!("fail"), &json!(UNKNOWN)));

        // At its time, as well.
        let at = json!({"sendType": "scheduled", "scheduledAt": in_ms(3_600_000), "targeting": targeting});
        let scheduled = made(&workspace.api, &email_with("Later", at)).await;
        force(&workspace, &scheduled, "scheduled", Some(0)).await;
        eventually("the launch fails", async || {
            let now = read(&workspace.api, &scheduled).await;
            (now["status"] == "failed").then(|| assert_eq!(now["failureReason"], UNKNOWN))
        })
        .await;
    }
}

#[tokio::test]
async fn a_campaign_that_returns_from_the_archive_needs_its_segments() {
    let workspace = Workspace::new().await;
    let segment = create(&workspace, "Used", &json!({})).await;
    let targeting = all(&[in_segment(&segment, "not_member")]);
    let campaign = made(&workspace.api, &with(recurring("Daily"), &targeting)).await;
    for suffix in ["send", "archive"] {
        call(&workspace.api, &campaign, suffix, 200).await;
    }
    delete(&workspace.api, &path(&segment), 204).await;
    call(&workspace.api, &campaign, "unarchive", 200).await;
    assert_eq!(call(&workspace.api, &campaign, "resume", 400).await.errors(), [UNKNOWN]);
}

#[tokio::test]
async fn a_launch_is_previewed_for_the_members_of_a_segment() {
    let workspace = Workspace::new().await;
    for (name, tier) in [("ann", "pro"), ("bob", "pro"), ("cy", "free")] {
        person(&workspace, name, json!({"plan": tier})).await;
    }
    let paying = create(&workspace, "Paying", &all(&[plan("pro")])).await;
    let user = create(&workspace, "User", &all(&[in_segment(&paying, "member")])).await;
    let body = with(campaigns::email("To users"), &all(&[in_segment(&user, "member")]));
    let campaign = made(&workspace.api, &body).await;
    let preview = call(&workspace.api, &campaign, "preview-launch", 200).await.json();
    assert_eq!(preview["audience"]["matched"], 2, "{preview}");
    let change = json!({"targeting": all(&[plan("free")])});
    put(&workspace.api, &path(&paying), &change, 200).await;
    let preview = call(&workspace.api, &campaign, "preview-launch", 200).await.json();
    assert_eq!(preview["audience"]["matched"], 1, "{preview}");
}

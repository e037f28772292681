//! Lifecycle calls of a campaign, and transitions by time.

use campaigns::ops;
use serde_json::{Value, json};

use super::{
    call, email, email_with, force, id, in_ms, in_status, made, put, read, recurring, triggered,
};
use crate::kit::{Workspace, eventually, server};

fn status(campaign: &Value) -> &str {
    campaign["status"].as_str().unwrap()
}

#[tokio::test]
async fn a_triggered_campaign_can_be_launched_paused_resumed_and_cancelled() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let draft = made(api, &triggered("t")).await;
    let live = call(api, &draft, "send", 200).await.json();
    assert_eq!(status(&live), "active");
    assert!(live["startedAt"].is_string());
    assert_eq!(live["nextSendAt"], Value::Null, "events make it send, no clock");
    assert_eq!(live["createdBy"], live["updatedBy"], "sending is no edit");

    let paused = call(api, &draft, "pause", 200).await.json();
    assert_eq!(status(&paused), "paused");
    let resumed = call(api, &draft, "resume", 200).await.json();
    assert_eq!((status(&resumed), &resumed["startedAt"]), ("active", &live["startedAt"]));

    let cancelled = call(api, &draft, "cancel", 200).await.json();
    assert_eq!(status(&cancelled), "cancelled");
    assert!(cancelled["cancelledAt"].is_string());
    for suffix in ["send", "pause", "resume", "cancel", "retry"] {
        let text = call(api, &draft, suffix, 409).await.text;
        assert!(text.contains("The campaign is cancelled: only "), "{text}");
    }
    assert_eq!(read(api, &draft).await, cancelled, "a refusal changes nothing");
}

#[tokio::test]
async fn a_campaign_without_a_provider_fails_with_the_reason_and_can_be_retried() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &email("one-time")).await;
    let sent = call(api, &campaign, "send", 200).await.json();
    assert_eq!((status(&sent), &sent["occurrence"]), ("active", &json!(1)));
    let failed = async || {
        eventually("it failed", || async {
            Some(read(api, &campaign).await).filter(|it| status(it) == "failed")
        })
        .await
    };
    let first = failed().await;
    assert_eq!(first["failureReason"], "no provider is set for channel email");
    assert_eq!(first["nextSendAt"], Value::Null);

    let retried = call(api, &campaign, "retry", 200).await.json();
    assert_eq!((status(&retried), &retried["failureReason"]), ("scheduled", &Value::Null));
    assert!(retried["nextSendAt"].is_string(), "at once");
    let second = failed().await;
    assert_eq!(second["occurrence"], 1, "a retry continues the same occurrence");
    let answer = api.get(format!("/campaigns/{}/history", id(&campaign)), 200).await.json();
    let actions: Vec<&str> = answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["failed", "launched", "retried", "failed", "sent", "created"]);
    assert_eq!(answer["items"][0]["actor"], json!({"type": "system", "id": null}));
}

#[tokio::test]
async fn a_scheduled_campaign_starts_at_its_time() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let schedule = json!({"sendType": "scheduled", "scheduledAt": in_ms(5_000)});
    let campaign = made(api, &email_with("soon", schedule)).await;
    assert_eq!(status(&campaign), "scheduled");
    let ended = eventually("its time came", || async {
        Some(read(api, &campaign).await).filter(|it| status(it) == "failed")
    })
    .await;
    assert!(ended["startedAt"].as_str() >= campaign["scheduledAt"].as_str());
    assert_eq!(ended["failureReason"], "no provider is set for channel email");
}

#[tokio::test]
async fn a_schedule_missed_by_more_than_a_day_is_not_sent() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let minute = 60_000;
    for (late_ms, reason) in [
        (24 * 60 * minute + minute, "missed_schedule"),
        (24 * 60 * minute - minute, "no provider is set for channel email"),
    ] {
        let schedule = json!({"sendType": "scheduled", "scheduledAt": in_ms(60 * minute)});
        let campaign = made(api, &email_with("late", schedule)).await;
        force(&workspace, &campaign, "scheduled", Some(-late_ms)).await;
        let failed = eventually("it was started", || async {
            Some(read(api, &campaign).await).filter(|it| status(it) == "failed")
        })
        .await;
        assert_eq!(failed["failureReason"], reason, "{late_ms} ms late");
    }
}

#[tokio::test]
async fn a_resumed_schedule_still_waits_for_its_time() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let at = in_ms(3_600_000);
    let schedule = json!({"sendType": "scheduled", "scheduledAt": at});
    let campaign = made(api, &email_with("later", schedule)).await;
    let paused = call(api, &campaign, "pause", 200).await.json();
    assert_eq!((status(&paused), &paused["nextSendAt"]), ("paused", &Value::Null));
    let resumed = call(api, &campaign, "resume", 200).await.json();
    assert_eq!((status(&resumed), &resumed["nextSendAt"]), ("scheduled", &json!(at)));
    // Sending overrides the clock.
    assert_eq!(status(&call(api, &campaign, "send", 200).await.json()), "active");
}

#[tokio::test]
async fn a_recurring_campaign_waits_for_its_next_time_until_it_is_stopped() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &recurring("daily")).await;
    call(api, &campaign, "stop-recurring", 409).await;
    let live = call(api, &campaign, "send", 200).await.json();
    assert_eq!((status(&live), &live["occurrence"]), ("active", &json!(0)));
    let next = live["nextSendAt"].as_str().unwrap().to_owned();
    assert!(next > in_ms(0) && next <= in_ms(86_400_000), "{next}");
    let stopped = call(api, &campaign, "stop-recurring", 200).await.json();
    assert_eq!((status(&stopped), &stopped["nextSendAt"]), ("completed", &Value::Null));
    assert!(stopped["completedAt"].is_string());
    call(api, &campaign, "stop-recurring", 409).await;
    let text = call(api, &campaign, "resend", 400).await.text;
    assert!(text.contains("cannot be sent again"), "{text}");
    let other = made(api, &triggered("t")).await;
    let text = call(api, &other, "stop-recurring", 400).await.text;
    assert!(text.contains("The campaign is not recurring"), "{text}");
}

#[tokio::test]
async fn a_recurring_campaign_completes_after_its_last_occurrence() {
    let workspace = Workspace::new().await;
    let mut body = recurring("daily");
    body["recurringSchedule"]["maxOccurrences"] = json!(3);
    let campaign = in_status(&workspace, &body, "paused").await;
    let often = "update campaign set occurrence = 3 where workspace_id = $1 and id = $2";
    super::sql(&workspace, &campaign, often).await;
    let resumed = call(&workspace.api, &campaign, "resume", 200).await.json();
    assert_eq!(status(&resumed), "completed");
    assert!(resumed["completedAt"].is_string());
}

#[tokio::test]
async fn only_a_one_time_campaign_that_finished_is_sent_again() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &email("once")).await;
    let text = call(api, &campaign, "resend", 400).await.text;
    assert!(text.contains("The campaign is draft: only one that has finished"), "{text}");
    force(&workspace, &campaign, "completed", None).await;
    let again = call(api, &campaign, "resend", 200).await.json();
    assert_eq!((status(&again), &again["occurrence"]), ("active", &json!(1)));
    assert_eq!(again["completedAt"], Value::Null);
    for body in [triggered("t"), email_with("i", json!({"channel": "in_app", "variants": []}))] {
        let other = made(api, &body).await;
        call(api, &other, "resend", 400).await;
    }
}

#[tokio::test]
async fn a_running_campaign_is_unarchived_as_paused() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let draft = made(api, &email("d")).await;
    call(api, &draft, "unarchive", 409).await;
    let archived = call(api, &draft, "archive", 200).await.json();
    assert_eq!(status(&archived), "archived");
    let again = call(api, &draft, "archive", 200).await.json();
    assert_eq!(again, archived, "archiving twice changes nothing");
    assert_eq!(status(&call(api, &draft, "unarchive", 200).await.json()), "draft");

    for (before, resumed) in [("active", "active"), ("paused", "active")] {
        let campaign = in_status(&workspace, &triggered("t"), before).await;
        call(api, &campaign, "archive", 200).await;
        let out = call(api, &campaign, "unarchive", 200).await.json();
        assert_eq!((status(&out), &out["archivedAt"]), ("paused", &Value::Null), "{before}");
        assert_eq!(status(&call(api, &campaign, "resume", 200).await.json()), resumed);
    }
    let schedule = json!({"sendType": "scheduled", "scheduledAt": in_ms(3_600_000)});
    let campaign = made(api, &email_with("s", schedule)).await;
    call(api, &campaign, "archive", 200).await;
    assert_eq!(status(&call(api, &campaign, "unarchive", 200).await.json()), "paused");
    assert_eq!(status(&call(api, &campaign, "resume", 200).await.json()), "scheduled");

    for ended in ["completed", "cancelled", "failed"] {
        let campaign = made(api, &email(ended)).await;
        force(&workspace, &campaign, ended, None).await;
        call(api, &campaign, "archive", 200).await;
        assert_eq!(status(&call(api, &campaign, "unarchive", 200).await.json()), ended);
    }
}

#[tokio::test]
async fn edits_of_a_live_campaign_are_pending_until_published() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    for body in [triggered("old"), recurring("old")] {
        let live = in_status(&workspace, &body, "active").await;
        assert!(call(api, &live, "publish", 400).await.text.contains("no pending edits"));
        assert_eq!(call(api, &live, "discard-draft", 200).await.json(), live);

        let edited = put(api, &live, json!({"name": "new"}), 200).await.json();
        assert_eq!((status(&edited), &edited["name"]), ("active", &json!("old")));
        assert_eq!(edited["hasPendingDraft"], true);
        assert_eq!(edited["pendingDraft"]["name"], "new");
        assert!(edited["pendingDraftUpdatedAt"].is_string());
        let edited = put(api, &live, json!({"description": "more"}), 200).await.json();
        assert_eq!(edited["pendingDraft"]["name"], "new", "edits add up");
        assert_eq!(edited["description"], Value::Null);

        let published = call(api, &live, "publish", 200).await.json();
        assert_eq!((status(&published), &published["name"]), ("active", &json!("new")));
        assert_eq!(published["description"], "more");
        assert_eq!(
            (&published["hasPendingDraft"], &published["pendingDraft"]),
            (&json!(false), &Value::Null)
        );
        call(api, &live, "publish", 400).await;

        put(api, &live, json!({"name": "newer"}), 200).await;
        let kept = call(api, &live, "discard-draft", 200).await.json();
        assert_eq!((&kept["name"], &kept["hasPendingDraft"]), (&json!("new"), &json!(false)));
        call(api, &live, "publish", 400).await;
        let text = put(api, &live, json!({"sendType": "immediate"}), 409).await.text;
        assert!(text.contains("channel and sendType cannot change"), "{text}");
    }
}

#[tokio::test]
async fn the_status_decides_which_fields_can_be_edited() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    for ended in ["active", "completed"] {
        let campaign = made(api, &email("x")).await;
        force(&workspace, &campaign, ended, None).await;
        let names = json!({"name": "y", "description": "d", "tags": ["t"], "channel": "email"});
        let changed = put(api, &campaign, names, 200).await.json();
        assert_eq!((&changed["name"], &changed["hasPendingDraft"]), (&json!("y"), &json!(false)));
        let text =
            put(api, &campaign, json!({"name": "z", "resendPolicy": "everyone"}), 409).await.text;
        assert!(text.contains("only name, description and tags can be changed"), "{text}");
        assert_eq!(read(api, &campaign).await, changed);
    }
    for ended in ["archived", "cancelled"] {
        let campaign = made(api, &email("x")).await;
        force(&workspace, &campaign, ended, None).await;
        put(api, &campaign, json!({"name": "y"}), 409).await;
        put(api, &campaign, json!({"name": ""}), 400).await;
        put(api, &campaign, json!({}), 200).await;
    }
    for open in ["paused", "failed"] {
        let campaign = made(api, &email("x")).await;
        force(&workspace, &campaign, open, None).await;
        let changed = put(api, &campaign, json!({"resendPolicy": "everyone"}), 200).await.json();
        assert_eq!((status(&changed), &changed["hasPendingDraft"]), (open, &json!(false)));
        assert_eq!(changed["resendPolicy"], "everyone");
    }
}

#[tokio::test]
async fn of_twenty_racing_calls_one_is_answered_200_and_the_rest_409() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &triggered("t")).await;
    for suffix in ["send", "pause", "resume", "cancel"] {
        let path = format!("/campaigns/{}/{suffix}", id(&campaign));
        let mut racing = tokio::task::JoinSet::new();
        for _ in 0..20 {
            racing.spawn(api.request(reqwest::Method::POST, &path).send());
        }
        let mut answers: Vec<u16> = Vec::new();
        while let Some(answer) = racing.join_next().await {
            answers.push(answer.unwrap().unwrap().status().as_u16());
        }
        answers.sort_unstable();
        let mut expected = vec![409; 20];
        expected[0] = 200;
        assert_eq!(answers, expected, "{suffix}");
    }
    let answer = api.get(format!("/campaigns/{}/history", id(&campaign)), 200).await.json();
    assert_eq!(answer["total"], 5, "each call is recorded once");
}

#[tokio::test]
async fn concurrent_edits_are_all_applied() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &email("x")).await;
    let path = format!("/campaigns/{}", id(&campaign));
    let mut racing = tokio::task::JoinSet::new();
    for (field, value) in [
        ("name", json!("y")),
        ("description", json!("d")),
        ("tags", json!(["t"])),
        ("resendPolicy", json!("everyone")),
        ("ignoreTouchingRules", json!(true)),
        ("emailConfigId", json!("c")),
    ] {
        let request = api.request(reqwest::Method::PUT, &path).json(&json!({field: value}));
        racing.spawn(async move { request.send().await.unwrap().status().as_u16() });
    }
    while let Some(answer) = racing.join_next().await {
        assert_eq!(answer.unwrap(), 200);
    }
    let changed = read(api, &campaign).await;
    assert_eq!(changed["version"], 7);
    let found = json!([
        changed["name"],
        changed["description"],
        changed["tags"],
        changed["resendPolicy"],
        changed["ignoreTouchingRules"],
        changed["emailConfigId"],
    ]);
    assert_eq!(found, json!(["y", "d", ["t"], "everyone", true, "c"]));
}

#[tokio::test]
async fn a_lifecycle_call_needs_no_body_and_refuses_an_invalid_one() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let campaign = made(api, &triggered("t")).await;
    let path = format!("/campaigns/{}/send", id(&campaign));
    api.post_bytes(&path, "{", 400).await;
    let request = api.request(reqwest::Method::POST, &path).header("content-type", "text/plain");
    api.send(request.body("x"), 415).await;
    api.post_bytes(&path, "{}", 200).await;
}

#[tokio::test]
async fn a_copy_is_a_draft_of_the_live_version() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let live = in_status(&workspace, &triggered("Spring"), "active").await;
    put(api, &live, json!({"description": "not yet"}), 200).await;
    let copy = call(api, &live, "duplicate", 201).await.json();
    assert_eq!((&copy["name"], status(&copy)), (&json!("Spring (copy)"), "draft"));
    assert_ne!(copy["id"], live["id"]);
    assert_eq!(copy["variants"], live["variants"], "variants keep their ids");
    assert_eq!((&copy["description"], &copy["startedAt"]), (&Value::Null, &Value::Null));
    let long = made(api, &email(&"ä".repeat(255))).await;
    let copy = call(api, &long, "duplicate", 201).await.json();
    let name = copy["name"].as_str().unwrap();
    assert!(name.ends_with("ä (copy)") && name.chars().count() == 255, "{name}");
    let schedule = json!({"sendType": "scheduled", "scheduledAt": in_ms(3_600_000)});
    let timed = made(api, &email_with("s", schedule)).await;
    let copy = call(api, &timed, "duplicate", 201).await.json();
    assert_eq!((status(&copy), &copy["scheduledAt"]), ("draft", &timed["scheduledAt"]));
}

#[tokio::test]
async fn an_unreadable_campaign_does_not_block_others() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let schedule = json!({"sendType": "scheduled", "scheduledAt": in_ms(3_600_000)});
    let broken = made(api, &email_with("broken", schedule.clone())).await;
    let sound = made(api, &email_with("sound", schedule)).await;
    super::sql(&workspace, &broken, "update campaign set definition = definition - 'variants' where workspace_id = $1 and id = $2").await;
    force(&workspace, &broken, "scheduled", Some(-60_000)).await;
    force(&workspace, &sound, "scheduled", Some(-1000)).await;
    eventually("the other went out", || async {
        Some(read(api, &sound).await).filter(|it| status(it) == "failed")
    })
    .await;
}

#[tokio::test]
async fn a_settled_run_does_not_complete_a_paused_campaign() {
    let workspace = Workspace::new().await;
    let campaign = in_status(&workspace, &recurring("halted"), "paused").await;
    let settle = async || {
        let (tenant, campaign) = (workspace.id, id(&campaign).parse().unwrap());
        server().with(async move |app| ops::settle(&app, tenant, campaign, 0).await.unwrap()).await
    };
    assert!(!settle().await, "a resumed campaign is checked again");
    assert_eq!(status(&read(&workspace.api, &campaign).await), "paused");
    call(&workspace.api, &campaign, "cancel", 200).await;
    assert!(settle().await, "nothing comes after that");
}

//! `preview-launch`: the audience of a launch before it happens.

use serde_json::{Value, json};

use super::{call, email_with, id, made, read, recurring, triggered};
use crate::kit::{Workspace, eventually};

/// Adds people whose email is their name, and answers their internal ids.
async fn people(workspace: &Workspace, people: &[(&str, Value)]) -> Vec<String> {
    let mut ids = Vec::new();
    for (name, attributes) in people {
        let body = json!({"externalId": name, "email": format!("{name}@example.test"), "attributes": attributes});
        let user = workspace.api.post("/users", &body, 201).await.json();
        ids.push(user["id"].as_str().unwrap().to_owned());
    }
    ids
}

async fn preview(workspace: &Workspace, campaign: &Value) -> Value {
    call(&workspace.api, campaign, "preview-launch", 200).await.json()
}

fn check<'p>(preview: &'p Value, id: &str) -> &'p Value {
    let checks = preview["checks"].as_array().unwrap();
    checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no {id}: {preview}"))
}

fn webhook(fields: Value) -> Value {
    let variant = |id: &str, weight: u32| {
        json!({"id": id, "name": id.to_uppercase(), "weight": weight,
               "message": {"url": "https://example.test/hook", "method": "POST", "body": "{}"}})
    };
    let control = json!({"id": "c", "name": "Control", "weight": 20, "isControlGroup": true});
    let mut body = json!({
        "name": "Hooked", "channel": "webhook",
        "variants": [variant("a", 60), control, variant("b", 20)],
    });
    for (field, value) in fields.as_object().unwrap() {
        body[field] = value.clone();
    }
    body
}

/// Everything that is counted adds up.
fn adds_up(preview: &Value) {
    let audience = &preview["audience"];
    let number = |name: &str| audience[name].as_u64().unwrap();
    let excluded: u64 =
        audience["excluded"].as_object().unwrap().values().map(|it| it.as_u64().unwrap()).sum();
    assert_eq!(number("matched"), number("reachable") + excluded, "{audience}");
    assert_eq!(number("reachable"), number("control") + number("estimatedSends"), "{audience}");
    let variants = audience["perVariant"].as_array().unwrap();
    let estimated: u64 = variants.iter().map(|it| it["estimated"].as_u64().unwrap()).sum();
    assert_eq!(estimated, number("reachable"), "{audience}");
}

#[tokio::test]
async fn a_launch_preview_counts_unreachable_profiles_by_reason() {
    let workspace = Workspace::new().await;
    let none = json!({});
    let ids = people(
        &workspace,
        &[("ann", none.clone()), ("bob", none.clone()), ("out", none.clone()), ("gone", none)],
    )
    .await;
    workspace.api.post("/users", &json!({"externalId": "nowhere"}), 201).await;
    let opt_out = json!({"channel": "email", "status": "unsubscribed"});
    let path = format!("/subscriptions/contacts/{}/channels/email", ids[2]);
    let request = workspace.api.request(reqwest::Method::PUT, &path).json(&opt_out);
    workspace.api.send(request, 200).await;
    let suppressed = json!({"channel": "email", "identifier": "gone@example.test"});
    workspace.api.post("/suppressions", &suppressed, 201).await;

    let campaign = made(&workspace.api, &email_with("News", json!({}))).await;
    let preview = preview(&workspace, &campaign).await;
    assert_eq!(preview["campaignId"], campaign["id"]);
    let audience = &preview["audience"];
    assert_eq!((&audience["matched"], &audience["reachable"]), (&json!(5), &json!(2)));
    assert_eq!(
        audience["excluded"],
        json!({
            "noAddress": 1, "unsubscribed": 1, "suppressed": 1, "invalidAddress": 0, "frequencyCap": 0,
            "quietHoursDeferred": 0, "alreadyReceived": 0, "volumeLimit": 0,
        })
    );
    assert_eq!(audience["perVariant"], json!([{"variantId": "a", "name": "A", "estimated": 2}]));
    adds_up(&preview);
    // No provider is set, which a campaign is accepted with and cannot be launched well without.
    assert_eq!(preview["canLaunch"], false);
    let sender = check(&preview, "sender_configured");
    assert_eq!(
        (&sender["status"], &sender["message"]),
        (&json!("fail"), &json!("no provider is set for channel email"))
    );
    let failing: Vec<&Value> =
        preview["checks"].as_array().unwrap().iter().filter(|it| it["status"] == "fail").collect();
    assert_eq!(failing.len(), 1, "{failing:?}");
    // Nothing happened to it.
    assert_eq!(read(&workspace.api, &campaign).await, campaign);
}

#[tokio::test]
async fn an_audience_is_divided_among_variants_control_group_and_limits() {
    let workspace = Workspace::new().await;
    let many: Vec<Value> = (0..1000).map(|n| json!({"externalId": format!("user-{n}")})).collect();
    workspace.api.post("/users", &json!(many), 200).await;
    let campaign =
        made(&workspace.api, &webhook(json!({"sendRateLimit": {"maxPerMinute": 3}}))).await;
    let shown = preview(&workspace, &campaign).await;
    adds_up(&shown);
    let audience = &shown["audience"];
    // Who gets what is drawn by lot, for ever: of a thousand about as many as the weights say.
    let estimates: Vec<u64> = audience["perVariant"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["estimated"].as_u64().unwrap())
        .collect();
    for (found, expected) in estimates.iter().zip([600, 200, 200_u64]) {
        assert!(found.abs_diff(expected) < 70, "{estimates:?}");
    }
    assert_eq!(audience["control"], estimates[1]);
    let minutes = audience["estimatedSends"].as_u64().unwrap().div_ceil(3);
    assert_eq!(shown["schedule"]["estimatedDurationMinutes"], minutes);
    assert_eq!(preview(&workspace, &campaign).await["audience"], *audience);
    assert_eq!(shown["schedule"]["firstSendAt"], shown["generatedAt"]);
    assert_eq!(check(&shown, "control_vs_rate_limit")["status"], "warn");
    assert_eq!(check(&shown, "sample_size")["status"], "warn");
    assert!(check(&shown, "sample_size")["message"].as_str().unwrap().contains("1094"));
    assert_eq!(check(&shown, "sender_configured")["status"], "pass");
    assert_eq!(shown["canLaunch"], true, "{}", shown["checks"]);

    let limited = json!({"sendVolumeLimit": {"maxSends": 5, "cadence": "lifetime"}});
    let campaign = made(&workspace.api, &webhook(limited)).await;
    let shown = preview(&workspace, &campaign).await;
    adds_up(&shown);
    let audience = &shown["audience"];
    assert_eq!(audience["estimatedSends"], 5);
    let (control, left_out) = (&audience["control"], &audience["excluded"]["volumeLimit"]);
    assert_eq!(control.as_u64().unwrap() + left_out.as_u64().unwrap(), 995);
    assert_eq!(shown["schedule"]["estimatedDurationMinutes"], 0);
    assert_eq!(check(&shown, "control_vs_rate_limit")["status"], "warn");

    let unmatched = json!({"targeting": {"userIds": ["unknown"]}});
    let shown = preview(&workspace, &made(&workspace.api, &webhook(unmatched)).await).await;
    adds_up(&shown);
    assert_eq!(shown["audience"]["matched"], 0);
}

#[tokio::test]
async fn a_launch_preview_counts_quiet_time_by_local_time() {
    let workspace = Workspace::new().await;
    people(
        &workspace,
        &[
            ("berlin", json!({"timezone": "Europe/Berlin"})),
            ("york", json!({"timezone": "America/New_York"})),
            ("lost", json!({"timezone": "Nowhere/At_All"})),
            ("odd", json!({"timezone": 7})),
            ("plain", json!({})),
        ],
    )
    .await;
    // Nine in the evening in Berlin, eight in London, three in the afternoon in New York.
    let at = "2032-01-15T20:00:00Z";
    let quiet = |override_: Value| {
        let only = webhook(json!({}))["variants"][0].clone();
        webhook(json!({
            "sendType": "scheduled", "scheduledAt": at, "quietTimeOverride": override_, "variants": [only],
        }))
    };
    let hours = |timezone: &str| json!({"start": "20:30", "end": "08:00", "timezone": timezone});
    for (override_, expected) in [
        (hours("recipient"), 1),
        (hours("Europe/Berlin"), 5),
        (hours("America/New_York"), 0),
        (json!({"enabled": false, "start": "20:30", "end": "08:00"}), 0),
        // Who names no zone lives by the workspace's, which is UTC.
        (json!({"start": "20:00", "end": "20:30"}), 3),
    ] {
        let campaign = made(&workspace.api, &quiet(override_.clone())).await;
        let shown = preview(&workspace, &campaign).await;
        assert_eq!(shown["audience"]["excluded"]["quietHoursDeferred"], expected, "{override_}");
        assert_eq!(shown["schedule"]["firstSendAt"], "2032-01-15T20:00:00.000Z");
        adds_up(&shown);
    }
}

#[tokio::test]
async fn a_launch_preview_reports_an_invalid_schedule() {
    let workspace = Workspace::new().await;
    for fields in [
        json!({"sendType": "scheduled"}),
        json!({"sendType": "recurring"}),
        json!({"sendType": "triggered"}),
        json!({"sendType": "recurring", "recurringSchedule": {"frequency": "daily", "endDate": "2020-01-01"}}),
    ] {
        let campaign = made(&workspace.api, &webhook(fields.clone())).await;
        let shown = preview(&workspace, &campaign).await;
        assert_eq!(check(&shown, "schedule_valid")["status"], "fail", "{fields}");
        assert_eq!(shown["canLaunch"], false);
        assert_eq!(shown["schedule"]["firstSendAt"], Value::Null);
        // The launch itself says the same.
        let refused = call(&workspace.api, &campaign, "send", 400).await;
        let message = check(&shown, "schedule_valid")["message"].as_str().unwrap();
        assert!(refused.errors().iter().any(|error| error.contains(message)), "{}", refused.text);
    }
    let daily = preview(&workspace, &made(&workspace.api, &recurring("Daily")).await).await;
    assert_eq!(daily["schedule"]["timezone"], "Europe/Berlin");
    assert!(daily["schedule"]["firstSendAt"].is_string());
    let waits = preview(&workspace, &made(&workspace.api, &triggered("Waits")).await).await;
    assert_eq!(waits["schedule"]["firstSendAt"], Value::Null);
    assert_eq!(check(&waits, "schedule_valid")["status"], "pass");
}

#[tokio::test]
async fn only_a_transactional_list_reaches_opted_out_profiles() {
    let workspace = Workspace::new().await;
    let list = |kind: &'static str| {
        let api = workspace.api.clone();
        async move {
            let body = json!({"name": format!("for {kind}"), "type": kind});
            api.post("/lists", &body, 201).await.json()["id"].clone()
        }
    };
    let (marketing, transactional) = (list("marketing").await, list("transactional").await);
    let message = "targeting.subscriptionPreference must not be all unless subscriptionCategoryId is a \
                   transactional list";
    for (list, allowed) in [(Value::Null, false), (marketing, false), (transactional, true)] {
        let mut body = triggered("To all");
        body["targeting"] = json!({"subscriptionPreference": "all"});
        body["subscriptionCategoryId"] = list;
        let campaign = made(&workspace.api, &body).await;
        let shown = preview(&workspace, &campaign).await;
        if allowed {
            assert!(!shown["checks"].to_string().contains("preference_allowed"), "{shown}");
            call(&workspace.api, &campaign, "send", 200).await;
            continue;
        }
        assert_eq!(check(&shown, "preference_allowed")["message"], message);
        assert_eq!(shown["canLaunch"], false);
        assert_eq!(call(&workspace.api, &campaign, "send", 400).await.errors(), [message]);
        // Put in line, it fails when its time has come.
        body["sendType"] = json!("scheduled");
        body["scheduledAt"] = json!(super::in_ms(5_000));
        let scheduled = made(&workspace.api, &body).await;
        let failed = eventually("its time", || async {
            let found = read(&workspace.api, &scheduled).await;
            (found["status"] == "failed").then_some(found)
        })
        .await;
        assert_eq!(failed["failureReason"], message);
    }
}

#[tokio::test]
async fn a_live_campaign_cannot_be_launched_again() {
    let workspace = Workspace::new().await;
    let campaign = made(
        &workspace.api,
        &webhook(json!({
            "sendType": "triggered", "triggerConfig": {"eventName": "A"},
        })),
    )
    .await;
    assert_eq!(preview(&workspace, &campaign).await["canLaunch"], true);
    call(&workspace.api, &campaign, "send", 200).await;
    assert_eq!(preview(&workspace, &campaign).await["canLaunch"], false);
    call(&workspace.api, &campaign, "archive", 200).await;
    assert_eq!(preview(&workspace, &campaign).await["canLaunch"], false);
    workspace
        .api
        .post(&format!("/campaigns/{}/preview-launch", id(&campaign)), &json!({}), 200)
        .await;
    workspace
        .api
        .post_bytes(&format!("/campaigns/{}/preview-launch", id(&campaign)), "{", 400)
        .await;
}

//! Settings objects of a campaign: stored unchanged, errors with their path.

use serde_json::{Value, json};

use super::{call, email, email_with, made, put, read};
use crate::kit::Workspace;

fn everything() -> Value {
    json!({
        "sendType": "triggered",
        "triggerConfig": {
            "type": "event", "eventName": "Cart Abandoned",
            "conditions": [{"field": "total", "operator": "gte", "value": 50}],
            "reEntry": "cooldown", "cooldownHours": 24, "delayMinutes": 30,
        },
        "recurringSchedule": {
            "frequency": "weekly", "dayOfWeek": [1, 5], "timeOfDay": "10:30", "timezone": "Europe/Berlin",
            "endDate": "2032-12-31", "maxOccurrences": 52,
        },
        "conversionTracking": {
            "primaryConversion": {"eventName": "Order Completed", "conditions": [{"field": "total", "operator": "gt", "value": 0}]},
            "secondaryConversions": [{"eventName": "Added To Cart"}],
            "conversionWindowHours": 48, "attributionModel": "first_touch",
        },
        "sendVolumeLimit": {"enabled": true, "maxSends": 1000, "cadence": "per_send"},
        "sendRateLimit": {"enabled": true, "maxPerMinute": 600},
        "quietTimeOverride": {"enabled": true, "start": "21:00", "end": "07:30", "timezone": "recipient", "behavior": "skip"},
        "utmSettings": {"enabled": true, "source": "millrace", "medium": "email", "campaign": "{{ campaign.name }}", "term": "t", "content": "c"},
        "channelConfig": {"replyTo": "help@example.test", "trackOpens": false, "trackClicks": true, "listUnsubscribe": true},
        "stoConfig": {"windowHours": 12, "lookbackDays": 30, "minEvents": 5, "fallback": "popular_hour", "fallbackTime": "08:00"},
        "abTestConfig": {
            "enabled": true, "testPercentage": 30, "winnerMetric": "click_rate", "winnerSelection": "manual",
            "testDurationHours": 6, "minSamplePerVariant": 200, "confidenceLevel": 0.9, "ifInconclusive": "stop",
        },
        "resendPolicy": "cooldown",
        "resendCooldownDays": 14,
    })
}

#[tokio::test]
async fn every_setting_is_stored_and_returned_unchanged() {
    let workspace = Workspace::new().await;
    let campaign = made(&workspace.api, &email_with("All", everything())).await;
    let stored = read(&workspace.api, &campaign).await;
    for (field, sent) in everything().as_object().unwrap() {
        assert_eq!(&campaign[field], sent, "{field} as answered");
        assert_eq!(&stored[field], sent, "{field} as stored");
        assert_eq!(stored[field].to_string(), sent.to_string(), "{field} to the letter");
    }
    // A change of one replaces it whole and leaves the others; null takes one away.
    let change = json!({"sendRateLimit": {"maxPerMinute": 5}, "utmSettings": null});
    let changed = put(&workspace.api, &campaign, change, 200).await.json();
    assert_eq!(changed["sendRateLimit"], json!({"maxPerMinute": 5}));
    assert_eq!(changed["utmSettings"], Value::Null);
    assert_eq!(changed["stoConfig"], everything()["stoConfig"]);
}

#[tokio::test]
async fn every_settings_error_has_the_path_of_its_field() {
    let workspace = Workspace::new().await;
    let wrong = json!({
        "triggerConfig": {"eventName": "", "reEntry": "cooldown", "conditions": [{"field": "a", "operator": "like", "value": 1}]},
        "recurringSchedule": {"frequency": "monthly", "dayOfMonth": 32},
        "conversionTracking": {"primaryConversion": {}, "conversionWindowHours": 721},
        "sendVolumeLimit": {"cadence": "daily"},
        "sendRateLimit": {"maxPerMinute": 0},
        "quietTimeOverride": {"start": "25:00", "behavior": "drop"},
        "utmSettings": {"campaign": "\n {{ user.name"},
        "channelConfig": {"replyTo": "unknown"},
        "stoConfig": {"windowHours": 0},
        "abTestConfig": {"confidenceLevel": 1},
        "resendPolicy": "cooldown",
        "resendCooldownDays": 0,
    });
    let refused = workspace.api.post("/campaigns", &email_with("Wrong", wrong), 400).await;
    let errors = refused.errors();
    for path in [
        "triggerConfig.eventName ",
        "triggerConfig.cooldownHours ",
        "triggerConfig.conditions[0].operator ",
        "recurringSchedule.dayOfMonth ",
        "conversionTracking.primaryConversion.eventName ",
        "conversionTracking.conversionWindowHours ",
        "sendVolumeLimit.maxSends ",
        "sendVolumeLimit.cadence ",
        "sendRateLimit.maxPerMinute ",
        "quietTimeOverride.start ",
        "quietTimeOverride.behavior ",
        "utmSettings.campaign ",
        "channelConfig.replyTo ",
        "stoConfig.windowHours ",
        "abTestConfig.confidenceLevel ",
        "resendCooldownDays ",
    ] {
        assert!(errors.iter().any(|error| error.starts_with(path)), "{path}: {errors:?}");
    }
    assert_eq!(errors.len(), 16, "{errors:?}");
    let template = errors.iter().find(|error| error.starts_with("utmSettings")).unwrap();
    assert!(template.contains("line 2"), "{template}");
}

#[tokio::test]
async fn settings_of_wrong_types_are_4xx_and_never_5xx() {
    let workspace = Workspace::new().await;
    for field in everything().as_object().unwrap().keys() {
        for wrong in [
            json!(7),
            json!([]),
            json!("x\u{0}"),
            json!({"frequency": {"a": [[[[]]]]}}),
            json!(1e300),
        ] {
            let mut body = email("Odd");
            body[field] = wrong.clone();
            let answer = workspace.api.request(reqwest::Method::POST, "/campaigns").json(&body);
            let status = answer.send().await.unwrap().status().as_u16();
            assert!([201, 400].contains(&status), "{field} {wrong}: {status}");
        }
    }
}

#[tokio::test]
async fn required_settings_depend_on_the_channel() {
    let workspace = Workspace::new().await;
    let body = json!({
        "name": "Shown", "channel": "in_app",
        "channelConfig": {
            "type": "banner",
            "triggers": [{"type": "event", "eventName": "Added To Cart", "delaySeconds": 5}],
            "displayFrequency": {"maxPerUser": 3, "minHoursBetween": 24},
            "priority": 10, "startAt": "2032-01-01T00:00:00.000Z", "platforms": ["ios"],
        },
    });
    let campaign = made(&workspace.api, &body).await;
    assert_eq!(campaign["channelConfig"], body["channelConfig"]);
    let wrong = json!({"channelConfig": {"triggers": [{"type": "event"}]}});
    let refused = put(&workspace.api, &campaign, wrong, 400).await;
    assert_eq!(
        refused.errors(),
        ["channelConfig.triggers[0].eventName is required for the type event"]
    );
}

#[tokio::test]
async fn a_cooldown_without_days_can_be_drafted_but_not_launched() {
    let workspace = Workspace::new().await;
    let api = &workspace.api;
    let body = json!({"name": "n", "channel": "sms", "resendPolicy": "cooldown", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"body": "Hi"}},
    ]});
    let campaign = made(api, &body).await;
    let refused = call(api, &campaign, "send", 400).await.errors();
    let needed = "resendCooldownDays is required for the resendPolicy cooldown";
    assert_eq!(refused, [needed]);
    let checks = call(api, &campaign, "preview-launch", 200).await.json()["checks"].clone();
    let check = json!({"id": "resend_cooldown", "status": "fail", "message": needed});
    assert!(checks.as_array().unwrap().contains(&check), "{checks}");
    put(api, &campaign, json!({"resendCooldownDays": 2}), 200).await;
    call(api, &campaign, "send", 200).await;
}

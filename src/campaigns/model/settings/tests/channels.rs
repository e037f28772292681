//! The settings of each channel.

use kernel::fields::read_object_by;
use serde_json::{Value, json};

use super::texts;
use crate::model::{CampaignChannel, settings::channel_config::ChannelConfig};

fn config(sent: &Value, channel: CampaignChannel) -> Result<ChannelConfig, Vec<String>> {
    let read = |fields: &mut kernel::fields::Fields<'_>| ChannelConfig::read(fields, channel);
    read_object_by(sent.as_object().unwrap(), read).map_err(texts)
}

#[test]
fn each_channel_has_its_own_settings() {
    use CampaignChannel as C;
    let in_app = json!({
        "type": "slideup",
        "triggers": [
            {"type": "session_start"},
            {"type": "page_view", "conditions": [{"field": "path", "operator": "starts_with", "value": "/shop"}]},
            {"type": "event", "eventName": "Added To Cart", "delaySeconds": 3600},
        ],
        "displayFrequency": {"maxPerUser": 10_000, "minHoursBetween": 8760}, "priority": 1000,
        "startAt": "2026-01-01T00:00:00.000Z", "endAt": "2026-01-31T23:59:59.999Z",
        "platforms": ["ios", "web"], "webAppIds": ["shop"],
    });
    let table = [
        (
            C::Email,
            json!({"replyTo": "help@example.test", "trackOpens": false, "trackClicks": true, "listUnsubscribe": false}),
        ),
        (C::Email, json!({"replyTo": "{{ user.agent_email }}"})),
        (C::Sms, json!({"senderId": "SHOP", "ttlSeconds": 1})),
        (C::Viber, json!({"senderId": "s".repeat(255), "ttlSeconds": 2_419_200})),
        (
            C::Push,
            json!({"ttlSeconds": 0, "priority": "normal", "collapseKey": "k", "deepLink": "app://{{ user.id }}", "platforms": ["web", "ios", "android"]}),
        ),
        (C::Whatsapp, json!({"phoneNumberId": "1"})),
        (C::Webhook, json!({"timeoutMs": 100, "maxAttempts": 1})),
        (C::Webhook, json!({"timeoutMs": 30_000, "maxAttempts": 10})),
        (C::InApp, in_app),
        (C::AiOptimized, json!({})),
    ];
    for (channel, sent) in table {
        let config = config(&sent, channel).unwrap();
        let written = serde_json::to_value(&config).unwrap();
        assert_eq!(written, sent, "{channel:?}");
        assert_eq!(serde_json::from_value::<ChannelConfig>(written).unwrap(), config);
    }
    // Settings of other channels are unknown here.
    let sent = json!({"trackOpens": "?", "ttlSeconds": -1, "maxAttempts": 99});
    assert_eq!(config(&sent, C::Whatsapp).unwrap(), ChannelConfig::default());
    let none = ChannelConfig::default();
    assert!(none.track_opens() && none.track_clicks() && none.list_unsubscribe());
    assert_eq!((none.timeout_ms(), none.max_attempts(), none.in_app_priority()), (10_000, 5, 0));
}

#[test]
fn settings_of_a_channel_out_of_bounds_are_refused_by_name() {
    use CampaignChannel as C;
    let ttl = "ttlSeconds must be between 1 and 2419200";
    let table = [
        (C::Email, json!({"replyTo": "no address"}), "replyTo must be an email address"),
        (C::Email, json!({"trackOpens": 1}), "trackOpens must be a boolean"),
        (C::Sms, json!({"ttlSeconds": 0}), ttl),
        (C::Viber, json!({"ttlSeconds": 2_419_201}), ttl),
        (C::Sms, json!({"senderId": ""}), "senderId must be between 1 and 255 characters"),
        (C::Push, json!({"priority": "low"}), "priority must be one of: high, normal"),
        (C::Push, json!({"platforms": ["tv"]}), "platforms[0] must be one of: web, ios, android"),
        (
            C::Push,
            json!({"collapseKey": "k".repeat(65)}),
            "collapseKey must be between 1 and 64 characters",
        ),
        (C::Webhook, json!({"timeoutMs": 99}), "timeoutMs must be between 100 and 30000"),
        (C::Webhook, json!({"timeoutMs": 30_001}), "timeoutMs must be between 100 and 30000"),
        (C::Webhook, json!({"maxAttempts": 0}), "maxAttempts must be between 1 and 10"),
        (C::Webhook, json!({"maxAttempts": 11}), "maxAttempts must be between 1 and 10"),
        (
            C::InApp,
            json!({"type": "popup"}),
            "type must be one of: modal, banner, fullscreen, slideup",
        ),
        (
            C::InApp,
            json!({"triggers": [{"type": "event"}]}),
            "triggers[0].eventName is required for the type event",
        ),
        (
            C::InApp,
            json!({"triggers": [{"type": "tap"}]}),
            "triggers[0].type must be one of: session_start, event, page_view",
        ),
        (
            C::InApp,
            json!({"triggers": vec![json!({"type": "page_view"}); 11]}),
            "triggers must have at most 10 elements, received 11",
        ),
        (
            C::InApp,
            json!({"triggers": [{"type": "page_view", "delaySeconds": 3601}]}),
            "triggers[0].delaySeconds must be between 0 and 3600",
        ),
        (
            C::InApp,
            json!({"displayFrequency": {"maxPerUser": 0}}),
            "displayFrequency.maxPerUser must be between 1 and 10000",
        ),
        (
            C::InApp,
            json!({"displayFrequency": {"minHoursBetween": 8761}}),
            "displayFrequency.minHoursBetween must be between 0 and 8760",
        ),
        (C::InApp, json!({"priority": 1001}), "priority must be between 0 and 1000"),
        (C::InApp, json!({"priority": "high"}), "priority must be an integer"),
        (
            C::InApp,
            json!({"startAt": "2026-01-02", "endAt": "2026-01-01"}),
            "endAt must be after startAt",
        ),
        (C::InApp, json!({"webAppIds": []}), "webAppIds must not be empty"),
    ];
    for (channel, sent, complaint) in table {
        assert_eq!(config(&sent, channel).unwrap_err(), [complaint], "{channel:?} {sent}");
    }
    let errors = config(&json!({"replyTo": "{{ user."}), C::Email).unwrap_err();
    assert!(errors[0].contains("(line 1"), "{errors:?}");
}

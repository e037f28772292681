//! The objects of a campaign's settings.

use kernel::{fields::read_object_by, quiet::QuietTimeOverride};
use serde_json::{Value, json};

use super::{read, refused, returned, round_trips, texts};
use crate::model::settings::{
    ab_test::AbTestConfig,
    conversion::ConversionTracking,
    limits::{SendRateLimit, SendVolumeLimit},
    resend::{self, ResendPolicy},
    sto::StoConfig,
    trigger::{ReEntry, TriggerConfig},
    utm::UtmSettings,
};

#[test]
fn an_active_volume_limit_has_a_number() {
    round_trips::<SendVolumeLimit>(&json!({"enabled": true, "maxSends": 1, "cadence": "per_send"}));
    round_trips::<SendVolumeLimit>(&json!({"maxSends": 1_000_000_000, "cadence": "lifetime"}));
    round_trips::<SendVolumeLimit>(&json!({"enabled": false}));
    let base = json!({"maxSends": 5});
    refused::<SendVolumeLimit>(
        &base,
        &[
            ("maxSends", json!(0), "maxSends must be between 1 and 1000000000"),
            ("maxSends", json!(1_000_000_001), "maxSends must be between 1 and 1000000000"),
            ("maxSends", json!(null), "maxSends is required unless enabled is false"),
            ("maxSends", json!("5"), "maxSends must be an integer"),
            ("cadence", json!("daily"), "cadence must be one of: lifetime, per_send"),
            ("enabled", json!("yes"), "enabled must be a boolean"),
        ],
    );
    let limit: SendVolumeLimit = read(&json!({"enabled": false, "maxSends": 5})).unwrap();
    assert_eq!(limit.max_sends(), None);
    assert_eq!(read::<SendVolumeLimit>(&base).unwrap().max_sends(), Some(5));
}

#[test]
fn an_active_rate_limit_has_a_number() {
    round_trips::<SendRateLimit>(&json!({"enabled": true, "maxPerMinute": 1}));
    round_trips::<SendRateLimit>(&json!({"maxPerMinute": 10_000_000}));
    round_trips::<SendRateLimit>(&json!({"enabled": false}));
    let complaint = "maxPerMinute must be between 1 and 10000000";
    refused::<SendRateLimit>(
        &json!({}),
        &[
            ("maxPerMinute", json!(0), complaint),
            ("maxPerMinute", json!(10_000_001), complaint),
            ("enabled", json!(true), "maxPerMinute is required unless enabled is false"),
        ],
    );
}

#[test]
fn quiet_hours_have_two_times_and_a_zone() {
    round_trips::<QuietTimeOverride>(&json!({}));
    round_trips::<QuietTimeOverride>(&json!({"enabled": false}));
    round_trips::<QuietTimeOverride>(
        &json!({"start": "22:00", "end": "08:00", "timezone": "recipient", "behavior": "defer"}),
    );
    round_trips::<QuietTimeOverride>(
        &json!({"start": "00:00", "end": "23:59", "timezone": "Asia/Tokyo", "behavior": "skip"}),
    );
    refused::<QuietTimeOverride>(
        &json!({}),
        &[
            ("start", json!("24:00"), "start must be a time of day as HH:mm, 00:00 to 23:59"),
            ("end", json!("8:00"), "end must be a time of day as HH:mm, 00:00 to 23:59"),
            // The other end is 08:00.
            ("start", json!("08:00"), "end must differ from start"),
            (
                "timezone",
                json!("Mars/Olympus"),
                "timezone must be recipient or an IANA time zone such as Europe/Berlin",
            ),
            ("behavior", json!("drop"), "behavior must be one of: defer, skip"),
        ],
    );
}

#[test]
fn link_tags_are_templates() {
    round_trips::<UtmSettings>(&json!({
        "enabled": true, "source": "millrace", "medium": "{{ campaign.name | downcase }}",
        "campaign": "é".repeat(255), "term": "", "content": "{% if user.vip %}vip{% endif %}",
    }));
    refused::<UtmSettings>(
        &json!({}),
        &[
            ("source", json!("é".repeat(256)), "source must be at most 255 characters"),
            ("medium", json!("a\0"), "medium must not contain NUL characters"),
            ("term", json!(5), "term must be a string"),
        ],
    );
    let errors = read::<UtmSettings>(&json!({"campaign": "{{ user.name"})).unwrap_err();
    assert!(errors[0].starts_with("campaign ") && errors[0].contains("(line 1"), "{errors:?}");
}

#[test]
fn sto_settings_are_checked_at_their_limits() {
    round_trips::<StoConfig>(&json!({}));
    round_trips::<StoConfig>(&json!({
        "windowHours": 168, "lookbackDays": 365, "minEvents": 1000, "fallback": "popular_hour",
        "fallbackTime": "09:30",
    }));
    round_trips::<StoConfig>(&json!({"windowHours": 1, "lookbackDays": 1, "minEvents": 1}));
    refused::<StoConfig>(
        &json!({}),
        &[
            ("windowHours", json!(0), "windowHours must be between 1 and 168"),
            ("windowHours", json!(169), "windowHours must be between 1 and 168"),
            ("lookbackDays", json!(0), "lookbackDays must be between 1 and 365"),
            ("lookbackDays", json!(366), "lookbackDays must be between 1 and 365"),
            ("minEvents", json!(0), "minEvents must be between 1 and 1000"),
            ("minEvents", json!(1001), "minEvents must be between 1 and 1000"),
            ("minEvents", json!(2.5), "minEvents must be an integer"),
            ("fallback", json!("none"), "fallback must be one of: scheduled_time, popular_hour"),
            (
                "fallbackTime",
                json!("noon"),
                "fallbackTime must be a time of day as HH:mm, 00:00 to 23:59",
            ),
        ],
    );
    let config = StoConfig::default();
    assert_eq!((config.window_hours(), config.lookback_days(), config.min_events()), (24, 90, 3));
    assert_eq!(config.fallback_time().to_string(), "09:00");
}

#[test]
fn ab_test_settings_are_checked_at_their_limits() {
    round_trips::<AbTestConfig>(&json!({}));
    round_trips::<AbTestConfig>(&json!({
        "enabled": true, "testPercentage": 100, "winnerMetric": "revenue_per_recipient",
        "winnerSelection": "manual", "testDurationHours": 720, "minSamplePerVariant": 1_000_000,
        "confidenceLevel": 0.999, "ifInconclusive": "stop",
    }));
    round_trips::<AbTestConfig>(&json!({
        "enabled": false, "testPercentage": 1, "testDurationHours": 1, "minSamplePerVariant": 1,
        "confidenceLevel": 0.5,
    }));
    refused::<AbTestConfig>(
        &json!({}),
        &[
            ("testPercentage", json!(0.9), "testPercentage must be between 1 and 100"),
            ("testPercentage", json!(100.1), "testPercentage must be between 1 and 100"),
            ("testDurationHours", json!(0), "testDurationHours must be between 1 and 720"),
            ("testDurationHours", json!(721), "testDurationHours must be between 1 and 720"),
            ("minSamplePerVariant", json!(0), "minSamplePerVariant must be between 1 and 1000000"),
            ("confidenceLevel", json!(0.499), "confidenceLevel must be between 0.5 and 0.999"),
            ("confidenceLevel", json!(1), "confidenceLevel must be between 0.5 and 0.999"),
            (
                "winnerMetric",
                json!("likes"),
                "winnerMetric must be one of: open_rate, click_rate, conversion_rate, revenue_per_recipient",
            ),
            ("winnerSelection", json!("auto"), "winnerSelection must be one of: automatic, manual"),
            ("ifInconclusive", json!("wait"), "ifInconclusive must be one of: send_best, stop"),
        ],
    );
    let config = AbTestConfig::default();
    assert!(config.is_enabled());
    assert_eq!((config.test_duration_hours(), config.min_sample_per_variant()), (4, 100));
}

#[test]
fn a_trigger_names_its_event() {
    let condition = json!({"field": "total", "operator": "gt", "value": 50});
    round_trips::<TriggerConfig>(&json!({"eventName": "Order Completed"}));
    round_trips::<TriggerConfig>(&json!({
        "type": "event", "eventName": "e".repeat(255), "conditions": [condition],
        "reEntry": "cooldown", "cooldownHours": 8760, "delayMinutes": 43_200,
    }));
    round_trips::<TriggerConfig>(&json!({"eventName": "A", "delayMinutes": 0, "cooldownHours": 1}));
    for (sent, word) in [(true, "always"), (false, "once")] {
        returned::<TriggerConfig>(
            &json!({"eventName": "A", "reEntry": sent}),
            &json!({"eventName": "A", "reEntry": word}),
        );
    }
    let base = json!({"eventName": "A"});
    refused::<TriggerConfig>(
        &base,
        &[
            ("eventName", json!(null), "eventName is required"),
            ("eventName", json!(""), "eventName must be between 1 and 255 characters"),
            ("eventName", json!("e".repeat(256)), "eventName must be between 1 and 255 characters"),
            ("type", json!("segment"), "type must be one of: event"),
            ("reEntry", json!("twice"), "reEntry must be one of: once, always, cooldown"),
            ("reEntry", json!(1), "reEntry must be a string"),
            ("reEntry", json!("cooldown"), "cooldownHours is required for the reEntry cooldown"),
            ("cooldownHours", json!(0), "cooldownHours must be between 1 and 8760"),
            ("cooldownHours", json!(8761), "cooldownHours must be between 1 and 8760"),
            ("delayMinutes", json!(-1), "delayMinutes must be between 0 and 43200"),
            ("delayMinutes", json!(43_201), "delayMinutes must be between 0 and 43200"),
            ("conditions", json!({}), "conditions must be an array"),
            ("conditions", json!([{"operator": "exists"}]), "conditions[0].field is required"),
            (
                "conditions",
                Value::Array(vec![condition; 21]),
                "conditions must have at most 20 elements, received 21",
            ),
        ],
    );
    assert_eq!(read::<TriggerConfig>(&base).unwrap().re_entry(), ReEntry::Once);
}

#[test]
fn a_conversion_is_an_event_within_a_window() {
    round_trips::<ConversionTracking>(
        &json!({"primaryConversion": {"eventName": "Order Completed"}}),
    );
    let any = json!({"eventName": "A", "conditions": [{"field": "plan", "operator": "equals", "value": "pro"}]});
    round_trips::<ConversionTracking>(&json!({
        "primaryConversion": any, "secondaryConversions": vec![any.clone(); 10],
        "conversionWindowHours": 720, "attributionModel": "linear",
    }));
    round_trips::<ConversionTracking>(
        &json!({"primaryConversion": any, "conversionWindowHours": 1, "attributionModel": "first_touch"}),
    );
    let base = json!({"primaryConversion": {"eventName": "A"}});
    let window = "conversionWindowHours must be between 1 and 720";
    refused::<ConversionTracking>(
        &base,
        &[
            ("conversionWindowHours", json!(0), window),
            ("conversionWindowHours", json!(721), window),
            (
                "attributionModel",
                json!("best"),
                "attributionModel must be one of: first_touch, last_touch, linear",
            ),
            ("primaryConversion", json!(null), "primaryConversion is required"),
            ("primaryConversion", json!({}), "primaryConversion.eventName is required"),
            (
                "secondaryConversions",
                json!([{"eventName": "A"}, {"eventName": ""}]),
                "secondaryConversions[1].eventName must be between 1 and 255 characters",
            ),
            (
                "secondaryConversions",
                Value::Array(vec![any; 11]),
                "secondaryConversions must have at most 10 elements, received 11",
            ),
        ],
    );
    assert_eq!(read::<ConversionTracking>(&base).unwrap().window_hours(), 72);
}

#[test]
fn cooldown_days_are_limited_and_optional_in_a_draft() {
    let read = |sent: Value| read_object_by(sent.as_object().unwrap(), resend::read).map_err(texts);
    assert_eq!(read(json!({})), Ok((ResendPolicy::OnlyNew, None)));
    let cooldown = |days| json!({"resendPolicy": "cooldown", "resendCooldownDays": days});
    assert_eq!(read(cooldown(json!(1))), Ok((ResendPolicy::Cooldown, Some(1))));
    assert_eq!(read(cooldown(json!(3650))), Ok((ResendPolicy::Cooldown, Some(3650))));
    assert_eq!(read(cooldown(json!(null))), Ok((ResendPolicy::Cooldown, None)));
    let bounds = "resendCooldownDays must be between 1 and 3650";
    for days in [0, 3651] {
        assert_eq!(read(cooldown(json!(days))), Err(vec![bounds.to_owned()]));
    }
    assert_eq!(
        read(json!({"resendPolicy": "all"})),
        Err(vec!["resendPolicy must be one of: only_new, everyone, cooldown".to_owned()])
    );
}

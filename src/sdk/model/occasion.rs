//! Whether an in-app message suits the app, the time, and what the person saw of it before.

use campaigns::model::settings::channel_config::{
    ChannelConfig, DisplayFrequency, InAppTriggerKind, Platform,
};
use kernel::{Timestamp, time::HOUR};

/// The app that requests messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    pub platform: Platform,
    pub id: Option<String>,
    /// What just happened in the app; all messages match without it.
    pub occasion: Option<Occasion>,
}

/// Something that just happened in an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occasion {
    pub kind: InAppTriggerKind,
    /// The name of the event; any event matches without it.
    pub event_name: Option<String>,
}

/// Whether a message is for this app, at this time, on this occasion. Apps check conditions on properties,
/// since only they know the values.
pub fn suits(config: &ChannelConfig, app: &App, now: Timestamp) -> bool {
    let is_ahead = config.start_at.is_some_and(|start| now < start);
    let is_over = config.end_at.is_some_and(|end| now > end);
    let on_platform =
        config.platforms.as_ref().is_none_or(|platforms| platforms.contains(&app.platform));
    let in_app = app.platform != Platform::Web
        || config
            .web_app_ids
            .as_ref()
            .is_none_or(|ids| app.id.as_ref().is_some_and(|id| ids.contains(id)));
    !is_ahead
        && !is_over
        && on_platform
        && in_app
        && app.occasion.as_ref().is_none_or(|occasion| sets_off(config, occasion))
}

fn sets_off(config: &ChannelConfig, occasion: &Occasion) -> bool {
    let triggers = config.triggers.as_deref().unwrap_or_default();
    if triggers.is_empty() {
        return occasion.kind == InAppTriggerKind::SessionStart;
    }
    triggers.iter().any(|trigger| {
        let is_named = occasion.event_name.is_none() || occasion.event_name == trigger.event_name;
        trigger.kind == occasion.kind && (trigger.kind != InAppTriggerKind::Event || is_named)
    })
}

/// How often and when a person saw a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DisplayHistory {
    pub displays: u32,
    pub last_at: Option<Timestamp>,
}

/// Whether the person may see the message again.
pub fn may_display(
    frequency: Option<&DisplayFrequency>,
    shown: DisplayHistory,
    now: Timestamp,
) -> bool {
    let Some(frequency) = frequency else { return true };
    let is_used_up = frequency.max_per_user.is_some_and(|most| shown.displays >= most);
    let is_too_soon = frequency
        .min_hours_between
        .zip(shown.last_at)
        .is_some_and(|(hours, last)| now.duration_since(last) < HOUR * hours);
    !is_used_up && !is_too_soon
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config(fields: Value) -> ChannelConfig {
        serde_json::from_value(fields).unwrap()
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn app(platform: Platform, id: Option<&str>) -> App {
        App { platform, id: id.map(str::to_owned), occasion: None }
    }

    #[test]
    fn a_message_is_limited_to_its_time_platforms_and_web_apps() {
        let web = app(Platform::Web, Some("shop"));
        for (fields, asks, now, suited) in [
            (json!({}), &web, 0, true),
            (json!({"startAt": "1970-01-01T00:00:05Z"}), &web, 4_999, false),
            (json!({"startAt": "1970-01-01T00:00:05Z"}), &web, 5_000, true),
            (json!({"endAt": "1970-01-01T00:00:05Z"}), &web, 5_000, true),
            (json!({"endAt": "1970-01-01T00:00:05Z"}), &web, 5_001, false),
            (json!({"platforms": ["ios"]}), &web, 0, false),
            (json!({"platforms": ["ios", "web"]}), &web, 0, true),
            (json!({"webAppIds": ["blog"]}), &web, 0, false),
            (json!({"webAppIds": ["blog", "shop"]}), &web, 0, true),
            (json!({"webAppIds": ["blog"]}), &app(Platform::Web, None), 0, false),
            (json!({"webAppIds": ["blog"]}), &app(Platform::Ios, None), 0, true),
        ] {
            assert_eq!(suits(&config(fields.clone()), asks, at(now)), suited, "{fields} {asks:?}");
        }
    }

    #[test]
    fn an_occasion_selects_messages_with_its_trigger() {
        let on =
            |kind, event: Option<&str>| Occasion { kind, event_name: event.map(str::to_owned) };
        let (start, event, page) =
            (InAppTriggerKind::SessionStart, InAppTriggerKind::Event, InAppTriggerKind::PageView);
        let bought = json!({"triggers": [{"type": "event", "eventName": "Bought"}]});
        let both =
            json!({"triggers": [{"type": "page_view"}, {"type": "event", "eventName": "Bought"}]});
        for (fields, occasion, suited) in [
            (json!({}), on(start, None), true),
            (json!({"triggers": []}), on(start, None), true),
            (json!({}), on(page, None), false),
            (bought.clone(), on(start, None), false),
            (bought.clone(), on(event, Some("Bought")), true),
            (bought.clone(), on(event, Some("Sold")), false),
            (bought, on(event, None), true),
            (both.clone(), on(page, None), true),
            (both.clone(), on(page, Some("Home")), true),
            (both, on(start, None), false),
        ] {
            let web = App { occasion: Some(occasion.clone()), ..app(Platform::Web, None) };
            assert_eq!(
                suits(&config(fields.clone()), &web, at(0)),
                suited,
                "{fields} {occasion:?}"
            );
        }
    }

    #[test]
    fn display_frequency_limits_count_and_interval() {
        let frequency =
            |most, hours| DisplayFrequency { max_per_user: most, min_hours_between: hours };
        let shown =
            |displays, last: Option<i64>| DisplayHistory { displays, last_at: last.map(at) };
        let hour = kernel::time::millis(HOUR);
        for (frequency, shown, now, may) in [
            (frequency(None, None), shown(9_999, Some(0)), 0, true),
            (frequency(Some(2), None), shown(1, Some(0)), 0, true),
            (frequency(Some(2), None), shown(2, Some(0)), i64::MAX / 2, false),
            (frequency(None, Some(2)), shown(0, None), 0, true),
            (frequency(None, Some(2)), shown(1, Some(0)), 2 * hour - 1, false),
            (frequency(None, Some(2)), shown(1, Some(0)), 2 * hour, true),
            (frequency(Some(1), Some(0)), shown(0, Some(0)), 0, true),
        ] {
            assert_eq!(
                may_display(Some(&frequency), shown, at(now)),
                may,
                "{frequency:?} {shown:?}"
            );
        }
        assert!(may_display(None, shown(9, Some(0)), at(0)));
    }
}

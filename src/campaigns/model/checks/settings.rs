//! Checks of a campaign's settings.

use kernel::{Channel, ChannelSet, Timestamp, zone::Zone};
use statistics::normal::quantile;

use super::{Check, CheckId};
use crate::model::{
    CampaignChannel, Definition, SendType,
    settings::{
        ab_test::AbTestConfig,
        limits::{SendRateLimit, SendVolumeLimit},
        occurrence::next_occurrence,
        resend::ResendPolicy,
    },
    variant::Variant,
};

/// Precedes the name of a channel without a provider.
const NO_PROVIDER: &str = "no provider is set for channel";
/// Assumed rate of opens, clicks or conversions.
const BASE_RATE: f64 = 0.2;
/// Difference to detect, in absolute terms: from 20 % to 25 %.
const DIFFERENCE: f64 = 0.05;
/// Probability with which the difference is to be detected.
const POWER: f64 = 0.8;
/// Confidence if no A/B test sets another.
const CONFIDENCE: f64 = 0.95;

/// The checks of a campaign's settings that need nothing but the campaign.
pub fn settings(definition: &Definition, workspace_zone: Zone, now: Timestamp) -> Vec<Check> {
    let mut checks =
        vec![control_vs_rate_limit(definition), schedule(definition, workspace_zone, now)];
    checks.extend(resend_cooldown(definition));
    checks
}

fn resend_cooldown(definition: &Definition) -> Option<Check> {
    let id = CheckId::ResendCooldown;
    if definition.resend_policy != ResendPolicy::Cooldown {
        return None;
    }
    Some(match definition.resend_cooldown_days {
        Some(days) => Check::pass(id, format!("sent again after {days} days at the earliest")),
        None => Check::fail(id, "resendCooldownDays is required for the resendPolicy cooldown"),
    })
}

/// Whether the channel of every message has a provider.
pub fn sender(definition: &Definition, enabled: ChannelSet) -> Check {
    let id = CheckId::SenderConfigured;
    match (lacking_provider(definition, enabled), definition.channel) {
        (Some(channel), _) => Check::fail(id, no_provider(channel)),
        (None, CampaignChannel::InApp) => {
            Check::pass(id, "apps ask for in-app messages themselves")
        }
        (None, CampaignChannel::Webhook) => {
            Check::pass(id, "webhooks are called without a provider")
        }
        (None, _) => Check::pass(id, "a provider is set"),
    }
}

/// The first channel of a campaign's messages without a provider.
pub fn lacking_provider(definition: &Definition, enabled: ChannelSet) -> Option<Channel> {
    let own = definition.channel.delivers();
    let chosen = definition.variants.iter().filter_map(|variant| {
        let message = variant.message.as_ref().filter(|_| !variant.is_control())?;
        message.content.channel().delivers()
    });
    own.into_iter()
        .chain(chosen.filter(|_| definition.channel == CampaignChannel::AiOptimized))
        .find(|channel| !enabled.contains(*channel))
}

/// Why messages of a channel cannot be sent.
pub fn no_provider(channel: Channel) -> String {
    format!("{NO_PROVIDER} {channel}")
}

/// A control group does not wait for messages, so limits that delay messages make the groups incomparable.
fn control_vs_rate_limit(definition: &Definition) -> Check {
    let id = CheckId::ControlVsRateLimit;
    if !definition.variants.iter().any(Variant::is_control) {
        return Check::pass(id, "there is no control group");
    }
    let rate = definition.send_rate_limit.as_ref().and_then(SendRateLimit::max_per_minute);
    let volume = definition.send_volume_limit.as_ref().and_then(SendVolumeLimit::max_sends);
    match (rate, volume) {
        (None, None) => Check::pass(id, "nothing holds messages back from the others"),
        (Some(rate), _) => Check::warn(
            id,
            format!(
                "messages leave at {rate} a minute while the control group waits for none: compare the \
                 two only when all have left"
            ),
        ),
        (None, Some(volume)) => Check::warn(
            id,
            format!(
                "at most {volume} messages leave while the control group is of the whole audience: its \
                 share will be greater than its weight"
            ),
        ),
    }
}

fn schedule(definition: &Definition, workspace_zone: Zone, now: Timestamp) -> Check {
    let id = CheckId::ScheduleValid;
    if definition.channel == CampaignChannel::InApp {
        return in_app(definition, now);
    }
    match definition.send_type {
        SendType::Immediate => Check::pass(id, "it goes out when it is launched"),
        SendType::Intelligent => Check::pass(id, "it goes out to each at their hour"),
        SendType::AiOptimized => Check::pass(id, "it goes out as learning decides"),
        SendType::Scheduled => match definition.scheduled_at {
            None => Check::fail(id, "scheduledAt is required for the sendType scheduled"),
            Some(at) if at <= now => {
                Check::warn(id, format!("{at} has passed: it goes out when it is launched"))
            }
            Some(at) => Check::pass(id, format!("it goes out at {at}")),
        },
        SendType::Triggered => match &definition.trigger_config {
            None => Check::fail(id, "triggerConfig is required for the sendType triggered"),
            Some(trigger) => {
                Check::pass(id, format!("it waits for the event {}", trigger.event_name))
            }
        },
        SendType::Recurring => match &definition.recurring_schedule {
            None => Check::fail(id, "recurringSchedule is required for the sendType recurring"),
            Some(schedule) => match next_occurrence(schedule, workspace_zone, now, 0) {
                None => Check::fail(id, "recurringSchedule has no occurrence to come"),
                Some(at) => Check::pass(id, format!("it goes out first at {at}")),
            },
        },
    }
}

fn in_app(definition: &Definition, now: Timestamp) -> Check {
    let id = CheckId::ScheduleValid;
    let end = definition.channel_config.as_ref().and_then(|config| config.end_at);
    match end.filter(|end| *end <= now) {
        Some(end) => Check::fail(
            id,
            format!("channelConfig.endAt {end} has passed: no profile would see it"),
        ),
        None => Check::pass(id, "it is shown from its launch on"),
    }
}

/// Recipients that each of two variants needs for detecting a difference from 20 % to 25 % with a power of 80
/// % by a two-sided test at this confidence: Fleiss, Levin and Paik, Statistical Methods for Rates and
/// Proportions (3rd ed., 2003), equation 4.14 (the normal approximation, without correction).
pub fn sample_needed(confidence: f64) -> u64 {
    let (p1, p2) = (BASE_RATE, BASE_RATE + DIFFERENCE);
    let mean = f64::midpoint(p1, p2);
    let alike = quantile(f64::midpoint(1.0, confidence)) * (2.0 * mean * (1.0 - mean)).sqrt();
    let unlike = quantile(POWER) * (p1 * (1.0 - p1) + p2 * (1.0 - p2)).sqrt();
    let needed = ((alike + unlike) / DIFFERENCE).powi(2).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousands")]
    let needed = needed as u64;
    needed
}

/// Whether the smallest of the compared groups is large enough.
pub fn sample_size(definition: &Definition, smallest: Option<u64>) -> Check {
    let id = CheckId::SampleSize;
    let Some(smallest) = smallest.filter(|_| definition.variants.len() > 1) else {
        return Check::pass(id, "there is nothing to compare");
    };
    let trial = definition.ab_test_config.as_ref().filter(|config| config.is_enabled());
    let confidence = trial.map_or(CONFIDENCE, AbTestConfig::confidence_level);
    let asked = trial.map_or(0, |trial| u64::from(trial.min_sample_per_variant()));
    let needed = sample_needed(confidence).max(asked);
    let message = format!(
        "the smallest part gets {smallest} recipients; to distinguish {:.0} % from {:.0} % with {:.0} % power at {} % \
         confidence each needs {needed}",
        BASE_RATE * 100.0,
        (BASE_RATE + DIFFERENCE) * 100.0,
        POWER * 100.0,
        // As it was requested: 99.9, and not 99.90000000000001.
        (confidence * 1e6).round() / 1e4,
    );
    if smallest >= needed { Check::pass(id, message) } else { Check::warn(id, message) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::checks::CheckStatus;

    fn definition(fields: &Value) -> Definition {
        let variant = |id: &str| json!({"id": id, "name": id, "weight": 50});
        let mut body =
            json!({"name": "A", "channel": "email", "variants": [variant("a"), variant("b")]});
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        let read = |fields: &mut kernel::fields::Fields<'_>| Definition::read(fields, "UTC");
        kernel::fields::read_object_by(body.as_object().unwrap(), read)
            .unwrap_or_else(|errors| panic!("{errors:?}"))
    }

    /// Values of R's `power.prop.test(p1 = .2, p2 = .25, power = .8)`, n = 1093.739, and at other levels.
    #[test]
    fn the_required_sample_matches_tables() {
        assert_eq!(sample_needed(0.95), 1094);
        assert_eq!(sample_needed(0.99), 1628);
        assert_eq!(sample_needed(0.90), 862);
    }

    #[test]
    fn the_smallest_group_is_compared_with_the_required_sample() {
        let status = |fields: Value, smallest| sample_size(&definition(&fields), smallest).status;
        assert_eq!(status(json!({}), Some(1094)), CheckStatus::Pass);
        assert_eq!(status(json!({}), Some(1093)), CheckStatus::Warn);
        assert_eq!(status(json!({}), None), CheckStatus::Pass);
        let more = json!({"abTestConfig": {"minSamplePerVariant": 5000}});
        assert_eq!(status(more.clone(), Some(4999)), CheckStatus::Warn);
        assert_eq!(status(more, Some(5000)), CheckStatus::Pass);
        let sure = json!({"abTestConfig": {"confidenceLevel": 0.999}});
        let check = sample_size(&definition(&sure), Some(1094));
        assert_eq!(check.status, CheckStatus::Warn);
        assert!(check.message.contains("99.9 % confidence"), "{}", check.message);
        let alone = json!({"variants": [{"id": "a", "name": "a", "weight": 100}]});
        assert_eq!(status(alone, Some(1)), CheckStatus::Pass);
    }

    #[test]
    fn limits_with_a_control_group_are_a_warning() {
        let control = json!([
            {"id": "a", "name": "a", "weight": 90},
            {"id": "c", "name": "c", "weight": 10, "isControlGroup": true},
        ]);
        let table = [
            (json!({"sendRateLimit": {"maxPerMinute": 10}}), CheckStatus::Pass),
            (json!({"variants": control}), CheckStatus::Pass),
            (
                json!({"variants": control, "sendRateLimit": {"maxPerMinute": 10}}),
                CheckStatus::Warn,
            ),
            (json!({"variants": control, "sendVolumeLimit": {"maxSends": 10}}), CheckStatus::Warn),
            (json!({"variants": control, "sendRateLimit": {"enabled": false}}), CheckStatus::Pass),
        ];
        for (fields, expected) in table {
            assert_eq!(control_vs_rate_limit(&definition(&fields)).status, expected, "{fields}");
        }
    }

    #[test]
    fn every_send_type_requires_its_schedule_or_trigger() {
        let now = Timestamp::parse("2026-03-01T12:00:00Z").unwrap();
        let table = [
            (json!({}), CheckStatus::Pass),
            (json!({"sendType": "intelligent"}), CheckStatus::Pass),
            (json!({"sendType": "scheduled"}), CheckStatus::Fail),
            (
                json!({"sendType": "scheduled", "scheduledAt": "2026-03-01T12:00:01Z"}),
                CheckStatus::Pass,
            ),
            (
                json!({"sendType": "scheduled", "scheduledAt": "2026-03-01T12:00:00Z"}),
                CheckStatus::Warn,
            ),
            (json!({"sendType": "triggered"}), CheckStatus::Fail),
            (
                json!({"sendType": "triggered", "triggerConfig": {"eventName": "A"}}),
                CheckStatus::Pass,
            ),
            (json!({"sendType": "recurring"}), CheckStatus::Fail),
            (
                json!({"sendType": "recurring", "recurringSchedule": {"frequency": "daily"}}),
                CheckStatus::Pass,
            ),
            (
                json!({"sendType": "recurring", "recurringSchedule": {"frequency": "daily", "endDate": "2026-02-28"}}),
                CheckStatus::Fail,
            ),
            (json!({"channel": "in_app", "variants": []}), CheckStatus::Pass),
            (
                json!({"channel": "in_app", "variants": [], "channelConfig": {"endAt": "2026-02-28"}}),
                CheckStatus::Fail,
            ),
        ];
        for (fields, expected) in table {
            assert_eq!(schedule(&definition(&fields), Zone::UTC, now).status, expected, "{fields}");
        }
    }

    #[test]
    fn only_channels_that_need_a_provider_lack_one() {
        for (name, channel) in CampaignChannel::NAMED {
            let mut fields = json!({"channel": name});
            if *channel == CampaignChannel::InApp {
                fields["variants"] = json!([]);
            }
            let definition = definition(&fields);
            let check = |enabled| sender(&definition, enabled).status;
            let needs_one = channel.delivers().is_some();
            let expected = if needs_one { CheckStatus::Fail } else { CheckStatus::Pass };
            assert_eq!(check(ChannelSet::default()), expected, "{name}");
            assert_eq!(check(Channel::ALL.into_iter().collect()), CheckStatus::Pass, "{name}");
        }
        let email = definition(&json!({}));
        let check = sender(&email, [Channel::Sms].into_iter().collect());
        assert_eq!(check.message, "no provider is set for channel email");
    }

    /// One variant may be an email and another a push: both channels need a provider.
    #[test]
    fn every_channel_of_an_ai_campaign_needs_a_provider() {
        let variant = |id: &str, message: Value| json!({"id": id, "name": id, "weight": 50, "message": message});
        let email = variant("a", json!({"subject": "Hi", "html": "<p>Hi</p>"}));
        let push = variant("b", json!({"channel": "push", "body": "Hi"}));
        let learning = definition(&json!({"channel": "ai_optimized", "variants": [email, push]}));
        let lacking =
            |enabled: &[Channel]| lacking_provider(&learning, enabled.iter().copied().collect());
        assert_eq!(lacking(&[]), Some(Channel::Email));
        assert_eq!(lacking(&[Channel::Email]), Some(Channel::Push));
        assert_eq!(lacking(&[Channel::Email, Channel::Push]), None);
    }
}

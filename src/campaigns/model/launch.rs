//! Launch preview: recipients, exclusions, variants and schedule, computed without sending.

use audience::model::Measured;
use kernel::{CampaignId, Timestamp, zone::Zone};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    CampaignChannel, Definition, SendType, Variant,
    checks::Check,
    estimate::share_out,
    settings::{limits::SendRateLimit, occurrence::next_occurrence},
};

/// Minutes of an hour.
const HOUR_MINUTES: u64 = 60;

/// Reachable recipients, by the outcome of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placed {
    /// Excluded by the resend policy: they had the campaign before.
    pub already_received: u64,
    /// In quiet time when their message is due.
    pub quiet: u64,
    /// Excluded by a frequency cap.
    pub capped: u64,
    pub control: u64,
    /// Messages, by the index of their variant.
    pub sends: Vec<u64>,
    /// Messages the volume limit allows; none: no limit.
    pub volume: Option<u64>,
}

/// What launching a campaign would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaunchPreview {
    pub campaign_id: CampaignId,
    /// Whether its status allows a launch and no check fails.
    pub can_launch: bool,
    /// The recipients a launch would reach.
    pub audience: LaunchAudience,
    pub schedule: LaunchSchedule,
    pub checks: Vec<Check>,
    /// When the preview was computed.
    pub generated_at: Timestamp,
}

/// The recipients a launch would reach: `matched` is `reachable` and all of `excluded` together, `reachable` is
/// `control` and `estimatedSends` together, and so is the sum of `perVariant`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaunchAudience {
    /// Active profiles that match the targeting.
    pub matched: u64,
    /// Recipients who get the message at once or are in the control group.
    pub reachable: u64,
    /// The excluded profiles, each under one reason.
    pub excluded: LaunchExcluded,
    /// The control group, who get no message.
    pub control: u64,
    pub estimated_sends: u64,
    /// Number of recipients of each variant.
    pub per_variant: Vec<VariantEstimate>,
}

/// Why a launch does not reach a profile at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaunchExcluded {
    /// There is no address on the channel.
    pub no_address: u64,
    pub unsubscribed: u64,
    /// The address is suppressed.
    pub suppressed: u64,
    /// The address is invalid, or bounced.
    pub invalid_address: u64,
    /// A frequency cap is reached.
    pub frequency_cap: u64,
    /// In quiet time when the campaign goes out: reached when it ends, or not at all if
    /// `quietTimeOverride.behavior` is `skip`.
    pub quiet_hours_deferred: u64,
    /// They got this campaign before, and `resendPolicy` excludes them.
    pub already_received: u64,
    /// The volume limit is used up.
    pub volume_limit: u64,
}

impl LaunchExcluded {
    pub const fn total(&self) -> u64 {
        self.no_address
            + self.unsubscribed
            + self.suppressed
            + self.invalid_address
            + self.frequency_cap
            + self.quiet_hours_deferred
            + self.already_received
            + self.volume_limit
    }
}

/// Recipients of a variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VariantEstimate {
    pub variant_id: String,
    /// The name of the variant.
    pub name: String,
    pub estimated: u64,
}

/// When a launch would send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaunchSchedule {
    /// When the first message is sent; null if that depends on an event or no time is set.
    pub first_send_at: Option<Timestamp>,
    /// Minutes until the last message is sent, as far as the campaign's own settings delay messages.
    pub estimated_duration_minutes: u64,
    /// The time zone of the schedule.
    #[schema(value_type = String)]
    pub timezone: Zone,
}

/// When the campaign would go out first, if it were launched now.
pub fn first_send_at(
    definition: &Definition,
    workspace_zone: Zone,
    now: Timestamp,
) -> Option<Timestamp> {
    if definition.channel == CampaignChannel::InApp {
        let start = definition.channel_config.as_ref().and_then(|config| config.start_at);
        return Some(start.map_or(now, |start| start.max(now)));
    }
    match definition.send_type {
        SendType::Immediate | SendType::Intelligent | SendType::AiOptimized => Some(now),
        SendType::Scheduled => definition.scheduled_at.map(|at| at.max(now)),
        SendType::Triggered => None,
        SendType::Recurring => {
            let schedule = definition.recurring_schedule.as_ref()?;
            next_occurrence(schedule, workspace_zone, now, 0)
        }
    }
}

/// The time zone of the campaign's schedule.
pub fn zone_of(definition: &Definition, workspace_zone: Zone) -> Zone {
    let recurring = definition.recurring_schedule.as_ref().and_then(|schedule| schedule.timezone);
    let recurring = recurring.filter(|_| definition.send_type == SendType::Recurring);
    recurring.or(definition.scheduled_timezone).unwrap_or(workspace_zone)
}

/// An audience, divided into variants and exclusions as a launch would.
pub fn divide(definition: &Definition, measured: &Measured, placed: &Placed) -> LaunchAudience {
    let wanted: u64 = placed.sends.iter().sum();
    let estimated_sends = placed.volume.map_or(wanted, |volume| wanted.min(volume));
    // The limit excludes recipients at random, so each variant loses in proportion to its size.
    let sends = share_out(&placed.sends, estimated_sends);
    let estimate = |(variant, sends): (&Variant, u64)| VariantEstimate {
        variant_id: variant.id.clone(),
        name: variant.name.clone(),
        estimated: if variant.is_control() { placed.control } else { sends },
    };
    LaunchAudience {
        matched: measured.matched,
        reachable: placed.control + estimated_sends,
        excluded: LaunchExcluded {
            no_address: measured.excluded.no_address,
            unsubscribed: measured.excluded.unsubscribed,
            suppressed: measured.excluded.suppressed,
            invalid_address: measured.excluded.invalid_address,
            frequency_cap: placed.capped,
            quiet_hours_deferred: placed.quiet,
            already_received: placed.already_received,
            volume_limit: wanted - estimated_sends,
        },
        control: placed.control,
        estimated_sends,
        per_variant: definition.variants.iter().zip(sends).map(estimate).collect(),
    }
}

/// Minutes until the last message is sent: by the rate limit, and by the window of send-time optimisation.
pub fn duration_minutes(definition: &Definition, sends: u64) -> u64 {
    let rate = definition.send_rate_limit.as_ref().and_then(SendRateLimit::max_per_minute);
    let by_rate = rate.map_or(0, |rate| sends.div_ceil(u64::from(rate)));
    let is_spread = definition.send_type == SendType::Intelligent && sends > 0;
    let window = definition.sto_config.clone().unwrap_or_default().window_hours();
    by_rate.max(if is_spread { u64::from(window) * HOUR_MINUTES } else { 0 })
}

/// The smallest group compared with others: of the recipients in an A/B test, if there is one.
pub fn smallest_part(definition: &Definition, audience: &LaunchAudience) -> Option<u64> {
    let smallest = audience.per_variant.iter().map(|estimate| estimate.estimated).min()?;
    let trial = definition.ab_test_config.as_ref().filter(|config| config.is_enabled());
    let Some(trial) = trial else { return Some(smallest) };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of an audience"
    )]
    Some((smallest as f64 * trial.test_percentage() / 100.0).floor() as u64)
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "values a test has written itself")]
mod tests {
    use audience::model::Excluded;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn definition(fields: Value) -> Definition {
        let mut body = json!({
            "name": "A", "channel": "webhook",
            "variants": [
                {"id": "control", "name": "Control", "weight": 10, "isControlGroup": true},
                {"id": "a", "name": "A", "weight": 45},
                {"id": "b", "name": "B", "weight": 45},
            ],
        });
        for (name, value) in fields.as_object().unwrap() {
            body[name] = value.clone();
        }
        let read =
            |fields: &mut kernel::fields::Fields<'_>| Definition::read(fields, "Europe/Berlin");
        kernel::fields::read_object_by(body.as_object().unwrap(), read)
            .unwrap_or_else(|errors| panic!("{errors:?}"))
    }

    fn measured(reachable: u64) -> Measured {
        let excluded =
            Excluded { no_address: 4, invalid_address: 3, unsubscribed: 2, suppressed: 1 };
        Measured { matched: reachable + excluded.total(), reachable, excluded }
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn estimates(audience: &LaunchAudience) -> Vec<u64> {
        audience.per_variant.iter().map(|estimate| estimate.estimated).collect()
    }

    fn placed(volume: Option<u64>) -> Placed {
        Placed { quiet: 10, control: 10, sends: vec![0, 60, 20], volume, ..Placed::default() }
    }

    #[test]
    fn placed_recipients_add_up_to_reachable_ones() {
        let audience = divide(&definition(json!({})), &measured(100), &placed(None));
        assert_eq!((audience.matched, audience.reachable), (110, 90));
        assert_eq!((audience.control, audience.estimated_sends), (10, 80));
        assert_eq!(estimates(&audience), [10, 60, 20]);
        assert_eq!(audience.matched, audience.reachable + audience.excluded.total());
    }

    #[test]
    fn a_volume_limit_excludes_messages_but_no_control_group_members() {
        let audience = divide(&definition(json!({})), &measured(100), &placed(Some(40)));
        assert_eq!((audience.control, audience.estimated_sends), (10, 40));
        assert_eq!(audience.excluded.volume_limit, 40);
        assert_eq!(estimates(&audience), [10, 30, 10]);
        assert_eq!(audience.matched, audience.reachable + audience.excluded.total());
    }

    #[test]
    fn the_first_message_follows_the_schedule_or_trigger() {
        let now = at("2026-03-01T12:00:00Z");
        let scheduled = |when: &str| json!({"sendType": "scheduled", "scheduledAt": when});
        let recurring =
            json!({"sendType": "recurring", "recurringSchedule": {"frequency": "daily"}});
        let table = [
            (json!({}), Some("2026-03-01T12:00:00.000Z")),
            (json!({"sendType": "intelligent"}), Some("2026-03-01T12:00:00.000Z")),
            (scheduled("2026-03-02T09:00:00"), Some("2026-03-02T08:00:00.000Z")),
            (scheduled("2026-02-02T09:00:00Z"), Some("2026-03-01T12:00:00.000Z")),
            (json!({"sendType": "scheduled"}), None),
            (json!({"sendType": "triggered", "triggerConfig": {"eventName": "A"}}), None),
            (recurring, Some("2026-03-02T08:00:00.000Z")),
        ];
        let berlin = "Europe/Berlin".parse().unwrap();
        for (fields, expected) in table {
            let found = first_send_at(&definition(fields.clone()), berlin, now);
            assert_eq!(found.map(|at| at.to_string()).as_deref(), expected, "{fields}");
        }
    }

    #[test]
    fn the_duration_follows_from_limits_and_windows() {
        let table = [
            (json!({}), 1000, 0),
            (json!({"sendRateLimit": {"maxPerMinute": 100}}), 1000, 10),
            (json!({"sendRateLimit": {"maxPerMinute": 100}}), 1001, 11),
            (json!({"sendRateLimit": {"maxPerMinute": 100, "enabled": false}}), 1001, 0),
            (json!({"sendRateLimit": {"maxPerMinute": 100}}), 0, 0),
            (json!({"sendType": "intelligent"}), 10, 1440),
            (json!({"sendType": "intelligent", "stoConfig": {"windowHours": 6}}), 10, 360),
        ];
        for (fields, sends, expected) in table {
            assert_eq!(duration_minutes(&definition(fields.clone()), sends), expected, "{fields}");
        }
    }

    #[test]
    fn an_ab_test_compares_only_its_participants() {
        let many = Placed { control: 100, sends: vec![0, 450, 450], ..Placed::default() };
        let audience = divide(&definition(json!({})), &measured(1000), &many);
        assert_eq!(smallest_part(&definition(json!({})), &audience), Some(100));
        let trial = definition(json!({"abTestConfig": {"testPercentage": 25}}));
        assert_eq!(smallest_part(&trial, &audience), Some(25));
    }

    proptest! {
        #[test]
        fn everything_adds_up(
            sends in prop::collection::vec(0_u64..100_000, 2), control in 0_u64..1000,
            quiet in 0_u64..1000, volume in prop::option::of(1_u64..200_000),
        ) {
            let reachable = sends.iter().sum::<u64>() + control + quiet;
            let sends = [&[0], sends.as_slice()].concat();
            let placed = Placed { quiet, control, sends, volume, ..Placed::default() };
            let audience = divide(&definition(json!({})), &measured(reachable), &placed);
            prop_assert_eq!(audience.matched, audience.reachable + audience.excluded.total());
            prop_assert_eq!(audience.reachable, audience.control + audience.estimated_sends);
            prop_assert_eq!(estimates(&audience).iter().sum::<u64>(), audience.reachable);
        }
    }
}

//! The writable fields of a campaign except its status. The serialized form is that of the API; it is also
//! what is stored, kept as a version and held as a pending draft.

use std::collections::HashSet;

use audience::model::Targeting;
pub use kernel::schema::{NAME_CHARS_MAX, TAG_CHARS_MAX};
use kernel::{
    ListId, NotATimestamp, Timestamp,
    fields::{Field, Fields, Presence, Required},
    quiet::QuietTimeOverride,
    schema::Tag,
    zone::Zone,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;
use utoipa::ToSchema;

use super::{
    CampaignChannel, SendType,
    settings::{
        ab_test::AbTestConfig,
        channel_config::ChannelConfig,
        conversion::ConversionTracking,
        limits::{SendRateLimit, SendVolumeLimit},
        recurring::RecurringSchedule,
        resend::{self, ResendPolicy},
        schedule,
        sto::StoConfig,
        trigger::TriggerConfig,
        utm::UtmSettings,
    },
    variant::{self, Variant},
};

pub const DESCRIPTION_CHARS_MAX: usize = 1000;
pub const TAGS_MAX: usize = 50;
const SENDER_CHARS_MAX: usize = 255;

/// The writable fields of a campaign. Large optional parts are boxed, so that moving a campaign is cheap.
// `remote` generates plain functions for the two implementations below.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", remote = "Self")]
pub struct Definition {
    /// 1 to 255 characters.
    #[schema(value_type = kernel::schema::Name)]
    pub name: String,
    /// At most 1000 characters.
    #[schema(max_length = 1000)]
    pub description: Option<String>,
    /// The channel of its messages.
    pub channel: CampaignChannel,
    /// 1 to 8 variants; an `in_app` campaign may have none.
    #[schema(max_items = 8)]
    pub variants: Vec<Variant>,
    /// The audience; without it everyone who can be reached.
    pub targeting: Option<Targeting>,
    /// How the campaign is started.
    pub send_type: SendType,
    #[schema(value_type = Option<kernel::schema::Moment>)]
    pub scheduled_at: Option<Timestamp>,
    /// The IANA zone for a `scheduledAt` without an offset.
    #[schema(value_type = Option<String>)]
    pub scheduled_timezone: Option<Zone>,
    /// The event, for `triggered`.
    pub trigger_config: Option<Box<TriggerConfig>>,
    /// The schedule, for `recurring`.
    pub recurring_schedule: Option<Box<RecurringSchedule>>,
    /// The conversions that are tracked.
    pub conversion_tracking: Option<Box<ConversionTracking>>,
    /// The saved sender, for email.
    #[schema(min_length = 1, max_length = 255)]
    pub email_config_id: Option<String>,
    /// The subscription list it is sent under.
    pub subscription_category_id: Option<ListId>,
    /// A limit on the number of messages.
    pub send_volume_limit: Option<SendVolumeLimit>,
    /// A limit on the sending rate.
    pub send_rate_limit: Option<SendRateLimit>,
    /// Quiet hours of this campaign, instead of the workspace's.
    pub quiet_time_override: Option<QuietTimeOverride>,
    /// The UTM parameters of its links.
    pub utm_settings: Option<Box<UtmSettings>>,
    /// Settings of the channel.
    pub channel_config: Option<Box<ChannelConfig>>,
    /// Settings of send-time optimisation.
    pub sto_config: Option<StoConfig>,
    /// Settings of the A/B test.
    pub ab_test_config: Option<AbTestConfig>,
    /// The recipients when it is sent again.
    pub resend_policy: ResendPolicy,
    /// The window of the resend policy `cooldown`, in days.
    #[schema(minimum = 1, maximum = 3650)]
    pub resend_cooldown_days: Option<u32>,
    /// At most 50, each once.
    #[schema(value_type = Vec<Tag>, max_items = 50)]
    pub tags: Vec<String>,
    /// Whether frequency caps are ignored when it is sent again.
    pub ignore_touching_rules: bool,
}

impl Definition {
    /// The fields of a body that belong to the definition, without `status`.
    pub const FIELDS: &'static [&'static str] = &[
        "name",
        "description",
        "channel",
        "variants",
        "targeting",
        "sendType",
        "scheduledAt",
        "scheduledTimezone",
        "triggerConfig",
        "recurringSchedule",
        "conversionTracking",
        "emailConfigId",
        "subscriptionCategoryId",
        "sendVolumeLimit",
        "sendRateLimit",
        "quietTimeOverride",
        "utmSettings",
        "channelConfig",
        "stoConfig",
        "abTestConfig",
        "resendPolicy",
        "resendCooldownDays",
        "tags",
        "ignoreTouchingRules",
    ];

    /// Reads a whole definition: of a new body, or the result of a change. A `scheduledAt` without an offset
    /// is in `scheduledTimezone`, otherwise in the workspace's zone.
    pub fn read(body: &mut Fields<'_>, workspace_zone: &str) -> Self {
        let name = name(body.required("name"));
        let description = body.optional("description").text(0..=DESCRIPTION_CHARS_MAX);
        let channel = body.required("channel").one_of(CampaignChannel::NAMED);
        let variants = variant::list(body, channel);
        let workspace_zone = workspace_zone.parse().unwrap_or(Zone::UTC);
        let scheduled_timezone = body.optional("scheduledTimezone").parsed(Zone::UTC, Zone::parse);
        let scheduled_at = body.optional("scheduledAt").parsed(Timestamp::from_millis(0), |text| {
            schedule::resolve(text, scheduled_timezone, workspace_zone)
                .map_err(|wrong: NotATimestamp| wrong.to_string())
        });
        let zone = scheduled_timezone.unwrap_or(workspace_zone);
        let (resend_policy, resend_cooldown_days) = resend::read(body);
        Self {
            name,
            description,
            channel,
            variants,
            targeting: body.optional("targeting").object(),
            send_type: body.optional("sendType").one_of(SendType::NAMED).unwrap_or_default(),
            scheduled_at,
            scheduled_timezone,
            trigger_config: body.optional("triggerConfig").object().map(Box::new),
            recurring_schedule: body
                .optional("recurringSchedule")
                .object()
                .map(|it: RecurringSchedule| Box::new(it.in_zone(zone))),
            conversion_tracking: body.optional("conversionTracking").object().map(Box::new),
            email_config_id: body.optional("emailConfigId").text(1..=SENDER_CHARS_MAX),
            subscription_category_id: body
                .optional("subscriptionCategoryId")
                .parsed(ABSENT_LIST, |text| text.parse().map_err(|_| NO_SUCH_LIST.to_owned())),
            send_volume_limit: body.optional("sendVolumeLimit").object(),
            send_rate_limit: body.optional("sendRateLimit").object(),
            quiet_time_override: body.optional("quietTimeOverride").object(),
            utm_settings: body.optional("utmSettings").object().map(Box::new),
            channel_config: body
                .optional("channelConfig")
                .object_by(|fields| ChannelConfig::read(fields, channel))
                .map(Box::new),
            sto_config: body.optional("stoConfig").object(),
            ab_test_config: body.optional("abTestConfig").object(),
            resend_policy,
            resend_cooldown_days,
            tags: each_once(body.optional("tags").list(0..=TAGS_MAX, tag).unwrap_or_default()),
            ignore_touching_rules: body.optional("ignoreTouchingRules").bool().unwrap_or_default(),
        }
    }
}

impl Serialize for Definition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Definition {
    /// Reads a stored definition. The channel is read first, since it determines the shape of the messages.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut kept = Value::deserialize(deserializer)?;
        let channel = kept.get("channel").map(CampaignChannel::deserialize);
        if let (Some(channel), Some(variants)) = (channel, kept.get_mut("variants")) {
            variant::keep_shapes(variants, channel.map_err(D::Error::custom)?);
        }
        Self::deserialize(kept).map_err(D::Error::custom)
    }
}

/// The error for a list that does not exist or belongs to another workspace.
pub const NO_SUCH_LIST: &str = "must be the id of an active list";
/// Placeholder for a list that was refused.
const ABSENT_LIST: ListId = ListId::new(uuid::Uuid::nil());

/// A name is trimmed before it is measured and stored.
fn name<P: Presence>(field: Field<'_, P>) -> P::Out<String> {
    field.parsed(String::new(), |sent| {
        let name = sent.trim();
        match name.chars().count() {
            0 => Err("must not be empty".to_owned()),
            1..=NAME_CHARS_MAX => Ok(name.to_owned()),
            _ => Err(format!("must be at most {NAME_CHARS_MAX} characters")),
        }
    })
}

/// A tag is trimmed before it is measured and stored.
pub fn tag(item: Field<'_, Required>) -> String {
    item.as_type::<Tag>().parsed(String::new(), |sent| {
        let tag = sent.trim();
        match tag.chars().count() {
            0 => Err("must not be empty".to_owned()),
            1..=TAG_CHARS_MAX => Ok(tag.to_owned()),
            _ => Err(format!("must be at most {TAG_CHARS_MAX} characters")),
        }
    })
}

/// Tags without duplicates, in the order of their first occurrence.
pub fn each_once(tags: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    tags.into_iter().filter(|tag| seen.insert(tag.clone())).collect()
}

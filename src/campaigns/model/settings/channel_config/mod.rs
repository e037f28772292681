//! `channelConfig`: settings of a channel beyond the message.
//!
//! The fields depend on the channel; fields of other channels are unknown.

mod in_app;

use serde::{Deserialize, Serialize};
use utoipa::{
    PartialSchema as _, ToSchema,
    openapi::{KnownFormat, ObjectBuilder, OneOf, Ref, RefOr, Schema, SchemaFormat, Type},
};

pub use self::in_app::{DisplayFrequency, InAppTrigger, InAppTriggerKind, InAppType, TRIGGERS_MAX};
use content::template::{Form, Template};
use in_app::PRIORITY_MAX;
use kernel::{
    EmailAddress, NotAnEmailAddress, Timestamp,
    fields::{Field, Fields, Optional},
};

use super::whole;
use crate::model::CampaignChannel;

/// Characters of a reply address, which may be a template.
pub const REPLY_TO_CHARS_MAX: usize = 320;
pub const SENDER_ID_CHARS_MAX: usize = 255;
/// Longest time to live of an undelivered message, in seconds: four weeks, the maximum of FCM.
pub const TTL_SECONDS_MAX: u32 = 2_419_200;
/// Characters of a collapse key: the maximum of APNs in bytes.
pub const COLLAPSE_KEY_CHARS_MAX: usize = 64;
/// Characters of a deep link, which may be a template.
pub const DEEP_LINK_CHARS_MAX: usize = 2048;
pub const TIMEOUT_MS_MIN: u32 = 100;
pub const TIMEOUT_MS_MAX: u32 = 30_000;
pub const TIMEOUT_MS_DEFAULT: u32 = 10_000;
pub const ATTEMPTS_MAX: u32 = 10;
pub const ATTEMPTS_DEFAULT: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    Web,
    Ios,
    Android,
}

impl Platform {
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("web", Self::Web), ("ios", Self::Ios), ("android", Self::Android)];
}

/// The priority of a push notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PushPriority {
    #[default]
    High,
    /// Delivered when it suits the battery.
    Normal,
}

impl PushPriority {
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("high", Self::High), ("normal", Self::Normal)];
}

/// `priority`: an enumeration for push, a number for in-app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Priority {
    Push(PushPriority),
    /// Messages with a greater number come first.
    InApp(i32),
}

impl utoipa::PartialSchema for Priority {
    fn schema() -> RefOr<Schema> {
        let in_app = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int32)))
            .minimum(Some(0))
            .maximum(Some(PRIORITY_MAX))
            .description(Some("Messages with a greater number come first."));
        OneOf::builder()
            .item(Ref::from_schema_name(PushPriority::name()))
            .item(in_app)
            .description(Some("`priority`: an enumeration for push, a number for in-app."))
            .into()
    }
}

impl ToSchema for Priority {
    fn schemas(schemas: &mut kernel::schema::NamedSchemas) {
        schemas.push((PushPriority::name().into_owned(), PushPriority::schema()));
    }
}

/// Settings of a channel. Each field names its channels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelConfig {
    /// email: the reply address, or a Liquid template of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 320)]
    pub reply_to: Option<String>,
    /// email: whether opens are tracked; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track_opens: Option<bool>,
    /// email: whether clicks on links are tracked; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track_clicks: Option<bool>,
    /// email: whether the message has unsubscribe headers (RFC 8058); true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_unsubscribe: Option<bool>,
    /// sms, viber: the sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 255)]
    pub sender_id: Option<String>,
    /// sms, viber, push: time to live of an undelivered message, 0 to 2,419,200 seconds; push with 0 is
    /// delivered at once or never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 2_419_200)]
    pub ttl_seconds: Option<u32>,
    /// push: `high` (default) or `normal`; in_app: 0 to 1000, messages with a greater number come first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// push: a device shows only the latest of several messages with one key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 64)]
    pub collapse_key: Option<String>,
    /// push: the target of a tap; may be a Liquid template.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 2048)]
    pub deep_link: Option<String>,
    /// push, in_app: the device platforms; all by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 3)]
    pub platforms: Option<Vec<Platform>>,
    /// whatsapp: the sending number of the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 255)]
    pub phone_number_id: Option<String>,
    /// webhook: timeout, 100 to 30,000 ms; default 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 100, maximum = 30000)]
    pub timeout_ms: Option<u32>,
    /// webhook: attempts, 1 to 10; default 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 10)]
    pub max_attempts: Option<u32>,
    /// in_app: the layout; default `modal`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<InAppType>,
    /// in_app: what displays the message; default `session_start`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 10)]
    pub triggers: Option<Vec<InAppTrigger>>,
    /// in_app: how often one person sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_frequency: Option<DisplayFrequency>,
    /// in_app: not displayed before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<kernel::schema::Moment>)]
    pub start_at: Option<Timestamp>,
    /// in_app: not displayed after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<kernel::schema::Moment>)]
    pub end_at: Option<Timestamp>,
    /// in_app: the web apps; all by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<kernel::schema::NameOrId>>, min_items = 1, max_items = 50)]
    pub web_app_ids: Option<Vec<String>>,
}

impl ChannelConfig {
    /// Reads the fields of this channel.
    pub fn read(body: &mut Fields<'_>, channel: CampaignChannel) -> Self {
        match channel {
            CampaignChannel::Email => Self::email(body),
            CampaignChannel::Sms | CampaignChannel::Viber => Self::text_message(body),
            CampaignChannel::Push => Self::push(body),
            CampaignChannel::Whatsapp => Self::whatsapp(body),
            CampaignChannel::Webhook => Self::webhook(body),
            CampaignChannel::InApp => in_app::read(body),
            // The channel depends on the recipient, and each uses its defaults.
            CampaignChannel::AiOptimized => Self::default(),
        }
    }

    fn email(body: &mut Fields<'_>) -> Self {
        Self {
            reply_to: reply_to(body.optional("replyTo")),
            track_opens: body.optional("trackOpens").bool(),
            track_clicks: body.optional("trackClicks").bool(),
            list_unsubscribe: body.optional("listUnsubscribe").bool(),
            ..Self::default()
        }
    }

    fn text_message(body: &mut Fields<'_>) -> Self {
        Self {
            sender_id: body.optional("senderId").text(1..=SENDER_ID_CHARS_MAX),
            // An SMS or Viber message without lifetime would never be delivered.
            ttl_seconds: whole(body.optional("ttlSeconds"), 1..=TTL_SECONDS_MAX),
            ..Self::default()
        }
    }

    fn push(body: &mut Fields<'_>) -> Self {
        Self {
            ttl_seconds: whole(body.optional("ttlSeconds"), 0..=TTL_SECONDS_MAX),
            priority: body.optional("priority").one_of(PushPriority::NAMED).map(Priority::Push),
            collapse_key: body.optional("collapseKey").text(1..=COLLAPSE_KEY_CHARS_MAX),
            deep_link: template(body.optional("deepLink"), DEEP_LINK_CHARS_MAX),
            platforms: platforms(body.optional("platforms")),
            ..Self::default()
        }
    }

    fn whatsapp(body: &mut Fields<'_>) -> Self {
        let phone_number_id = body.optional("phoneNumberId").text(1..=SENDER_ID_CHARS_MAX);
        Self { phone_number_id, ..Self::default() }
    }

    fn webhook(body: &mut Fields<'_>) -> Self {
        Self {
            timeout_ms: whole(body.optional("timeoutMs"), TIMEOUT_MS_MIN..=TIMEOUT_MS_MAX),
            max_attempts: whole(body.optional("maxAttempts"), 1..=ATTEMPTS_MAX),
            ..Self::default()
        }
    }

    pub fn track_opens(&self) -> bool {
        self.track_opens.unwrap_or(true)
    }

    pub fn track_clicks(&self) -> bool {
        self.track_clicks.unwrap_or(true)
    }

    pub fn list_unsubscribe(&self) -> bool {
        self.list_unsubscribe.unwrap_or(true)
    }

    pub fn push_priority(&self) -> PushPriority {
        match self.priority {
            Some(Priority::Push(priority)) => priority,
            Some(Priority::InApp(_)) | None => PushPriority::default(),
        }
    }

    /// Messages with a greater number come first.
    pub fn in_app_priority(&self) -> i32 {
        match self.priority {
            Some(Priority::InApp(priority)) => priority,
            Some(Priority::Push(_)) | None => 0,
        }
    }

    pub fn timeout_ms(&self) -> u32 {
        self.timeout_ms.unwrap_or(TIMEOUT_MS_DEFAULT)
    }

    pub fn max_attempts(&self) -> u32 {
        self.max_attempts.unwrap_or(ATTEMPTS_DEFAULT)
    }

    pub fn in_app_type(&self) -> InAppType {
        self.kind.unwrap_or_default()
    }
}

/// Each platform once, in the order of their first occurrence.
fn platforms(field: Field<'_, Optional>) -> Option<Vec<Platform>> {
    let mut named = field.list(1..=Platform::NAMED.len(), |item| item.one_of(Platform::NAMED))?;
    let mut seen = Vec::new();
    named.retain(|platform| {
        let new = !seen.contains(platform);
        seen.push(*platform);
        new
    });
    Some(named)
}

/// A text that may be a Liquid template.
fn template(field: Field<'_, Optional>, chars_max: usize) -> Option<String> {
    field.parsed(String::new(), |text| {
        let chars = text.chars().count();
        if chars == 0 || chars > chars_max {
            return Err(format!("must be between 1 and {chars_max} characters"));
        }
        Template::parse(text, Form::Text).map_err(|fault| fault.to_string())?;
        Ok(text.to_owned())
    })
}

/// An address, or a template that renders to one.
fn reply_to(field: Field<'_, Optional>) -> Option<String> {
    field.parsed(String::new(), |text| {
        if text.chars().count() > REPLY_TO_CHARS_MAX {
            return Err(format!("must be at most {REPLY_TO_CHARS_MAX} characters"));
        }
        if text.contains("{{") || text.contains("{%") {
            Template::parse(text, Form::Header).map_err(|fault| fault.to_string())?;
            return Ok(text.to_owned());
        }
        let address: EmailAddress =
            text.parse().map_err(|wrong: NotAnEmailAddress| wrong.to_string())?;
        Ok(address.to_string())
    })
}

//! The content of a variant, by channel.
//!
//! A variant of an `ai_optimized` campaign selects its channel by `message.channel`, since the campaign has
//! none: one variant may be an email and another a push. Without it, a message with an email's fields is an
//! email.
//!
//! Stored messages do not name their channel if the campaign does, so it must be known for reading them
//! ([`keep_shape`]).

mod auth;
mod email;
mod header;
mod push;
mod secret;
mod sms;
mod viber;
mod webhook;
mod whatsapp;

pub mod userinfo;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use kernel::{Channel, fields::Fields, schema::NamedSchemas};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Ref, RefOr, Schema,
        schema::{AdditionalProperties, AllOf, AnyOf, ObjectBuilder, OneOf, Type},
    },
};

use super::{CampaignChannel, words};

pub use self::{
    auth::Auth,
    email::{EmailMessage, address_of},
    header::carries_credentials,
    push::PushMessage,
    secret::Secret,
    sms::SmsMessage,
    viber::ViberMessage,
    webhook::{BodyType, Method, Origin, SecretPlace, WebhookMessage},
    whatsapp::{MessageType, WhatsappMessage},
};

/// A message of one channel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Message {
    /// The channel, in variants of `ai_optimized`, where the message has to name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<MessageChannel>,
    #[serde(flatten)]
    pub content: Content,
    /// Fields unknown to the channel, in variants of `ai_optimized`: they are stored and returned, without
    /// effect.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl PartialSchema for Message {
    fn schema() -> RefOr<Schema> {
        let channel = OneOf::builder()
            .item(ObjectBuilder::new().schema_type(Type::Null))
            .item(Ref::from_schema_name(MessageChannel::name()))
            .description(Some(
                "The channel, where the message itself has to name it: in variants of `ai_optimized`.",
            ));
        let own = ObjectBuilder::new()
            .schema_type(Type::Object)
            .property("channel", channel)
            .additional_properties(Some(AdditionalProperties::FreeForm(true)));
        let all_of = AllOf::builder()
            .item(Ref::from_schema_name(Content::name()))
            .item(own)
            .description(Some(
                "A message of one channel. In variants of `ai_optimized` fields that its channel does not have \
                 are returned as they were sent: 16 KiB and 8 levels of them at most.",
            ));
        RefOr::T(all_of.into())
    }
}

impl ToSchema for Message {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Message")
    }

    fn schemas(schemas: &mut NamedSchemas) {
        schemas.push((MessageChannel::name().into_owned(), MessageChannel::schema()));
        schemas.push((Content::name().into_owned(), Content::schema()));
        Content::schemas(schemas);
    }
}

/// The content of a message, by channel.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Content {
    Email(EmailMessage),
    Sms(SmsMessage),
    Viber(ViberMessage),
    Push(PushMessage),
    Whatsapp(WhatsappMessage),
    Webhook(WebhookMessage),
}

impl PartialSchema for Content {
    fn schema() -> RefOr<Schema> {
        // Several may match: the channels have common fields, and all of them are optional.
        let any_of = AnyOf::builder()
            .item(Ref::from_schema_name(EmailMessage::name()))
            .item(Ref::from_schema_name(SmsMessage::name()))
            .item(Ref::from_schema_name(ViberMessage::name()))
            .item(Ref::from_schema_name(PushMessage::name()))
            .item(Ref::from_schema_name(WhatsappMessage::name()))
            .item(Ref::from_schema_name(WebhookMessage::name()))
            .description(Some("What a message says, in the shape of its channel."));
        RefOr::T(any_of.into())
    }
}

impl ToSchema for Content {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Content")
    }

    fn schemas(schemas: &mut NamedSchemas) {
        fn add<T: ToSchema>(schemas: &mut NamedSchemas) {
            schemas.push((T::name().into_owned(), T::schema()));
            T::schemas(schemas);
        }
        add::<EmailMessage>(schemas);
        add::<SmsMessage>(schemas);
        add::<ViberMessage>(schemas);
        add::<PushMessage>(schemas);
        add::<WhatsappMessage>(schemas);
        add::<WebhookMessage>(schemas);
    }
}

/// A channel of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum MessageChannel {
    Email,
    Sms,
    Viber,
    Push,
    Whatsapp,
    Webhook,
}

/// The field with the channel of a message.
const CHANNEL: &str = "channel";
/// The field that [`keep_shape`] adds; no field of the API begins like this.
const SHAPE: &str = "@channel";
/// Bytes of a message's unknown fields in compact form.
const OTHER_BYTES_MAX: usize = 16 << 10;

const CHANNELS: &[(&str, MessageChannel)] = &[
    ("email", MessageChannel::Email),
    ("sms", MessageChannel::Sms),
    ("viber", MessageChannel::Viber),
    ("push", MessageChannel::Push),
    ("whatsapp", MessageChannel::Whatsapp),
    ("webhook", MessageChannel::Webhook),
];

impl MessageChannel {
    /// The channel of a campaign's messages; none if each message selects it, or if there are none.
    pub fn of(channel: CampaignChannel) -> Option<Self> {
        match channel {
            CampaignChannel::Email => Some(Self::Email),
            CampaignChannel::Sms => Some(Self::Sms),
            CampaignChannel::Viber => Some(Self::Viber),
            CampaignChannel::Push => Some(Self::Push),
            CampaignChannel::Whatsapp => Some(Self::Whatsapp),
            CampaignChannel::Webhook => Some(Self::Webhook),
            CampaignChannel::InApp | CampaignChannel::AiOptimized => None,
        }
    }

    /// The fields of a message on this channel.
    const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Email => EmailMessage::FIELDS,
            Self::Sms => SmsMessage::FIELDS,
            Self::Viber => ViberMessage::FIELDS,
            Self::Push => PushMessage::FIELDS,
            Self::Whatsapp => WhatsappMessage::FIELDS,
            Self::Webhook => WebhookMessage::FIELDS,
        }
    }

    /// The channel whose consent and provider are required; none for webhooks.
    pub const fn delivers(self) -> Option<Channel> {
        match self {
            Self::Email => Some(Channel::Email),
            Self::Sms => Some(Channel::Sms),
            Self::Viber => Some(Channel::Viber),
            Self::Push => Some(Channel::Push),
            Self::Whatsapp => Some(Channel::Whatsapp),
            Self::Webhook => None,
        }
    }
}

impl From<Channel> for MessageChannel {
    fn from(channel: Channel) -> Self {
        match channel {
            Channel::Email => Self::Email,
            Channel::Sms => Self::Sms,
            Channel::Viber => Self::Viber,
            Channel::Push => Self::Push,
            Channel::Whatsapp => Self::Whatsapp,
        }
    }
}

impl Message {
    /// Reads a message of a campaign on this channel.
    pub fn read(body: &mut Fields<'_>, channel: CampaignChannel) -> Self {
        match MessageChannel::of(channel) {
            Some(channel) => {
                Self { channel: None, content: Content::read(body, channel), other: Map::new() }
            }
            None => Self::choosing(body),
        }
    }

    fn choosing(body: &mut Fields<'_>) -> Self {
        let named = body.optional(CHANNEL).one_of(CHANNELS);
        // A null says as little as an absent field: it is not kept.
        let is_given = |name: &&str| body.sent().get(*name).is_some_and(|value| !value.is_null());
        if named.is_none() && !is_given(&CHANNEL) && !email::FIELDS.iter().any(is_given) {
            body.refuse(CHANNEL, "is required, unless the message is an email");
        }
        let channel = named.unwrap_or(MessageChannel::Email);
        let content = Content::read(body, channel);
        Self { channel: named, content, other: other_fields(body, channel) }
    }
}

/// Reads the fields that are unknown to the channel.
fn other_fields(body: &mut Fields<'_>, channel: MessageChannel) -> Map<String, Value> {
    let other = body.others(|name| name == CHANNEL || channel.fields().contains(&name));
    for name in other.keys().filter(|name| name.starts_with('@')) {
        body.refuse(name, "must not begin with @");
    }
    if let Err(problem) = words::is_bounded_json(&other, OTHER_BYTES_MAX) {
        body.refuse_body(format!("has fields that are unknown for its channel, which {problem}"));
    }
    other
}

impl<'de> Deserialize<'de> for Message {
    /// Reads a stored message without validation. Its shape must be known: see [`keep_shape`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut message = Map::deserialize(deserializer)?;
        let mut named = |key: &str| message.remove(key).map(serde_json::from_value).transpose();
        let (shape, channel) = named(SHAPE)
            .and_then(|shape| Ok((shape, named(CHANNEL)?)))
            .map_err(D::Error::custom)?;
        let Some(shape): Option<MessageChannel> = shape else {
            return Err(D::Error::custom("a kept message is read knowing its channel"));
        };
        let (fields, other) =
            message.into_iter().partition(|(name, _)| shape.fields().contains(&name.as_str()));
        let content = Content::kept(fields, shape).map_err(D::Error::custom)?;
        Ok(Self { channel, content, other })
    }
}

/// Adds the shape to a stored message of a campaign on this channel, so that it can be read back.
pub(super) fn keep_shape(message: &mut Map<String, Value>, channel: CampaignChannel) {
    let named = message.get(CHANNEL).cloned();
    let shape = MessageChannel::of(channel).map(|shape| serde_json::json!(shape)).or(named);
    message.insert(SHAPE.to_owned(), shape.unwrap_or_else(|| "email".into()));
}

impl Content {
    fn read(body: &mut Fields<'_>, channel: MessageChannel) -> Self {
        match channel {
            MessageChannel::Email => Self::Email(EmailMessage::read(body)),
            MessageChannel::Sms => Self::Sms(SmsMessage::read(body)),
            MessageChannel::Viber => Self::Viber(ViberMessage::read(body)),
            MessageChannel::Push => Self::Push(PushMessage::read(body)),
            MessageChannel::Whatsapp => Self::Whatsapp(WhatsappMessage::read(body)),
            MessageChannel::Webhook => Self::Webhook(WebhookMessage::read(body)),
        }
    }

    fn kept(message: Map<String, Value>, shape: MessageChannel) -> serde_json::Result<Self> {
        let message = Value::Object(message);
        Ok(match shape {
            MessageChannel::Email => Self::Email(serde_json::from_value(message)?),
            MessageChannel::Sms => Self::Sms(serde_json::from_value(message)?),
            MessageChannel::Viber => Self::Viber(serde_json::from_value(message)?),
            MessageChannel::Push => Self::Push(serde_json::from_value(message)?),
            MessageChannel::Whatsapp => Self::Whatsapp(serde_json::from_value(message)?),
            MessageChannel::Webhook => Self::Webhook(serde_json::from_value(message)?),
        })
    }

    pub fn channel(&self) -> MessageChannel {
        match self {
            Self::Email(_) => MessageChannel::Email,
            Self::Sms(_) => MessageChannel::Sms,
            Self::Viber(_) => MessageChannel::Viber,
            Self::Push(_) => MessageChannel::Push,
            Self::Whatsapp(_) => MessageChannel::Whatsapp,
            Self::Webhook(_) => MessageChannel::Webhook,
        }
    }
}

//! Renders messages: the templates of a variant are parsed once and rendered for each recipient.
//!
//! Pure and without I/O: the keys for links are in memory ([`Signer`]), so a batch of recipients is rendered
//! on one blocking thread. The cost is Liquid and, for email, one pass over the rendered HTML.
//!
//! Reading order: [`text`] (a text that may be a template), [`globals`] (the variables of templates), [`email`]
//! with [`instrumentation`] (links, pixel, preheader, footer), [`short`] (the other channels), [`webhook`].

mod email;
mod globals;
mod in_app;
mod instrumentation;
mod short;
mod text;
mod utm;
mod webhook;

#[cfg(test)]
mod tests;

use campaigns::model::{
    Definition, Variant,
    message::{self, EmailMessage, MessageChannel},
    settings::{channel_config::ChannelConfig, utm::UtmSettings},
};
use content::template::Object;
use kernel::{CampaignId, ListId, MessageId, Timestamp, WorkspaceId};
use providers::model::Content;
use web::links::Signer;

use self::{
    email::{Email, EmailContext},
    short::Short,
    utm::Utm,
    webhook::Webhook,
};
pub use self::{
    globals::{WaysOut, globals},
    in_app::{InApp, scope_of},
};
use super::model::{Context, Named, Recipient, StoredContent};

/// Why a message cannot be rendered for a recipient. A retry would fail as well.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct RenderFault {
    /// The problem and its field. Never contains data of a recipient.
    pub reason: String,
}

impl RenderFault {
    /// The code of such a failure in reports.
    pub const CODE: &'static str = "render";

    fn of(field: &str, problem: impl std::fmt::Display) -> Self {
        Self { reason: format!("{field}: {problem}") }
    }
}

/// A message and the environment it is rendered in.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    pub workspace: WorkspaceId,
    pub message: MessageId,
    /// The time it is rendered at.
    pub now: Timestamp,
    pub signer: &'a Signer,
    pub context: &'a Context,
}

/// A message for one recipient.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    pub content: Content,
    /// Its short links, to be stored before it is sent.
    pub short_links: Vec<ShortLink>,
}

/// A short link in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortLink {
    pub code: String,
    pub target: String,
}

/// The parsed templates of a message.
#[derive(Debug)]
pub struct Prepared {
    frame: Frame,
    templates: Templates,
}

/// What all messages of a variant have in common.
#[derive(Debug)]
struct Frame {
    campaign: Option<Named>,
    list: Option<ListId>,
    is_marketing: bool,
    utm: Utm,
}

#[derive(Debug)]
enum Templates {
    Email(Box<Email>),
    Short(Box<Short>),
    Webhook(Box<Webhook>),
}

/// Settings for the preparation of a message.
struct Settings<'a> {
    config: &'a ChannelConfig,
    utm: Option<&'a UtmSettings>,
}

impl Prepared {
    /// Reads the templates of a campaign's variant. `is_marketing` unless the campaign's list is a
    /// transactional one.
    ///
    /// # Errors
    /// A variant without a message, or with invalid templates.
    pub fn of_variant(
        campaign: CampaignId,
        definition: &Definition,
        variant: &Variant,
        is_marketing: bool,
    ) -> Result<Self, RenderFault> {
        let message = variant.message.as_ref();
        let message = message.ok_or_else(|| RenderFault::of("message", "says nothing"))?;
        let none = ChannelConfig::default();
        let settings = Settings {
            config: definition.channel_config.as_deref().unwrap_or(&none),
            utm: definition.utm_settings.as_deref(),
        };
        let campaign = Named { id: campaign, name: definition.name.clone() };
        let channel = message.content.channel();
        Ok(Self {
            frame: Frame {
                utm: Utm::read(settings.utm, channel, Some(&campaign))?,
                campaign: Some(campaign),
                list: definition.subscription_category_id,
                is_marketing,
            },
            templates: Templates::read(&message.content, &settings)?,
        })
    }

    /// Reads the templates of stored content.
    ///
    /// # Errors
    /// As [`Self::of_variant`].
    pub fn of_stored(stored: &StoredContent) -> Result<Self, RenderFault> {
        let none = ChannelConfig::default();
        let settings = Settings {
            config: stored.config.as_deref().unwrap_or(&none),
            utm: stored.utm.as_deref(),
        };
        let content = content_of(stored)?;
        Ok(Self {
            frame: Frame {
                utm: Utm::read(settings.utm, stored.channel, stored.campaign.as_ref())?,
                campaign: stored.campaign.clone(),
                list: stored.list,
                is_marketing: stored.is_marketing,
            },
            templates: Templates::read(&content, &settings)?,
        })
    }

    /// The channel it is sent on.
    pub fn channel(&self) -> MessageChannel {
        match &self.templates {
            Templates::Email(_) => MessageChannel::Email,
            Templates::Short(short) => short.channel(),
            Templates::Webhook(_) => MessageChannel::Webhook,
        }
    }

    /// Renders the message for one recipient. Blocks the thread while templates run, which is bounded
    /// ([`content::template::RENDER_MAX`] each).
    ///
    /// # Errors
    /// A limit a template reached, or a result that cannot be sent.
    pub fn render(
        &self,
        recipient: &Recipient,
        around: &Around<'_>,
    ) -> Result<Rendered, RenderFault> {
        let frame = &self.frame;
        let outs = WaysOut::of(recipient, around, frame.list, self.channel());
        let globals: Object = globals(recipient, around, frame.campaign.as_ref(), &outs);
        let mut short_links = Vec::new();
        let content = match &self.templates {
            Templates::Email(email) => {
                let context = EmailContext { frame, around, outs: &outs, globals: &globals };
                Content::Email(email.render(&context)?)
            }
            Templates::Short(short) => {
                let tags = frame.utm.tags(&globals)?;
                short.render(&globals, around, &tags, &mut short_links)?
            }
            Templates::Webhook(webhook) => Content::Webhook(webhook.render(&globals)?),
        };
        Ok(Rendered { content, short_links })
    }
}

/// The message in the shape of its channel.
fn content_of(stored: &StoredContent) -> Result<message::Content, RenderFault> {
    fn read<T: serde::de::DeserializeOwned>(stored: &StoredContent) -> Result<T, RenderFault> {
        serde_json::from_value(stored.message.clone())
            .map_err(|_| RenderFault::of("message", "is not in the shape of its channel"))
    }
    Ok(match stored.channel {
        MessageChannel::Email => message::Content::Email(read::<EmailMessage>(stored)?),
        MessageChannel::Sms => message::Content::Sms(read(stored)?),
        MessageChannel::Viber => message::Content::Viber(read(stored)?),
        MessageChannel::Push => message::Content::Push(read(stored)?),
        MessageChannel::Whatsapp => message::Content::Whatsapp(read(stored)?),
        MessageChannel::Webhook => message::Content::Webhook(read(stored)?),
    })
}

impl Templates {
    fn read(content: &message::Content, settings: &Settings<'_>) -> Result<Self, RenderFault> {
        Ok(match content {
            message::Content::Email(email) => {
                Self::Email(Box::new(Email::read(email, settings.config)?))
            }
            message::Content::Webhook(webhook) => {
                Self::Webhook(Box::new(Webhook::read(webhook, settings.config)?))
            }
            other => Self::Short(Box::new(Short::read(other, settings.config)?)),
        })
    }
}

//! What a message says to one recipient: the templates of a variant, read once, rendered for each.
//!
//! Pure and without waiting: keys for links are at hand ([`Signer`]), so a batch of recipients is rendered
//! on one blocking thread. What it costs is Liquid and, for email, one pass over the HTML that came out.
//!
//! Reading order: [`text`] (a text that may be a template), [`globals`] (what templates see), [`email`]
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

use self::{email::Email, short::Short, utm::Utm, webhook::Webhook};
pub use self::{
    globals::{WaysOut, globals},
    in_app::{InApp, scope_of},
};
use super::model::{Context, Named, Recipient, Said};

/// Why a message cannot be rendered for a recipient; it will not be by trying again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct RenderFault {
    /// What is wrong, and in which field. Never what a recipient's data says.
    pub reason: String,
}

impl RenderFault {
    /// The code of such a failure in reports.
    pub const CODE: &'static str = "render";

    fn of(field: &str, problem: impl std::fmt::Display) -> Self {
        Self { reason: format!("{field}: {problem}") }
    }
}

/// What surrounds a message.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    pub workspace: WorkspaceId,
    pub message: MessageId,
    /// The time it is rendered at.
    pub now: Timestamp,
    pub signer: &'a Signer,
    /// What it brings along.
    pub context: &'a Context,
}

/// A message for one recipient.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    pub content: Content,
    /// Short links in it, to be kept before it leaves.
    pub short_links: Vec<ShortLink>,
}

/// A short link in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortLink {
    pub code: String,
    pub target: String,
}

/// What a variant says, ready to be rendered as often as needed.
#[derive(Debug)]
pub struct Prepared {
    frame: Frame,
    says: Says,
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
enum Says {
    Email(Box<Email>),
    Short(Box<Short>),
    Webhook(Box<Webhook>),
}

/// What goes into preparing a message besides the message.
struct Settings<'a> {
    config: &'a ChannelConfig,
    utm: Option<&'a UtmSettings>,
}

impl Prepared {
    /// Reads the templates of a campaign's variant. `is_marketing` unless the campaign's list is a
    /// transactional one.
    ///
    /// # Errors
    /// A variant that says nothing, or whose templates cannot be read.
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
            says: Says::read(&message.content, &settings)?,
        })
    }

    /// Reads the templates of what a message brings along itself.
    ///
    /// # Errors
    /// As [`Self::of_variant`].
    pub fn of_said(said: &Said) -> Result<Self, RenderFault> {
        let none = ChannelConfig::default();
        let settings =
            Settings { config: said.config.as_deref().unwrap_or(&none), utm: said.utm.as_deref() };
        let content = content_of(said)?;
        Ok(Self {
            frame: Frame {
                utm: Utm::read(settings.utm, said.channel, said.campaign.as_ref())?,
                campaign: said.campaign.clone(),
                list: said.list,
                is_marketing: said.is_marketing,
            },
            says: Says::read(&content, &settings)?,
        })
    }

    /// What it goes out on.
    pub fn channel(&self) -> MessageChannel {
        match &self.says {
            Says::Email(_) => MessageChannel::Email,
            Says::Short(short) => short.channel(),
            Says::Webhook(_) => MessageChannel::Webhook,
        }
    }

    /// What it says to one recipient. Blocks the thread while templates run, which is bounded
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
        let content = match &self.says {
            Says::Email(email) => {
                let scene = email::Scene { frame, around, outs: &outs, globals: &globals };
                Content::Email(email.render(&scene)?)
            }
            Says::Short(short) => {
                let tags = frame.utm.tags(&globals)?;
                short.render(&globals, around, &tags, &mut short_links)?
            }
            Says::Webhook(webhook) => Content::Webhook(webhook.render(&globals)?),
        };
        Ok(Rendered { content, short_links })
    }
}

/// The message in the shape of its channel.
fn content_of(said: &Said) -> Result<message::Content, RenderFault> {
    fn read<T: serde::de::DeserializeOwned>(said: &Said) -> Result<T, RenderFault> {
        serde_json::from_value(said.message.clone())
            .map_err(|_| RenderFault::of("message", "is not in the shape of its channel"))
    }
    Ok(match said.channel {
        MessageChannel::Email => message::Content::Email(read::<EmailMessage>(said)?),
        MessageChannel::Sms => message::Content::Sms(read(said)?),
        MessageChannel::Viber => message::Content::Viber(read(said)?),
        MessageChannel::Push => message::Content::Push(read(said)?),
        MessageChannel::Whatsapp => message::Content::Whatsapp(read(said)?),
        MessageChannel::Webhook => message::Content::Webhook(read(said)?),
    })
}

impl Says {
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

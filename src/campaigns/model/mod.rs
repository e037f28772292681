//! Definitions of campaigns, their validation and their lifecycle, without I/O.

mod campaign;
pub mod checks;
mod definition;
mod difference;
mod edit;
pub mod engagement_hours;
pub mod estimate;
mod filter;
pub mod hidden;
pub mod in_app;
pub mod launch;
pub mod learning;
pub mod message;
mod precondition;
mod record;
pub mod settings;
mod status;
pub mod timing;
pub mod trial;
pub mod variant;
mod words;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use self::{
    campaign::{Campaign, CampaignKey, PendingDraft, State, TriggeredCampaign},
    definition::{
        DESCRIPTION_CHARS_MAX, Definition, NAME_CHARS_MAX, NO_SUCH_LIST, TAG_CHARS_MAX, TAGS_MAX,
        each_once, tag,
    },
    difference::{Change, Difference, Op, changed_fields, differences, for_history},
    edit::{Edit, IN_THE_FUTURE},
    filter::{Filter, Page},
    precondition::Precondition,
    record::{Action, ChangeType, Entry, Snapshot, Version, VersionName},
    settings::resend::ResendPolicy,
    status::{Call, CampaignKind, Refusal, Status, TransitionContext, next},
    variant::Variant,
};
use kernel::Channel;

/// The channel of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CampaignChannel {
    Email,
    Sms,
    Viber,
    Push,
    /// An HTTP request to a server of the workspace.
    Webhook,
    Whatsapp,
    /// Displayed by the app.
    InApp,
    /// Each variant has its own channel, selected by learning.
    AiOptimized,
}

impl CampaignChannel {
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("email", Self::Email),
        ("sms", Self::Sms),
        ("viber", Self::Viber),
        ("push", Self::Push),
        ("webhook", Self::Webhook),
        ("whatsapp", Self::Whatsapp),
        ("in_app", Self::InApp),
        ("ai_optimized", Self::AiOptimized),
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Sms => "sms",
            Self::Viber => "viber",
            Self::Push => "push",
            Self::Webhook => "webhook",
            Self::Whatsapp => "whatsapp",
            Self::InApp => "in_app",
            Self::AiOptimized => "ai_optimized",
        }
    }

    /// The channel whose consent a recipient must have given; none if none is required, or if each message
    /// has its own channel.
    pub const fn delivers(self) -> Option<Channel> {
        match self {
            Self::Email => Some(Channel::Email),
            Self::Sms => Some(Channel::Sms),
            Self::Viber => Some(Channel::Viber),
            Self::Push => Some(Channel::Push),
            Self::Whatsapp => Some(Channel::Whatsapp),
            Self::Webhook | Self::InApp | Self::AiOptimized => None,
        }
    }
}

/// How a campaign is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendType {
    /// As soon as it is launched.
    #[default]
    Immediate,
    Scheduled,
    /// For each recipient, by their events.
    Triggered,
    /// For each recipient at the hour at which they are most likely to engage.
    Intelligent,
    /// Repeatedly, by a schedule.
    Recurring,
    AiOptimized,
}

impl SendType {
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("immediate", Self::Immediate),
        ("scheduled", Self::Scheduled),
        ("triggered", Self::Triggered),
        ("intelligent", Self::Intelligent),
        ("recurring", Self::Recurring),
        ("ai_optimized", Self::AiOptimized),
    ];
}

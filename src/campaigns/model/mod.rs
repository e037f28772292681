//! What a campaign says, and what may become of it. Pure.

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
    campaign::{Campaign, PendingDraft, Standby, State},
    definition::{
        DESCRIPTION_CHARS_MAX, Definition, NAME_CHARS_MAX, NO_SUCH_LIST, TAG_CHARS_MAX, TAGS_MAX,
        each_once, tag,
    },
    difference::{Change, Difference, Op, changed_fields, differences, for_history},
    edit::{Edit, IN_THE_FUTURE},
    filter::Filter,
    record::{Action, ChangeType, Entry, Snapshot, Version, VersionName},
    settings::resend::ResendPolicy,
    status::{Call, Kind, Refusal, Standing, Status, next},
    variant::Variant,
};
use kernel::Channel;

/// What a campaign goes out on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CampaignChannel {
    Email,
    Sms,
    Viber,
    Push,
    /// A call to a server of the caller's.
    Webhook,
    Whatsapp,
    /// Shown by the app to those who open it.
    InApp,
    /// Whichever channel serves a recipient best.
    AiOptimized,
}

impl CampaignChannel {
    /// The names and what they stand for.
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

    /// The channel as the API and the store write it.
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

    /// The channel whose consent a recipient must have given; none where none is needed, or where each
    /// recipient's own channel decides.
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

/// What makes a campaign go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendType {
    /// As soon as it is sent.
    #[default]
    Immediate,
    Scheduled,
    /// For each recipient when an event of theirs comes in.
    Triggered,
    /// For each recipient at the hour they are most likely to look.
    Intelligent,
    /// Again and again by a schedule.
    Recurring,
    AiOptimized,
}

impl SendType {
    /// The names and what they stand for.
    pub const NAMED: &'static [(&'static str, Self)] = &[
        ("immediate", Self::Immediate),
        ("scheduled", Self::Scheduled),
        ("triggered", Self::Triggered),
        ("intelligent", Self::Intelligent),
        ("recurring", Self::Recurring),
        ("ai_optimized", Self::AiOptimized),
    ];
}

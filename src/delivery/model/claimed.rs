//! A message in a sender's hands, and what becomes of it.

use campaigns::model::message::MessageChannel;
use kernel::{CampaignId, MessageId, Timestamp, UserId, WorkspaceId};
use serde_json::Value;

use super::message::Purpose;

/// A message that one sender holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The wall around it.
    pub workspace: WorkspaceId,
    pub id: MessageId,
    /// What it is for.
    pub purpose: Purpose,
    pub campaign: Option<CampaignId>,
    /// Which time the campaign goes out, or which entry of the recipient it is.
    pub occurrence: i32,
    /// Whom it is for.
    pub user: Option<UserId>,
    /// What it goes out on.
    pub channel: MessageChannel,
    /// Which variant, once that is known.
    pub variant: Option<String>,
    /// What rendering needs beside the campaign and the profile.
    pub context: Option<Value>,
    pub expires: Option<Timestamp>,
    /// How often a provider was asked to take it.
    pub attempts: i16,
}

/// Where a message stands from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageStatus {
    /// In its sender's hands until then.
    Sending {
        /// The end of the lease.
        until: Timestamp,
    },
    /// Put back untried: its turn did not come in time.
    Back {
        /// When it was due.
        due: Timestamp,
    },
    /// To be looked at again.
    Held {
        until: Timestamp,
        /// By which rule, or the provider's code.
        code: String,
        reason: String,
    },
    Sent {
        /// The provider's own id of it.
        provider_id: Option<String>,
    },
    /// Not sent, by a rule of ours.
    Skipped {
        code: String,
        /// Its value in words.
        reason: String,
    },
    /// Not sent, to measure others by.
    Control,
    /// Not taken, or not renderable.
    Failed {
        /// The provider's code, or ours.
        code: String,
        reason: String,
    },
    /// Nobody knows whether it was taken.
    Unknown {
        reason: String,
    },
    Cancelled,
}

impl MessageStatus {
    /// The status as the store writes it.
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Sending { .. } => "sending",
            Self::Back { .. } | Self::Held { .. } => "queued",
            Self::Sent { .. } => "sent",
            Self::Skipped { .. } => "skipped",
            Self::Control => "control",
            Self::Failed { .. } => "failed",
            Self::Unknown { .. } => "unknown",
            Self::Cancelled => "cancelled",
        }
    }

    /// When it has to be looked at again; never where it is settled.
    pub const fn due(&self) -> Option<Timestamp> {
        match self {
            Self::Sending { until } | Self::Held { until, .. } => Some(*until),
            Self::Back { due } => Some(*due),
            _ => None,
        }
    }

    /// The rule or the code, and the words.
    pub fn why(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Held { code, reason, .. }
            | Self::Skipped { code, reason }
            | Self::Failed { code, reason } => (Some(code), Some(reason)),
            Self::Unknown { reason } => (Some(UNKNOWN), Some(reason)),
            _ => (None, None),
        }
    }
}

/// The code of a message of which nobody knows whether it was taken.
pub const UNKNOWN: &str = "unknown";

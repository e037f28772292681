//! A message in a sender's hands, and what becomes of it.

use campaigns::model::message::MessageChannel;
use kernel::{CampaignId, MessageId, Timestamp, UserId, WorkspaceId};
use serde_json::Value;

use super::{message::Purpose, skip::Skip};

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
    /// Claimed and not tried: it is due as before.
    Released {
        due: Timestamp,
    },
    /// A rule does not let it leave yet; it is checked again then.
    Held {
        until: Timestamp,
        skip: Skip,
    },
    /// The provider did not take it; it is tried again then.
    Deferred {
        until: Timestamp,
        /// The provider's code.
        code: String,
        reason: String,
    },
    Sent {
        /// The provider's own id of it.
        provider_id: Option<String>,
    },
    /// Not sent, because of a rule.
    Skipped(Skip),
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
            Self::Released { .. } | Self::Held { .. } | Self::Deferred { .. } => "queued",
            Self::Sent { .. } => "sent",
            Self::Skipped(_) => "skipped",
            Self::Control => "control",
            Self::Failed { .. } => "failed",
            Self::Unknown { .. } => "unknown",
            Self::Cancelled => "cancelled",
        }
    }

    /// When it has to be looked at again; never where it is settled.
    pub const fn due(&self) -> Option<Timestamp> {
        match self {
            Self::Sending { until } | Self::Held { until, .. } | Self::Deferred { until, .. } => {
                Some(*until)
            }
            Self::Released { due } => Some(*due),
            _ => None,
        }
    }

    /// The rule or the code, and the words.
    pub fn why(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Held { skip, .. } | Self::Skipped(skip) => {
                (Some(skip.reason.code()), Some(&skip.detail))
            }
            Self::Deferred { code, reason, .. } | Self::Failed { code, reason } => {
                (Some(code), Some(reason))
            }
            Self::Unknown { reason } => (Some(UNKNOWN), Some(reason)),
            _ => (None, None),
        }
    }
}

/// The code of a message of which nobody knows whether it was taken.
pub const UNKNOWN: &str = "unknown";

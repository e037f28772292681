//! Claimed messages and their statuses.

use campaigns::model::message::MessageChannel;
use kernel::{CampaignId, MessageId, Timestamp, UserId, WorkspaceId};
use providers::model::Outgoing;
use serde_json::Value;

use super::{message::Purpose, skip::Skip};

/// A message that one sender has claimed.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    pub workspace: WorkspaceId,
    pub id: MessageId,
    pub purpose: Purpose,
    pub campaign: Option<CampaignId>,
    /// The run of the campaign, or the number of the recipient's entry.
    pub occurrence: i32,
    pub user: Option<UserId>,
    pub channel: MessageChannel,
    /// The variant, once it is drawn.
    pub variant: Option<String>,
    /// The context of rendering ([`super::Context`]).
    pub context: Option<Value>,
    pub expires: Option<Timestamp>,
    /// How often it was sent to a provider.
    pub attempts: i16,
    /// Whether its recipient is in the control group: nothing is sent.
    pub is_control: bool,
}

/// The new status of a message.
/// A message that is ready to send.
#[derive(Debug, Clone)]
pub struct ReadyMessage {
    pub message: Claimed,
    pub outgoing: Outgoing,
}

/// A message with a status that was decided without a provider.
#[derive(Debug, Clone, PartialEq)]
pub struct SettledMessage {
    pub message: Claimed,
    pub status: MessageStatus,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageStatus {
    /// Claimed by a sender.
    Sending {
        /// The end of the lease.
        until: Timestamp,
    },
    /// Claimed but not sent: it is due as before.
    Released {
        due: Timestamp,
    },
    /// A rule defers it; it is checked again at `until`.
    Held {
        until: Timestamp,
        skip: Skip,
    },
    /// The provider did not accept it; it is sent again at `until`.
    Deferred {
        until: Timestamp,
        code: String,
        reason: String,
    },
    Sent {
        /// The id that the provider gave it.
        provider_id: Option<String>,
    },
    /// Not sent, because of a rule.
    Skipped(Skip),
    /// Not sent, because the recipient is in the control group.
    Control,
    /// Not accepted by the provider, or not rendered.
    Failed {
        /// The provider's code, or one of this program.
        code: String,
        reason: String,
    },
    /// It is not known whether the provider accepted it.
    Unknown {
        reason: String,
    },
    Cancelled,
}

impl MessageStatus {
    /// The name of the status in the database.
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

    /// When it is processed again; none if it is settled.
    pub const fn due(&self) -> Option<Timestamp> {
        match self {
            Self::Sending { until } | Self::Held { until, .. } | Self::Deferred { until, .. } => {
                Some(*until)
            }
            Self::Released { due } => Some(*due),
            _ => None,
        }
    }

    /// The code of the rule or the provider, and its description.
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

/// The code of a message with an unknown outcome.
pub const UNKNOWN: &str = "unknown";

//! Why a message is not sent.

use suppressions::model::Reason;

/// Why a message is not sent, or not yet. Its code is stored with the message, reported, and a label of
/// `millrace_delivery_refusals_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SkipReason {
    /// The profile was deleted.
    Deleted,
    NoAddress,
    InvalidAddress,
    ChannelConsent,
    ListConsent,
    /// The address is suppressed; an audience that excludes it does not know the reason.
    Suppressed(Option<Reason>),
    FrequencyCap,
    QuietHours,
    VolumeLimit,
    /// The message was held back for too long.
    Expired,
    /// The A/B test ended without a winner.
    AbInconclusive,
    /// The campaign was sent to the recipient before.
    ResendPolicy,
    /// The recipient got the campaign as another profile, which was merged with this one.
    Merged,
}

impl SkipReason {
    pub const fn code(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::NoAddress => "no_address",
            Self::InvalidAddress => "invalid_address",
            Self::ChannelConsent => "channel_consent",
            Self::ListConsent => "list_consent",
            Self::Suppressed(None) => "suppressed",
            Self::Suppressed(Some(Reason::HardBounce)) => "suppressed_hard_bounce",
            Self::Suppressed(Some(Reason::Complaint)) => "suppressed_complaint",
            Self::Suppressed(Some(Reason::Unsubscribe)) => "suppressed_unsubscribe",
            Self::Suppressed(Some(Reason::Manual)) => "suppressed_manual",
            Self::FrequencyCap => "frequency_cap",
            Self::QuietHours => "quiet_hours",
            Self::VolumeLimit => "volume_limit",
            Self::Expired => "expired",
            Self::AbInconclusive => "ab_inconclusive",
            Self::ResendPolicy => "resend_policy",
            Self::Merged => "merged",
        }
    }
}

/// A message that is not sent, or not yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    pub reason: SkipReason,
    /// What made the rule apply, as reports show it.
    pub detail: String,
}

impl Skip {
    pub fn new(reason: SkipReason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into() }
    }

    /// Without a detail beyond the code.
    pub fn plain(reason: SkipReason) -> Self {
        Self::new(reason, reason.code())
    }
}

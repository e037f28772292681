//! The checks before a launch. A failed check prevents the launch, a warning does not.

mod content;
mod settings;
#[cfg(test)]
mod tests;

use kernel::{Timestamp, zone::Zone};
use serde::Serialize;
use utoipa::ToSchema;

pub use self::{
    content::content,
    settings::{lacking_provider, no_provider, sample_needed, sample_size, sender, settings},
};
use super::Definition;

/// Every check that needs nothing but the campaign: the preview shows them, and a launch requires them.
/// Checks of the audience and of spam are for the preview only, and prevent nothing. Templates are rendered:
/// run it on a blocking thread.
pub fn of(definition: &Definition, workspace_zone: Zone, now: Timestamp) -> Vec<Check> {
    let mut checks = content(definition);
    checks.extend(settings(definition, workspace_zone, now));
    checks
}

/// The subject of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckId {
    /// Every variant has content.
    ContentPresent,
    /// Every template is valid.
    LiquidValid,
    /// Every link has a working address.
    LinksValid,
    /// Marketing email has an unsubscribe link.
    UnsubscribePresent,
    /// The channel has a provider.
    SenderConfigured,
    /// The variants' weights add up.
    WeightsSum,
    /// Every email has a subject.
    SubjectPresent,
    /// The spam score of the content.
    SpamScore,
    /// A control group is compared with messages that a limit holds back.
    ControlVsRateLimit,
    /// The variants get enough recipients for a significant comparison.
    SampleSize,
    /// There is a time to send at.
    ScheduleValid,
    /// The resend policy `cooldown` has its days; checked for campaigns with that policy.
    ResendCooldown,
    /// Consent is ignored under a transactional list only; checked for campaigns that ignore consent.
    PreferenceAllowed,
    /// The segments of the targeting exist, and it is not too large with them; answered where that fails.
    SegmentsKnown,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    Pass,
    Warn,
    /// The campaign cannot be launched.
    Fail,
}

/// A check with its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Check {
    /// The subject of the check.
    pub id: CheckId,
    pub status: CheckStatus,
    pub message: String,
}

impl Check {
    pub fn pass(id: CheckId, message: impl Into<String>) -> Self {
        Self { id, status: CheckStatus::Pass, message: message.into() }
    }

    pub fn warn(id: CheckId, message: impl Into<String>) -> Self {
        Self { id, status: CheckStatus::Warn, message: message.into() }
    }

    pub fn fail(id: CheckId, message: impl Into<String>) -> Self {
        Self { id, status: CheckStatus::Fail, message: message.into() }
    }
}

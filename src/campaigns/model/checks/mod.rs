//! What is judged before a campaign is launched (DECISIONS K18). A check that fails stops the launch, one
//! that warns does not.

mod content;
mod settings;
#[cfg(test)]
mod tests;

use kernel::{Timestamp, zone::Zone};
use serde::Serialize;
use utoipa::ToSchema;

pub use self::{
    content::content,
    settings::{lacking_provider, no_provider, sample_size, sender, settings},
};
use super::Definition;

/// Every check that a campaign itself answers: what a preview shows and what a launch goes by. What needs to know
/// the audience or to ask a spam filter is for the preview alone, and stops nobody. Templates are rendered:
/// run it where a thread may be blocked.
pub fn of(definition: &Definition, workspace_zone: Zone, now: Timestamp) -> Vec<Check> {
    let mut checks = content(definition);
    checks.extend(settings(definition, workspace_zone, now));
    checks
}

/// What a check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckId {
    /// Every variant has something to say.
    ContentPresent,
    /// Every template can be read.
    LiquidValid,
    /// Every link leads somewhere.
    LinksValid,
    /// Marketing email can be unsubscribed from.
    UnsubscribePresent,
    /// The channel has somebody to carry messages.
    SenderConfigured,
    /// The variants' weights add up.
    WeightsSum,
    /// Every email has a subject.
    SubjectPresent,
    /// How the content looks to spam filters.
    SpamScore,
    /// A control group is compared with messages that are held back by a limit.
    ControlVsRateLimit,
    /// The variants get enough recipients to tell them apart.
    SampleSize,
    /// There is a moment to send at.
    ScheduleValid,
    /// The resend policy `cooldown` has its days; told of a campaign with that policy.
    ResendCooldown,
    /// Who opted out is only sent to under a transactional list; told of a campaign that means all.
    PreferenceAllowed,
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    Pass,
    Warn,
    /// It cannot be launched.
    Fail,
}

/// A check and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Check {
    /// What it is about.
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

    /// It cannot be launched.
    pub fn fail(id: CheckId, message: impl Into<String>) -> Self {
        Self { id, status: CheckStatus::Fail, message: message.into() }
    }
}

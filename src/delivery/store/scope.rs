//! What a statement applies to: messages of a campaign, and how many rows of which age.

use kernel::{CampaignId, Timestamp, WorkspaceId};

/// Messages of a campaign: of all its occurrences, or of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageScope {
    pub(crate) workspace: WorkspaceId,
    pub(crate) campaign: CampaignId,
    /// Only this occurrence; none means all of them.
    pub(crate) occurrence: Option<i32>,
}

/// Identifies one run of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunKey {
    pub(crate) workspace: WorkspaceId,
    pub(crate) campaign: CampaignId,
    pub(crate) occurrence: i32,
}

/// A page of the rows that are due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DuePage {
    pub(crate) now: Timestamp,
    pub(crate) limit: i64,
}

/// A page of the rows that are older than a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpiredPage {
    pub(crate) before: Timestamp,
    pub(crate) limit: i64,
}

//! The filters of the list of campaigns.

use kernel::Timestamp;

use super::{CampaignChannel, Status};

/// A page of a list.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    pub limit: u32,
    pub offset: u64,
}

/// Empty and absent filters match every campaign.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub statuses: Vec<Status>,
    pub channels: Vec<CampaignChannel>,
    /// At least one of these.
    pub tags: Vec<String>,
    /// Part of the name, the description or a tag, case-insensitive.
    pub text: Option<String>,
    /// One of these actors.
    pub created_by: Vec<String>,
    /// Last edited by one of these actors.
    pub edited_by: Vec<String>,
    /// At this time or later.
    pub created_from: Option<Timestamp>,
    /// Rows of the page.
    pub limit: u32,
    pub offset: u64,
}

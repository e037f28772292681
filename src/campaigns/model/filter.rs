//! Which campaigns a list is to show.

use kernel::Timestamp;

use super::{CampaignChannel, Status};

/// Which campaigns to answer. What is empty or absent asks for nothing.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub statuses: Vec<Status>,
    pub channels: Vec<CampaignChannel>,
    /// At least one of these.
    pub tags: Vec<String>,
    /// Part of the name, the description or a tag, in whatever case.
    pub text: Option<String>,
    /// Made by any of these.
    pub created_by: Vec<String>,
    /// Last edited by any of these.
    pub edited_by: Vec<String>,
    /// Made then or later.
    pub created_from: Option<Timestamp>,
    /// Rows of the page.
    pub limit: u32,
    pub offset: u64,
}

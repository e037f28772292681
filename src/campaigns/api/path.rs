//! Paths of campaigns with more than one parameter.

use kernel::{CampaignId, Result};
use web::http::FromPath;

/// `:campaignId/…/:version`. The version is checked against those of the campaign.
#[derive(Debug, Clone)]
pub(super) struct VersionPath {
    pub(super) campaign: CampaignId,
    pub(super) version: String,
}

impl FromPath for VersionPath {
    type Parameters = (String, String);

    fn from_path((campaign, version): Self::Parameters) -> Result<Self> {
        Ok(Self { campaign: CampaignId::from_path(campaign)?, version })
    }
}

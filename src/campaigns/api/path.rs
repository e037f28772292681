//! Path parameters of campaigns, checked. Text that is no id names no campaign.
//!
//! Only for handlers without a query or a body: elsewhere the id is checked after them, because a bad body is
//! reported before an unknown campaign.

use axum::extract::FromRequestParts;
use http::request::Parts;
use kernel::CampaignId;
use web::http::{ApiError, ApiResult, Path};

use super::campaign_id;

/// `:campaignId`.
#[derive(Debug, Clone, Copy)]
pub(super) struct CampaignPath(pub(super) CampaignId);

/// `:campaignId/…/:version`. The version is checked against those of the campaign.
#[derive(Debug, Clone)]
pub(super) struct VersionPath {
    pub(super) campaign: CampaignId,
    pub(super) version: String,
}

impl<S: Send + Sync> FromRequestParts<S> for CampaignPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let Path(id) = Path::<String>::from_request_parts(parts, state).await?;
        Ok(Self(campaign_id(&id)?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for VersionPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> ApiResult<Self> {
        let Path((id, version)) =
            Path::<(String, String)>::from_request_parts(parts, state).await?;
        Ok(Self { campaign: campaign_id(&id)?, version })
    }
}

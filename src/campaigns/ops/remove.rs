//! Deletes campaigns that were never live, and archives others.

use kernel::{CampaignId, Error, Result};

use super::{NOT_FOUND, Who, archive};
use crate::{CampaignState, store};

/// Attempts while others change the campaign.
const TRIES_MAX: u32 = 100;

/// Deletes a campaign that was never live, with its versions and its history; archives any other.
///
/// # Errors
/// Not found.
pub async fn remove(app: &CampaignState, who: &Who, id: CampaignId) -> Result<()> {
    for _ in 0..TRIES_MAX {
        let campaign = store::find(app.db(), who.workspace, id).await?.ok_or(NOT_FOUND)?;
        if campaign.state.ran {
            return archive(app, who, id).await.map(drop);
        }
        if store::delete(app.db(), who.workspace, &campaign).await? {
            return Ok(());
        }
    }
    Err(Error::Conflict("The campaign is being changed by others; try again".to_owned()))
}

//! Sending without consent: `subscriptionPreference: all` is allowed for transactional lists only.

use audience::model::{SubscriptionPreference, Targeting};
use contacts::lists::{self, model::ListKind};
use kernel::{Error, FieldError, Result, WorkspaceId};

use crate::{CampaignState, model::Definition};

/// The refusal to ignore consent, if the list is not transactional. The list may have changed since the
/// campaign was saved, so this is checked whenever a campaign goes live.
///
/// # Errors
/// If the store fails.
pub async fn fault(
    app: &CampaignState,
    workspace: WorkspaceId,
    definition: &Definition,
) -> Result<Option<FieldError>> {
    let preference = definition.targeting.as_ref().map(Targeting::preference);
    if preference != Some(SubscriptionPreference::All) {
        return Ok(None);
    }
    let kind = match definition.subscription_category_id {
        None => None,
        Some(list) => match lists::ops::get(app, workspace, list).await {
            Ok(list) => Some(list.kind),
            Err(Error::NotFound(_)) => None,
            Err(fault) => return Err(fault),
        },
    };
    let problem = "must not be all unless subscriptionCategoryId is a transactional list";
    let fault = FieldError::new("targeting.subscriptionPreference", problem);
    Ok((kind != Some(ListKind::Transactional)).then_some(fault))
}

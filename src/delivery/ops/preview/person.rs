//! Whether a campaign would reach one person now: by the audience and the rules of a launch.

use audience::model::{Person, Targeting};
use campaigns::model::message::MessageChannel;
use kernel::{CampaignId, Result, UserId, WorkspaceId};

use crate::{
    DeliveryState,
    model::{
        eligibility::{self, Rules},
        message::Purpose,
        skip::Skip,
    },
    ops::transactional::{facts_with, find_user},
};

/// Whether a campaign would reach a person now.
#[derive(Debug, Clone)]
pub struct PersonEligibility {
    /// The internal id of the person.
    pub user: UserId,
    /// The caller's own id of the person.
    pub external_id: Option<String>,
    /// Whether the targeting matches the person.
    pub in_audience: bool,
    /// The first rule that forbids a message, if one does.
    pub skip: Option<Skip>,
}

/// Looks at the live definition. Quiet hours, caps and earlier messages depend on the moment of sending, and are left out.
///
/// # Errors
/// Not found: the campaign, or the person by `text`, an internal id or the caller's own. Errors of the audience query.
pub async fn eligibility(
    app: &DeliveryState,
    workspace: WorkspaceId,
    id: CampaignId,
    text: &str,
) -> Result<PersonEligibility> {
    let campaign = campaigns::ops::find(app, workspace, id).await?;
    let definition = &campaign.definition;
    let targeting = definition.targeting.as_ref();
    let user = find_user(app, workspace, text).await?;
    let channel = MessageChannel::of(definition.channel);
    // A message in an app has no address, and its person is the same on each channel.
    let read_as = channel.unwrap_or(MessageChannel::Push);
    let list = definition.subscription_category_id;
    let facts = facts_with(app, workspace, user, read_as, list).await?;
    let person = Person { user, external_id: facts.recipient.external_id.clone() };
    let matching = audience::ops::includes(app, workspace, &person, &[targeting]).await?;
    let rules = |channel| Rules {
        purpose: Purpose::Campaign,
        channel,
        preference: targeting.map(Targeting::preference).unwrap_or_default(),
        bypass_unsubscribe: false,
    };
    Ok(PersonEligibility {
        user,
        external_id: person.external_id,
        in_audience: matching.first().copied().unwrap_or_default(),
        skip: channel.and_then(|channel| eligibility::admit(&facts, rules(channel)).err()),
    })
}

//! The eligibility check again, right before messages are sent: a profile that opted out after the claim gets nothing.
//! A change that is committed during the provider call is too late.

use std::collections::{BTreeMap, HashMap, HashSet};

use campaigns::model::message::MessageChannel;
use kernel::{CampaignId, MessageId, Result, UserId, WorkspaceId};
use providers::model::Outgoing;
use sqlx::PgConnection;

use super::{
    merged::{DETAIL, Siblings},
    terms::Terms,
};
use crate::{
    DeliveryState,
    model::{
        claimed::{Claimed, ReadyMessage},
        eligibility::{self, Rules},
        merged::{MergedDecision, decide},
        message::Purpose,
        skip::{Skip, SkipReason},
    },
    store::{merged, recipients},
};

/// The messages of a part that are not sent now.
#[derive(Debug, Default)]
pub(crate) struct Recheck {
    /// Those that may not be sent any more, each with the reason.
    pub(crate) refused: HashMap<MessageId, Skip>,
    /// Those that wait for the outcome of a message to the same person.
    pub(crate) waiting: HashSet<MessageId>,
}

/// Checks the messages of a part again.
///
/// # Errors
/// When the store is unavailable.
pub(crate) async fn recheck(
    app: &DeliveryState,
    channel: MessageChannel,
    part: &[ReadyMessage],
    terms: Terms,
) -> Result<Recheck> {
    let mut by_workspace = BTreeMap::<WorkspaceId, Vec<(&Claimed, &Outgoing, UserId)>>::new();
    for ReadyMessage { message, outgoing } in part {
        let (Some(user), false) = (message.user, is_redirected(message)) else { continue };
        by_workspace.entry(message.workspace).or_default().push((message, outgoing, user));
    }
    let mut found = Recheck::default();
    if by_workspace.is_empty() {
        return Ok(found);
    }
    let mut connection = app.db().acquire().await?;
    for (workspace, messages) in by_workspace {
        let users: Vec<UserId> = messages.iter().map(|(_, _, user)| *user).collect();
        let facts =
            recipients::facts(&mut connection, workspace, channel, terms.list(), &users).await?;
        let mut of_survivors = Vec::new();
        for (message, outgoing, user) in messages {
            let gone = || eligibility::Facts { is_deleted: true, ..eligibility::Facts::default() };
            // A profile may have several messages in one part.
            let mut known = facts.get(&user).cloned().unwrap_or_else(gone);
            known.devices.clone_from(&outgoing.devices);
            let rules = Rules {
                purpose: message.purpose,
                channel,
                preference: terms.preference(),
                bypass_unsubscribe: app.transactional().bypass_unsubscribe,
            };
            match eligibility::admit(&known, rules) {
                Err(skip) => {
                    found.refused.insert(message.id, skip);
                }
                Ok(_) if known.is_survivor && terms.one_to_a_person => of_survivors.push(message),
                Ok(_) => {}
            }
        }
        if !of_survivors.is_empty() {
            check_siblings(&mut connection, workspace, &of_survivors, &mut found).await?;
        }
    }
    Ok(found)
}

/// Finds messages to people who got the campaign as another profile, which was merged after the claim.
async fn check_siblings(
    connection: &mut PgConnection,
    workspace: WorkspaceId,
    messages: &[&Claimed],
    found: &mut Recheck,
) -> Result<()> {
    let users: Vec<UserId> = messages.iter().filter_map(|message| message.user).collect();
    let survivors = merged::of_users(connection, workspace, &users).await?.survivors;
    let mut by_campaign = BTreeMap::<CampaignId, Vec<(&Claimed, UserId)>>::new();
    for message in messages {
        let (Some(campaign), Some(user)) = (message.campaign, message.user) else { continue };
        by_campaign.entry(campaign).or_default().push((message, user));
    }
    for (campaign, messages) in by_campaign {
        let siblings = Siblings::of(connection, workspace, campaign, &survivors).await?;
        for (message, user) in messages {
            match decide(true, &siblings.besides(user, message)) {
                MergedDecision::Send => {}
                MergedDecision::Skip => {
                    found.refused.insert(message.id, Skip::new(SkipReason::Merged, DETAIL));
                }
                MergedDecision::Wait => {
                    found.waiting.insert(message.id);
                }
            }
        }
    }
    Ok(())
}

/// A test may go to another address than the profile's; then the profile's consent does not count.
fn is_redirected(message: &Claimed) -> bool {
    let to = message.context.as_ref().and_then(|context| context.get("to"));
    message.purpose == Purpose::Test && to.is_some_and(serde_json::Value::is_string)
}

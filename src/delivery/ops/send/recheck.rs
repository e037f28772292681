//! The eligibility check again, right before messages are sent: a profile that opted out after the claim gets nothing.
//! A change that is committed during the provider call is too late.

use std::collections::{BTreeMap, HashMap};

use campaigns::model::message::MessageChannel;
use kernel::{MessageId, Result, UserId, WorkspaceId};
use providers::model::Outgoing;

use super::terms::Terms;
use crate::{
    DeliveryState,
    model::{
        claimed::{Claimed, ReadyMessage},
        eligibility::{self, Rules},
        message::Purpose,
        skip::Skip,
    },
    store::recipients,
};

/// The messages of a part that may not be sent any more, each with the reason.
///
/// # Errors
/// When the store is unavailable.
pub(crate) async fn refused(
    app: &DeliveryState,
    channel: MessageChannel,
    part: &[ReadyMessage],
    terms: Terms,
) -> Result<HashMap<MessageId, Skip>> {
    let mut by_workspace = BTreeMap::<WorkspaceId, Vec<(&Claimed, &Outgoing, UserId)>>::new();
    for ReadyMessage { message, outgoing } in part {
        let (Some(user), false) = (message.user, is_redirected(message)) else { continue };
        by_workspace.entry(message.workspace).or_default().push((message, outgoing, user));
    }
    let mut refused = HashMap::new();
    if by_workspace.is_empty() {
        return Ok(refused);
    }
    let mut connection = app.db().acquire().await?;
    for (workspace, messages) in by_workspace {
        let users: Vec<UserId> = messages.iter().map(|(_, _, user)| *user).collect();
        let facts =
            recipients::facts(&mut connection, workspace, channel, terms.list(), &users).await?;
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
            if let Err(skip) = eligibility::admit(&known, rules) {
                refused.insert(message.id, skip);
            }
        }
    }
    Ok(refused)
}

/// A test may go to another address than the profile's; then the profile's consent does not count.
fn is_redirected(message: &Claimed) -> bool {
    let to = message.context.as_ref().and_then(|context| context.get("to"));
    message.purpose == Purpose::Test && to.is_some_and(serde_json::Value::is_string)
}

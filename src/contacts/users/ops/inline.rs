//! Subscriptions and events sent together with users: applied after the profiles, subscriptions by consent's
//! own functions and events by the write path. A failure does not fail the call; it is reported as a reason.

use kernel::{Tenant, UserId, WorkspaceId};
use web::{Services, audit::Origin};

use crate::{
    consent::{
        model::{Outcome, Wish},
        ops::apply_inline,
    },
    events::ops::track::{InlineEvent, track_inline},
    users::model::inline::{Event, Subscription},
};

/// Reason for skipping a subscription without a list.
const NO_LIST: &str = "listId is required";

/// Applies subscriptions in order. Returns the reason for each one that was skipped.
pub async fn subscribe(
    app: &Services,
    tenant: Tenant,
    origin: &Origin,
    wishes: &[(UserId, &Subscription)],
) -> Vec<Option<String>> {
    let named: Vec<Wish> = wishes
        .iter()
        .filter_map(|(user, wish)| {
            let (channel, status) = (wish.channel, wish.status);
            Some(Wish { user: *user, list: wish.list.clone()?, channel, status })
        })
        .collect();
    if named.is_empty() {
        return vec![Some(NO_LIST.to_owned()); wishes.len()];
    }
    let mut outcomes =
        match apply_inline(app.db(), app.clock().now(), tenant, origin, &named).await {
            Ok(outcomes) => outcomes.into_iter().map(skipped).collect(),
            Err(error) => {
                tracing::error!(%error, "inline subscriptions could not be applied");
                vec![Some("subscriptions cannot be stored at the moment".to_owned()); named.len()]
            }
        }
        .into_iter();
    let reason = |wish: &Subscription| match &wish.list {
        Some(_) => outcomes.next().flatten(),
        None => Some(NO_LIST.to_owned()),
    };
    wishes.iter().map(|(_, wish)| *wish).map(reason).collect()
}

fn skipped(outcome: Outcome) -> Option<String> {
    match outcome {
        Outcome::Applied => None,
        Outcome::Skipped(reason) => Some(reason.to_string()),
    }
}

/// The user to which an inline event belongs.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'u> {
    pub id: UserId,
    pub external_id: Option<&'u str>,
}

/// Records events, all of them durable at once. Returns the reason for each one that was rejected.
pub async fn track(
    app: &Services,
    workspace: WorkspaceId,
    events: &[(Owner<'_>, Event<'_>)],
) -> Vec<Option<String>> {
    let events: Vec<InlineEvent<'_>> = events
        .iter()
        .map(|(owner, event)| InlineEvent {
            user: owner.id,
            external_id: owner.external_id,
            name: event.name,
            properties: event.properties,
            timestamp: event.timestamp,
        })
        .collect();
    if events.is_empty() {
        return Vec::new();
    }
    track_inline(app, workspace, &events).await
}

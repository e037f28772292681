//! Subscriptions and events sent together with users: applied after the profiles, subscriptions by consent's
//! own functions and events by the write path. A failure does not fail the call; it is reported as a reason.

use kernel::{Tenant, UserId};
use web::{Services, audit::Origin};

use crate::{
    consent::{
        model::{Outcome, SubscriptionRequest},
        ops::apply_inline,
    },
    events::ops::track::{InlineEvent, TrackKey, track_inline},
    users::model::inline::{Event, Subscription},
};

/// Reason for skipping a subscription without a list.
const NO_LIST: &str = "listId is required";

/// A subscription sent together with its user.
#[derive(Debug, Clone, Copy)]
pub struct UserSubscription<'s> {
    pub user: UserId,
    pub subscription: &'s Subscription,
}

/// Applies subscriptions in order. Returns the reason for each one that was skipped.
pub async fn subscribe(
    app: &Services,
    tenant: Tenant,
    origin: &Origin,
    requests: &[UserSubscription<'_>],
) -> Vec<Option<String>> {
    let named: Vec<SubscriptionRequest> = requests
        .iter()
        .filter_map(|UserSubscription { user, subscription }| {
            let (channel, status) = (subscription.channel, subscription.status);
            let list = subscription.list.clone()?;
            Some(SubscriptionRequest { user: *user, list, channel, status })
        })
        .collect();
    if named.is_empty() {
        return vec![Some(NO_LIST.to_owned()); requests.len()];
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
    let reason = |request: &UserSubscription<'_>| match &request.subscription.list {
        Some(_) => outcomes.next().flatten(),
        None => Some(NO_LIST.to_owned()),
    };
    requests.iter().map(reason).collect()
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

/// An event sent together with its user.
#[derive(Debug, Clone, Copy)]
pub struct UserEvent<'e> {
    pub owner: Owner<'e>,
    pub event: Event<'e>,
}

/// Records events, all of them durable at once. Returns the reason for each one that was rejected.
pub async fn track(app: &Services, key: TrackKey, events: &[UserEvent<'_>]) -> Vec<Option<String>> {
    let events: Vec<InlineEvent<'_>> = events
        .iter()
        .map(|UserEvent { owner, event }| InlineEvent {
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
    track_inline(app, key, &events).await
}

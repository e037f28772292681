//! What came along with users: subscriptions by consent's own path, events by the write path, both
//! after the profiles. Nothing here fails the call: what could not be done is said, with the reason.

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

/// Why a subscription without a list is skipped.
const NO_LIST: &str = "listId is required";

/// Applies subscriptions in order; gives for each the reason why it was skipped, where it was.
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

/// Whose an inline event is.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'u> {
    pub id: UserId,
    /// The caller's own id of it.
    pub external_id: Option<&'u str>,
}

/// Records events, all of them durable at once; gives for each the reason why it was rejected, where
/// it was.
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

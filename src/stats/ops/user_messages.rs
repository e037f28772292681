//! What became of the messages to a person.

use std::collections::{BTreeSet, HashMap};

use analytics::messages::{self, MessageEvent, MessageEventFilter};
use contacts::users;
use kernel::{Result, Timestamp, UserId, WorkspaceId};
use uuid::Uuid;
use web::{Services, http::DateRange};

use crate::store;

/// Which of the entries of a person.
#[derive(Debug, Clone, Copy)]
pub struct UserMessagesFilter {
    pub range: DateRange,
    pub limit: u32,
    pub offset: u64,
}

/// Something that happened to a message, with its campaign.
#[derive(Debug, Clone)]
pub struct NamedMessageEvent {
    pub event: MessageEvent,
    /// None for a message of no campaign.
    pub campaign: Option<NamedCampaign>,
}

/// A campaign by its id, with its name while it exists.
#[derive(Debug, Clone)]
pub struct NamedCampaign {
    pub id: Uuid,
    pub name: Option<String>,
}

/// What happened to messages to an active profile, and to those merged into it, newest first.
///
/// # Errors
/// Not found without such a profile.
pub async fn user_messages(
    app: &Services,
    workspace: WorkspaceId,
    user: UserId,
    filter: UserMessagesFilter,
) -> Result<Vec<NamedMessageEvent>> {
    let profile = users::ops::by_id(app.db(), workspace, user).await?;
    let merged = store::people::merged(app.db(), workspace, &[profile.id]).await?;
    let ids = std::iter::once(profile.id).chain(merged.into_values().flatten());
    let filter = MessageEventFilter {
        users: ids.map(|id| id.to_string()).collect(),
        start_ms: filter.range.start.map(Timestamp::millis),
        end_ms: filter.range.end.map(Timestamp::millis),
        limit: filter.limit,
        offset: filter.offset,
    };
    let events = messages::of_users(app.analytics(), workspace.uuid(), &filter).await?;
    let campaigns: BTreeSet<Uuid> = events.iter().filter_map(MessageEvent::campaign).collect();
    let campaigns: Vec<Uuid> = campaigns.into_iter().collect();
    let names: HashMap<Uuid, String> =
        store::campaigns::names(app.db(), workspace, &campaigns).await?;
    let named = |event: MessageEvent| {
        let campaign = event.campaign();
        let campaign = campaign.map(|id| NamedCampaign { id, name: names.get(&id).cloned() });
        NamedMessageEvent { event, campaign }
    };
    Ok(events.into_iter().map(named).collect())
}

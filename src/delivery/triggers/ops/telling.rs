//! Tells that the messages of entries are queued.

use std::collections::HashMap;

use ingest::record::{MessageEvent, MessageKind};
use kernel::{Result, Timestamp, WorkspaceId};

use crate::{
    DeliveryState,
    model::message::{NewMessage, campaign_uuid, channel_name, message_id},
    triggers::store::{self, Untold},
};

/// Entries told of at one time.
const PAGE: i64 = 1000;

/// Tells of new messages; answers whether it could be told.
pub(super) async fn queued(
    app: &DeliveryState,
    workspace: WorkspaceId,
    messages: &[NewMessage],
    now: Timestamp,
) -> bool {
    let users: Vec<String> = messages
        .iter()
        .map(|message| message.user.map(|user| user.to_string()).unwrap_or_default())
        .collect();
    let events: Vec<MessageEvent<'_>> = messages
        .iter()
        .zip(&users)
        .map(|(message, user_id)| MessageEvent {
            campaign_id: campaign_uuid(message.campaign),
            kind: MessageKind::Queued,
            user_id,
            message_id: message.id.uuid(),
            occurrence: message.occurrence.unsigned_abs(),
            channel: channel_name(message.channel),
            timestamp_ms: now.millis(),
            ..MessageEvent::default()
        })
        .collect();
    tell(app, workspace, &events, now).await
}

/// Tells of entries of which nobody could be told when they were kept.
///
/// # Errors
/// When the store is away.
pub(super) async fn untold(app: &DeliveryState) -> Result<()> {
    let entries = store::untold(app.db(), PAGE).await?;
    let mut by_workspace: HashMap<WorkspaceId, Vec<&Untold>> = HashMap::new();
    for entry in &entries {
        by_workspace.entry(entry.workspace).or_default().push(entry);
    }
    let now = app.clock().now();
    for (workspace, entries) in by_workspace {
        let users: Vec<String> = entries.iter().map(|entry| entry.user.to_string()).collect();
        let events: Vec<MessageEvent<'_>> = entries
            .iter()
            .zip(&users)
            .map(|(entry, user_id)| MessageEvent {
                campaign_id: entry.campaign.uuid(),
                kind: MessageKind::Queued,
                user_id,
                message_id: message_id(entry.campaign, entry.number, &entry.user).uuid(),
                occurrence: entry.number.unsigned_abs(),
                channel: &entry.channel,
                timestamp_ms: now.millis(),
                ..MessageEvent::default()
            })
            .collect();
        if tell(app, workspace, &events, now).await {
            store::told(app.db(), workspace, &entries).await?;
        }
    }
    Ok(())
}

async fn tell(
    app: &DeliveryState,
    workspace: WorkspaceId,
    events: &[MessageEvent<'_>],
    now: Timestamp,
) -> bool {
    let told = app.intake().append_message_events(workspace.uuid(), events, now.millis()).await;
    if let Err(error) = &told {
        tracing::warn!(%error, messages = events.len(), "it is told later that messages are queued");
    }
    told.is_ok()
}

//! Publishes `queued` events of the messages of entries.

use std::collections::HashMap;

use ingest::record::{MessageEvent, MessageKind};
use kernel::{Result, Timestamp, WorkspaceId};

use crate::{
    DeliveryState,
    model::message::{NewMessage, campaign_uuid, channel_name, message_id},
    triggers::store::{self, Unpublished},
};

/// Entries published at one time.
const PAGE: i64 = 1000;

/// Publishes that new messages are queued; false when the spool did not take it.
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
    publish(app, workspace, &events, now).await
}

/// Publishes events of entries that the spool did not take when they were stored.
///
/// # Errors
/// When PostgreSQL is unavailable.
pub(super) async fn publish_unpublished(app: &DeliveryState) -> Result<()> {
    let entries = store::unpublished(app.db(), PAGE).await?;
    let mut by_workspace: HashMap<WorkspaceId, Vec<&Unpublished>> = HashMap::new();
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
        if publish(app, workspace, &events, now).await {
            store::mark_published(app.db(), workspace, &entries).await?;
        }
    }
    Ok(())
}

async fn publish(
    app: &DeliveryState,
    workspace: WorkspaceId,
    events: &[MessageEvent<'_>],
    now: Timestamp,
) -> bool {
    let published =
        app.intake().append_message_events(workspace.uuid(), events, now.millis()).await;
    if let Err(error) = &published {
        tracing::warn!(%error, messages = events.len(), "queued events not published, will retry");
    }
    published.is_ok()
}

//! Publishes `queued` events of the messages of entries.

use std::collections::HashMap;

use ingest::record::MessageKind;
use kernel::{Result, Timestamp, WorkspaceId};

use crate::{
    DeliveryState,
    model::message::{NewMessage, message_id},
    ops::lifecycle::{self, LifecycleEvent, MessageIdentity},
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
    let events: Vec<LifecycleEvent> = messages
        .iter()
        .map(|message| {
            let identity = MessageIdentity::of_new(workspace, message);
            LifecycleEvent::new(identity, MessageKind::Queued)
        })
        .collect();
    publish(app, &events, now).await
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
        let events: Vec<LifecycleEvent> = entries
            .iter()
            .map(|entry| LifecycleEvent::new(identity(entry), MessageKind::Queued))
            .collect();
        if publish(app, &events, now).await {
            store::mark_published(app.db(), workspace, &entries).await?;
        }
    }
    Ok(())
}

fn identity(entry: &Unpublished) -> MessageIdentity {
    MessageIdentity {
        workspace: entry.workspace,
        campaign: Some(entry.campaign),
        message: message_id(entry.campaign, entry.number, &entry.user),
        occurrence: entry.number,
        user: Some(entry.user),
        variant: None,
        channel: entry.channel.clone().into(),
        is_test: false,
    }
}

async fn publish(app: &DeliveryState, events: &[LifecycleEvent], now: Timestamp) -> bool {
    let published = lifecycle::publish(app, events, now).await;
    if let Err(error) = &published {
        tracing::warn!(%error, messages = events.len(), "queued events not published, will retry");
    }
    published.is_ok()
}

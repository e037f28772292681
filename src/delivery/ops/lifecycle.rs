//! Message lifecycle events, appended to the spool before PostgreSQL is updated; every report is made of them.
//!
//! Appending is idempotent (message, kind, event id), so a retry cannot count twice; the other order could lose an event.

use ingest::record::{MessageEvent, MessageKind};
use kernel::{Error, Result, Timestamp, WorkspaceId};

use crate::{
    DeliveryState,
    model::{
        claimed::{Claimed, MessageStatus, UNKNOWN},
        message::{NewMessage, Purpose, campaign_uuid, channel_name},
    },
};

/// One event of a message.
#[derive(Debug, Clone)]
pub(crate) struct LifecycleEvent {
    pub(crate) kind: MessageKind,
    campaign: uuid::Uuid,
    user: String,
    message: uuid::Uuid,
    occurrence: u32,
    variant: String,
    channel: &'static str,
    is_test: bool,
    event_id: String,
    code: String,
    reason: String,
}

impl LifecycleEvent {
    /// An event of a claimed message.
    pub(crate) fn of(message: &Claimed, kind: MessageKind) -> Self {
        Self {
            kind,
            campaign: campaign_uuid(message.campaign),
            user: message.user.map(|user| user.to_string()).unwrap_or_default(),
            message: message.id.uuid(),
            occurrence: u32::try_from(message.occurrence).unwrap_or(0),
            variant: message.variant.clone().unwrap_or_default(),
            channel: channel_name(message.channel),
            is_test: message.purpose == Purpose::Test,
            event_id: String::new(),
            code: String::new(),
            reason: String::new(),
        }
    }

    /// An event of a message that is being inserted.
    pub(crate) fn of_new(message: &NewMessage, kind: MessageKind) -> Self {
        Self {
            kind,
            campaign: campaign_uuid(message.campaign),
            user: message.user.map(|user| user.to_string()).unwrap_or_default(),
            message: message.id.uuid(),
            occurrence: u32::try_from(message.occurrence).unwrap_or(0),
            variant: message.variant.clone().unwrap_or_default(),
            channel: channel_name(message.channel),
            is_test: message.purpose == Purpose::Test,
            event_id: String::new(),
            code: String::new(),
            reason: String::new(),
        }
    }

    /// With the code of a rule or provider, and its text.
    pub(crate) fn why(self, code: &str, reason: &str) -> Self {
        Self { code: code.to_owned(), reason: reason.to_owned(), ..self }
    }

    /// With an event id, for kinds that can happen to a message several times.
    fn named(self, event_id: String) -> Self {
        Self { event_id, ..self }
    }

    fn event(&self, at: Timestamp) -> MessageEvent<'_> {
        MessageEvent {
            campaign_id: self.campaign,
            kind: self.kind,
            user_id: &self.user,
            message_id: self.message,
            event_id: &self.event_id,
            timestamp_ms: at.millis(),
            occurrence: self.occurrence,
            variant_id: &self.variant,
            channel: self.channel,
            is_test: self.is_test,
            code: &self.code,
            reason: &self.reason,
            ..MessageEvent::default()
        }
    }
}

/// The event of a message that gets this status; none where no report counts it.
pub(crate) fn of_status(message: &Claimed, status: &MessageStatus) -> Option<LifecycleEvent> {
    let event = |kind| LifecycleEvent::of(message, kind);
    Some(match status {
        MessageStatus::Sending { .. } | MessageStatus::Back { .. } => return None,
        MessageStatus::Held { until, code, reason } => {
            event(MessageKind::Held).why(code, reason).named(format!("{code}:{}", until.millis()))
        }
        MessageStatus::Sent { .. } => event(MessageKind::Sent),
        MessageStatus::Skipped { code, reason } => event(MessageKind::Skipped).why(code, reason),
        MessageStatus::Control => event(MessageKind::Control),
        MessageStatus::Failed { code, reason } => event(MessageKind::Failed).why(code, reason),
        MessageStatus::Unknown { reason } => event(MessageKind::Failed).why(UNKNOWN, reason),
        MessageStatus::Cancelled => event(MessageKind::Cancelled),
    })
}

/// The event of a message that a provider deferred.
pub(crate) fn deferred(message: &Claimed, (code, reason): (&str, &str)) -> LifecycleEvent {
    let name = message.attempts.saturating_add(1).to_string();
    LifecycleEvent::of(message, MessageKind::Deferred).why(code, reason).named(name)
}

/// Publishes events of one workspace; returns once they are durable.
///
/// # Errors
/// Unavailable when the spool has no room.
pub(crate) async fn publish(
    app: &DeliveryState,
    workspace: WorkspaceId,
    events: &[LifecycleEvent],
    at: Timestamp,
) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let events: Vec<MessageEvent<'_>> = events.iter().map(|event| event.event(at)).collect();
    app.intake().append_message_events(workspace.uuid(), &events, at.millis()).await.map_err(
        |error| {
            tracing::warn!(%error, "message events not published");
            Error::store_unavailable()
        },
    )
}

/// Publishes events of several workspaces.
///
/// # Errors
/// As [`publish`].
pub(crate) async fn publish_all(
    app: &DeliveryState,
    events: Vec<(WorkspaceId, LifecycleEvent)>,
    at: Timestamp,
) -> Result<()> {
    let mut by_workspace = std::collections::BTreeMap::<WorkspaceId, Vec<LifecycleEvent>>::new();
    for (workspace, event) in events {
        by_workspace.entry(workspace).or_default().push(event);
    }
    for (workspace, events) in by_workspace {
        publish(app, workspace, &events, at).await?;
    }
    Ok(())
}

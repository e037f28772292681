//! Message events, appended to the spool before PostgreSQL is updated; every report is computed from them.
//!
//! Appending is idempotent (message, kind, event id), so a retry cannot count twice; the other order could lose an event.

use std::{borrow::Cow, collections::BTreeMap};

use ingest::record::{MessageEvent, MessageKind};
use kernel::{CampaignId, MessageId, Result, Timestamp, UserId, WorkspaceId};
use web::spool::append_failed;

use crate::{
    DeliveryState,
    model::{
        claimed::{Claimed, MessageStatus, UNKNOWN},
        message::{NewMessage, Purpose, Start, campaign_uuid, channel_name},
    },
    store::feedback::Subject,
};

/// The message that an event belongs to.
#[derive(Debug, Clone)]
pub struct MessageIdentity {
    pub workspace: WorkspaceId,
    pub campaign: Option<CampaignId>,
    pub message: MessageId,
    /// Number of the campaign's run; for a triggered campaign, of the recipient's entry.
    pub occurrence: i32,
    pub user: Option<UserId>,
    pub variant: Option<String>,
    pub channel: Cow<'static, str>,
    pub is_test: bool,
}

impl MessageIdentity {
    pub(crate) fn of_new(workspace: WorkspaceId, message: &NewMessage) -> Self {
        Self {
            workspace,
            campaign: message.campaign,
            message: message.id,
            occurrence: message.occurrence,
            user: message.user,
            variant: message.variant.clone(),
            channel: channel_name(message.channel).into(),
            is_test: message.purpose == Purpose::Test,
        }
    }
}

impl From<&Claimed> for MessageIdentity {
    fn from(message: &Claimed) -> Self {
        Self {
            workspace: message.workspace,
            campaign: message.campaign,
            message: message.id,
            occurrence: message.occurrence,
            user: message.user,
            variant: message.variant.clone(),
            channel: channel_name(message.channel).into(),
            is_test: message.purpose == Purpose::Test,
        }
    }
}

impl From<&Subject> for MessageIdentity {
    fn from(subject: &Subject) -> Self {
        Self {
            workspace: subject.tenant.workspace,
            campaign: subject.campaign,
            message: subject.message,
            occurrence: subject.occurrence,
            user: subject.user,
            variant: subject.variant.clone(),
            channel: subject.channel.clone().into(),
            is_test: subject.is_test,
        }
    }
}

/// One event of a message.
#[derive(Debug, Clone)]
pub struct LifecycleEvent {
    pub message: MessageIdentity,
    pub kind: MessageKind,
    /// Distinguishes events of a kind that can happen to a message several times.
    pub event_id: String,
    /// When it happened; by default when it is published. A later time is published as now, because the clock of
    /// a device or provider may be ahead.
    pub at: Option<Timestamp>,
    /// The code of a rule or provider.
    pub code: String,
    pub reason: String,
    /// The label of a link, or the kind of a bounce.
    pub label: String,
    pub url: String,
    pub is_bot: bool,
    pub platform: &'static str,
    pub app_id: String,
    pub button_id: String,
}

impl LifecycleEvent {
    pub fn new(message: MessageIdentity, kind: MessageKind) -> Self {
        Self {
            message,
            kind,
            event_id: String::new(),
            at: None,
            code: String::new(),
            reason: String::new(),
            label: String::new(),
            url: String::new(),
            is_bot: false,
            platform: "",
            app_id: String::new(),
            button_id: String::new(),
        }
    }

    #[must_use]
    pub fn because(self, code: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { code: code.into(), reason: reason.into(), ..self }
    }
}

/// The event of a message that gets this status; none if no report counts it.
pub(crate) fn of_status(message: &Claimed, status: &MessageStatus) -> Option<LifecycleEvent> {
    let event = |kind| LifecycleEvent::new(message.into(), kind);
    if message.is_control && *status != MessageStatus::Control {
        return None;
    }
    Some(match status {
        MessageStatus::Sending { .. } | MessageStatus::Released { .. } => return None,
        MessageStatus::Held { until, skip } => {
            let code = skip.reason.code();
            let event_id = format!("{code}:{}", until.millis());
            LifecycleEvent { event_id, ..event(MessageKind::Held).because(code, &skip.detail) }
        }
        MessageStatus::Deferred { code, reason, .. } => {
            let event_id = message.attempts.saturating_add(1).to_string();
            LifecycleEvent { event_id, ..event(MessageKind::Deferred).because(code, reason) }
        }
        MessageStatus::Sent { .. } => event(MessageKind::Sent),
        MessageStatus::Skipped(skip) => {
            event(MessageKind::Skipped).because(skip.reason.code(), &skip.detail)
        }
        MessageStatus::Control => event(MessageKind::Control),
        MessageStatus::Failed { code, reason } => event(MessageKind::Failed).because(code, reason),
        MessageStatus::Unknown { reason } => event(MessageKind::Failed).because(UNKNOWN, reason),
        MessageStatus::Cancelled => event(MessageKind::Cancelled),
    })
}

/// The events of a message that is being inserted.
pub(crate) fn of_new(workspace: WorkspaceId, message: &NewMessage) -> Vec<LifecycleEvent> {
    let identity = MessageIdentity::of_new(workspace, message);
    match &message.start {
        Start::Queued { .. } => vec![LifecycleEvent::new(identity, MessageKind::Queued)],
        Start::Skipped(skip) => {
            let skipped = LifecycleEvent::new(identity.clone(), MessageKind::Skipped)
                .because(skip.reason.code(), &skip.detail);
            vec![LifecycleEvent::new(identity, MessageKind::Queued), skipped]
        }
        Start::Control { .. } => Vec::new(),
    }
}

/// Publishes events; returns once they are durable. The events of each workspace are one append: on an error, events
/// of some workspaces may be durable, and publishing all again counts none twice.
///
/// # Errors
/// Unavailable when the spool has no room; internal when it cannot write.
pub async fn publish(app: &DeliveryState, events: &[LifecycleEvent], now: Timestamp) -> Result<()> {
    let mut by_workspace = BTreeMap::<WorkspaceId, Vec<&LifecycleEvent>>::new();
    for event in events {
        by_workspace.entry(event.message.workspace).or_default().push(event);
    }
    for (workspace, events) in by_workspace {
        let users: Vec<String> = events
            .iter()
            .map(|event| event.message.user.map(|user| user.to_string()).unwrap_or_default())
            .collect();
        let records: Vec<MessageEvent<'_>> =
            events.iter().zip(&users).map(|(event, user)| record(event, user, now)).collect();
        app.intake()
            .append_message_events(workspace.uuid(), &records, now.millis())
            .await
            .map_err(append_failed)?;
    }
    Ok(())
}

fn record<'a>(event: &'a LifecycleEvent, user_id: &'a str, now: Timestamp) -> MessageEvent<'a> {
    let message = &event.message;
    MessageEvent {
        campaign_id: campaign_uuid(message.campaign),
        kind: event.kind,
        user_id,
        message_id: message.message.uuid(),
        event_id: &event.event_id,
        timestamp_ms: event.at.map_or(now, |at| at.min(now)).millis(),
        occurrence: u32::try_from(message.occurrence).unwrap_or_default(),
        variant_id: message.variant.as_deref().unwrap_or_default(),
        channel: &message.channel,
        is_bot: event.is_bot,
        is_test: message.is_test,
        url: &event.url,
        label: &event.label,
        code: &event.code,
        reason: &event.reason,
        platform: event.platform,
        app_id: &event.app_id,
        button_id: &event.button_id,
        ..MessageEvent::default()
    }
}

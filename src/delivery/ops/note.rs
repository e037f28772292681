//! What is told of messages: notes for the spool, from which every report is made.
//!
//! First told, then kept: what is told twice is one event, what is forgotten is none.

use ingest::record::{MessageEvent, MessageKind};
use kernel::{Error, Result, Timestamp, WorkspaceId};

use crate::{
    DeliveryState,
    model::{
        claimed::{Claimed, Standing, UNKNOWN},
        message::{NewMessage, Purpose, campaign_uuid, channel_name},
    },
};

/// One thing that happened to a message.
#[derive(Debug, Clone)]
pub(super) struct Note {
    pub(super) kind: MessageKind,
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

impl Note {
    /// Of a message in a sender's hands.
    pub(super) fn of(message: &Claimed, kind: MessageKind) -> Self {
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

    /// Of a message that is being kept.
    pub(super) fn of_new(message: &NewMessage, kind: MessageKind) -> Self {
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

    /// The rule or the code of it, and the words.
    pub(super) fn why(self, code: &str, reason: &str) -> Self {
        Self { code: code.to_owned(), reason: reason.to_owned(), ..self }
    }

    /// As one of several of its kind that can happen to a message.
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

/// What is told of a message that comes to stand so.
pub(super) fn of_standing(message: &Claimed, standing: &Standing) -> Option<Note> {
    let note = |kind| Note::of(message, kind);
    Some(match standing {
        Standing::Sending { .. } | Standing::Back { .. } => return None,
        Standing::Held { until, code, reason } => {
            note(MessageKind::Held).why(code, reason).named(format!("{code}:{}", until.millis()))
        }
        Standing::Sent { .. } => note(MessageKind::Sent),
        Standing::Skipped { code, reason } => note(MessageKind::Skipped).why(code, reason),
        Standing::Control => note(MessageKind::Control),
        Standing::Failed { code, reason } => note(MessageKind::Failed).why(code, reason),
        Standing::Unknown { reason } => note(MessageKind::Failed).why(UNKNOWN, reason),
        Standing::Cancelled => note(MessageKind::Cancelled),
    })
}

/// What is told of a message that a provider put off.
pub(super) fn deferred(message: &Claimed, (code, reason): (&str, &str)) -> Note {
    let name = message.attempts.saturating_add(1).to_string();
    Note::of(message, MessageKind::Deferred).why(code, reason).named(name)
}

/// Tells of messages of one workspace; returns once that is durable.
///
/// # Errors
/// Unavailable when there is no room for it now.
pub(super) async fn tell(
    app: &DeliveryState,
    workspace: WorkspaceId,
    notes: &[Note],
    at: Timestamp,
) -> Result<()> {
    if notes.is_empty() {
        return Ok(());
    }
    let events: Vec<MessageEvent<'_>> = notes.iter().map(|note| note.event(at)).collect();
    app.intake().append_message_events(workspace.uuid(), &events, at.millis()).await.map_err(
        |error| {
            tracing::warn!(%error, "cannot tell of messages");
            Error::store_unavailable()
        },
    )
}

/// Tells of messages of whichever workspaces.
///
/// # Errors
/// As [`tell`].
pub(super) async fn tell_all(
    app: &DeliveryState,
    notes: Vec<(WorkspaceId, Note)>,
    at: Timestamp,
) -> Result<()> {
    let mut by_workspace = std::collections::BTreeMap::<WorkspaceId, Vec<Note>>::new();
    for (workspace, note) in notes {
        by_workspace.entry(workspace).or_default().push(note);
    }
    for (workspace, notes) in by_workspace {
        tell(app, workspace, &notes, at).await?;
    }
    Ok(())
}

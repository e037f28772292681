//! What recipients do with the links and the pixel of a message, told in the reports.

use ingest::record::{MessageEvent, MessageKind};
use kernel::{Error, Result, Timestamp};
use providers::model::Reference;
use uuid::Uuid;

use crate::{
    DeliveryState,
    store::{feedback, short_links},
};

/// What a recipient did, or a machine on their behalf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Engaged {
    /// The pixel was fetched.
    Opened,
    /// A link was followed.
    Clicked { target: String, label: String },
}

/// One thing a recipient did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engagement {
    pub message: Reference,
    pub engaged: Engaged,
    pub at: Timestamp,
    /// Whether a machine did it.
    pub is_bot: bool,
}

/// Tells of it, durably. Nothing is told of a message that is not there.
///
/// # Errors
/// When it cannot be told.
pub async fn publish(app: &DeliveryState, done: &Engagement) -> Result<()> {
    let found = feedback::find(app.db(), &[done.message]).await?;
    let Some(subject) = found.get(&done.message) else { return Ok(()) };
    let user = subject.user.map(|user| user.to_string()).unwrap_or_default();
    // Each is one of its own: somebody may open a message twice in a second.
    let event_id = Uuid::new_v4().simple().to_string();
    let (kind, url, label) = match &done.engaged {
        Engaged::Opened => (MessageKind::Opened, "", ""),
        Engaged::Clicked { target, label } => {
            (MessageKind::Clicked, target.as_str(), label.as_str())
        }
    };
    let event = MessageEvent {
        campaign_id: subject.campaign.map_or(Uuid::nil(), kernel::CampaignId::uuid),
        kind,
        user_id: &user,
        message_id: subject.message.uuid(),
        event_id: &event_id,
        timestamp_ms: done.at.millis(),
        occurrence: u32::try_from(subject.occurrence).unwrap_or_default(),
        variant_id: subject.variant.as_deref().unwrap_or_default(),
        channel: &subject.channel,
        is_bot: done.is_bot,
        is_test: subject.is_test,
        url,
        label,
        ..MessageEvent::default()
    };
    let workspace = done.message.workspace.uuid();
    let told = app.intake().append_message_events(workspace, &[event], done.at.millis()).await;
    told.map_err(|error| Error::Internal(error.into()))
}

/// The message that a short link is in, and where it leads.
///
/// # Errors
/// When the store fails.
pub async fn short_link(app: &DeliveryState, code: &str) -> Result<Option<(Reference, String)>> {
    short_links::find(app.db(), code).await
}

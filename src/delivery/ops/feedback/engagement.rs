//! Opens and clicks of recipients, as message events.

use ingest::record::MessageKind;
use kernel::{Result, Timestamp};
use providers::model::Reference;
use uuid::Uuid;

use crate::{
    DeliveryState,
    ops::lifecycle::{self, LifecycleEvent},
    store::{feedback, short_links},
};

/// An open or a click, by a recipient or a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Engaged {
    /// The pixel was fetched.
    Opened,
    /// A link was followed.
    Clicked { target: String, label: String },
}

/// An engagement of a recipient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engagement {
    pub message: Reference,
    pub engaged: Engaged,
    pub at: Timestamp,
    /// Whether a machine did it.
    pub is_bot: bool,
}

/// Publishes it durably. Nothing is published for an unknown message.
///
/// # Errors
/// When it cannot be published.
pub async fn publish(app: &DeliveryState, done: &Engagement) -> Result<()> {
    let found = feedback::find(app.db(), &[done.message]).await?;
    let Some(subject) = found.get(&done.message) else { return Ok(()) };
    let (kind, url, label) = match &done.engaged {
        Engaged::Opened => (MessageKind::Opened, "", ""),
        Engaged::Clicked { target, label } => {
            (MessageKind::Clicked, target.as_str(), label.as_str())
        }
    };
    let event = LifecycleEvent {
        // A recipient may open a message twice in a second, and each is an event of its own.
        event_id: Uuid::new_v4().simple().to_string(),
        at: Some(done.at),
        url: url.to_owned(),
        label: label.to_owned(),
        is_bot: done.is_bot,
        ..LifecycleEvent::new(subject.into(), kind)
    };
    lifecycle::publish(app, &[event], done.at).await
}

/// The message that a short link is in, and where it leads.
///
/// # Errors
/// When the store fails.
pub async fn short_link(app: &DeliveryState, code: &str) -> Result<Option<(Reference, String)>> {
    short_links::find(app.db(), code).await
}

//! What a provider reports later: the status of a message, and replies of recipients.

use kernel::Timestamp;

use super::{Effect, Reference};

/// A change of a message's status after its provider accepted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    /// The provider's own id of the message: that of [`super::Outcome::Accepted`].
    pub provider_id: String,
    /// Millrace's own reference, if the provider returns it: a callback may arrive before the provider's id is
    /// stored.
    pub reference: Option<Reference>,
    pub happened: Happened,
    /// When it happened, if the provider says so; otherwise the time of the callback counts.
    pub at: Option<Timestamp>,
}

/// What happened to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    /// The provider passed it on.
    Sent,
    /// It reached the recipient's device.
    Delivered,
    /// The recipient saw it.
    Read,
    /// It will not be delivered.
    Failed {
        code: String,
        /// The provider's text, cut to a line.
        reason: String,
        /// What it means for the recipient.
        effect: Option<Effect>,
    },
}

/// A message that a recipient wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// The provider's id of it, the same if the callback is repeated.
    pub id: String,
    /// The sender: a phone number with its `+`.
    pub from: String,
    /// The number or sender that it was written to.
    pub to: String,
    pub text: String,
}

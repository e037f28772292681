//! What a provider tells of later: what became of a message it took, and what recipients write back.

use kernel::Timestamp;

use super::{Effect, Reference};

/// Something that happened to a message after its provider took it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    /// The provider's own id of the message: that of [`super::Outcome::Accepted`].
    pub provider_id: String,
    /// Our own name of it, where the provider gives it back: it may tell of a message before its id is
    /// kept.
    pub reference: Option<Reference>,
    pub happened: Happened,
    /// When, where the provider says so; else it is when the callback came.
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
        /// The provider's words, cut to a line.
        reason: String,
        /// What it says about the recipient.
        effect: Option<Effect>,
    },
}

/// A message that somebody wrote to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inbound {
    /// The provider's own id of it: the same again if the provider repeats itself.
    pub id: String,
    /// Who wrote: a phone number with its `+`.
    pub from: String,
    /// To which of our numbers or senders.
    pub to: String,
    pub text: String,
}

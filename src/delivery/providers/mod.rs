//! Those who carry messages: one trait, a file or folder each.

use std::{fmt::Debug, future::Future, pin::Pin};

use super::model::{Device, Outcome, Outgoing};

/// Hands messages of one channel to whoever carries them.
pub trait Provider: Debug + Send + Sync {
    /// Sends messages, and says of each what became of it, in their order. Never answers an error of
    /// its own: what goes wrong is the outcome of the messages it went wrong for.
    fn send<'a>(&'a self, batch: &'a [Outgoing]) -> Sending<'a>;

    /// Messages one call of [`Self::send`] may carry at most, all of them tried at the same time.
    fn batch_max(&self) -> usize;
}

/// What [`Provider::send`] answers.
pub type Sending<'a> = Pin<Box<dyn Future<Output = Vec<Sent>> + Send + 'a>>;

/// What became of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The outcome.
    pub outcome: Outcome,
    /// Push: devices that are no more, to be forgotten.
    pub gone: Vec<Device>,
}

impl From<Outcome> for Sent {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, gone: Vec::new() }
    }
}

//! Those who carry messages: one trait, a file or folder each.

pub mod client;

use std::{fmt::Debug, future::Future, pin::Pin, sync::Arc};

use super::model::{Device, Outcome, Outgoing};
use crate::{campaigns::model::message::MessageChannel, config::Settings, kernel::Clock};

/// Who carries the messages of each channel. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Providers(Arc<[(MessageChannel, Arc<dyn Provider>)]>);

impl Providers {
    /// Those that the settings name.
    ///
    /// # Errors
    /// When one cannot be set up, with its channel and the reason in one line.
    pub fn from_settings(settings: &Settings, _clock: Clock) -> anyhow::Result<Self> {
        let mut providers: Vec<(MessageChannel, Arc<dyn Provider>)> = Vec::new();
        for (_channel, _carrier) in settings.channels.carriers()? {}
        providers.shrink_to_fit();
        Ok(Self(providers.into()))
    }

    /// Who carries the messages of a channel.
    pub fn of(&self, channel: MessageChannel) -> Option<Arc<dyn Provider>> {
        let found = self.0.iter().find(|(carried, _)| *carried == channel);
        found.map(|(_, provider)| Arc::clone(provider))
    }

    /// Whether anybody carries the messages of a channel.
    pub fn has(&self, channel: MessageChannel) -> bool {
        self.0.iter().any(|(carried, _)| *carried == channel)
    }
}

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

//! Those who carry messages: one trait, a file or folder each, and who carries which channel.

mod basic;
pub mod callback;
pub mod client;
mod deps;
mod each;
mod entry;
pub mod gateway;
mod infobip;
mod mailgun;
pub mod model;
mod native;
mod postmark;
pub mod registry;
mod resend;
mod senders;
mod sendgrid;
mod ses;
mod settings;
mod smtp;
mod twilio;
mod webhook;
mod whatsapp;

use std::{fmt::Debug, future::Future, pin::Pin, sync::Arc};

use anyhow::Context as _;
use campaigns::model::message::MessageChannel;
use config::Settings;
use engines::vault::Vault;
use kernel::Clock;

use crate::model::{Device, Outcome, Outgoing};

pub use self::{
    deps::ProviderDeps,
    entry::{ProviderEntry, SendingEntry},
    registry::Registry,
    senders::sender_setup,
    settings::{ChannelSettings, EmailSender},
    webhook::signing_secret,
};

/// Every provider, a line each.
static PROVIDERS: &[&ProviderEntry] = &[
    &smtp::PROVIDER,
    &twilio::PROVIDER,
    &whatsapp::PROVIDER,
    &infobip::PROVIDER,
    &native::PROVIDER,
    &ses::PROVIDER,
    &sendgrid::PROVIDER,
    &postmark::PROVIDER,
    &mailgun::PROVIDER,
    &resend::PROVIDER,
    // Last, as in the texts of errors.
    &gateway::PROVIDER,
];

/// Who carries the messages of each channel. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Providers(Arc<[(MessageChannel, Arc<dyn Provider>)]>);

impl Providers {
    /// Those that the settings name; webhooks need none and have one always.
    ///
    /// # Errors
    /// When one cannot be set up, with its channel and the reason in one line.
    pub fn from_settings(settings: &Settings, vault: Vault, clock: Clock) -> anyhow::Result<Self> {
        let deps = ProviderDeps::from_settings(settings, clock.clone())?;
        let webhook = webhook::Webhook::new(&deps.options, deps.reach, vault, clock);
        let mut providers: Vec<(MessageChannel, Arc<dyn Provider>)> =
            vec![(MessageChannel::Webhook, Arc::new(webhook))];
        for (channel, own) in registry::read_channels(&settings.channels)? {
            let provider = own
                .provider(channel, &deps)
                .with_context(|| format!("cannot use channels.{channel}"))?;
            providers.push((channel.into(), provider));
        }
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

/// A message that cannot be written for whoever carries it.
fn unwritable(reason: &anyhow::Error) -> Outcome {
    let reason = model::cut_to_line(&reason.to_string());
    Outcome::Rejected { code: "unwritable".to_owned(), reason, effect: None }
}

/// Hands messages of one channel to whoever carries them.
pub trait Provider: Debug + Send + Sync {
    /// Sends messages, and says of each what became of it, in their order. Never answers an error of
    /// its own: what goes wrong is the outcome of the messages it went wrong for.
    fn send<'a>(&'a self, batch: &'a [Outgoing]) -> Sending<'a>;

    /// Messages one call of [`Self::send`] may carry at most, all of them tried at the same time.
    fn batch_max(&self) -> usize;
}

pub type Sending<'a> = Pin<Box<dyn Future<Output = Vec<Sent>> + Send + 'a>>;

/// What became of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub outcome: Outcome,
    /// Push: devices that are no more, to be forgotten.
    pub gone: Vec<Device>,
}

impl From<Outcome> for Sent {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, gone: Vec::new() }
    }
}

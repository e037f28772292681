//! The providers that deliver messages: one trait, a folder for each, and the provider of each channel.

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
mod reach;
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
    reach::{ChannelReport, channel_reports},
    registry::Registry,
    senders::sender_setup,
    settings::{ChannelSettings, EmailSender, Host},
    webhook::signing_secret,
};

/// The registry: a line for each provider.
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
    // The last one in error messages.
    &gateway::PROVIDER,
];

/// A channel and its provider.
#[derive(Debug)]
struct ChannelProvider {
    channel: MessageChannel,
    /// As settings name it.
    name: &'static str,
    provider: Arc<dyn Provider>,
}

/// The provider of each channel. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Providers(Arc<[ChannelProvider]>);

impl Providers {
    /// The providers that the settings name, and that of webhooks, which needs no settings.
    ///
    /// # Errors
    /// When one cannot be set up, with its channel and the reason in one line.
    pub fn from_settings(settings: &Settings, vault: Vault, clock: Clock) -> anyhow::Result<Self> {
        let deps = ProviderDeps::from_settings(settings, clock.clone())?;
        let webhook = webhook::Webhook::new(&deps.options, deps.reach, vault, clock);
        let mut providers = vec![ChannelProvider {
            channel: MessageChannel::Webhook,
            name: webhook::NAME,
            provider: Arc::new(webhook),
        }];
        for (channel, setup) in registry::read_channels(&settings.channels)? {
            let provider = setup
                .settings
                .provider(channel, &deps)
                .with_context(|| format!("cannot use channels.{channel}"))?;
            providers.push(ChannelProvider { channel: channel.into(), name: setup.name, provider });
        }
        Ok(Self(providers.into()))
    }

    /// The provider of a channel.
    pub fn of(&self, channel: MessageChannel) -> Option<Arc<dyn Provider>> {
        self.find(channel).map(|found| Arc::clone(&found.provider))
    }

    /// The name of a channel's provider in the settings, such as `smtp`.
    pub fn name_of(&self, channel: MessageChannel) -> Option<&'static str> {
        self.find(channel).map(|found| found.name)
    }

    /// Whether a channel has a provider.
    pub fn has(&self, channel: MessageChannel) -> bool {
        self.find(channel).is_some()
    }

    fn find(&self, channel: MessageChannel) -> Option<&ChannelProvider> {
        self.0.iter().find(|enabled| enabled.channel == channel)
    }
}

/// The outcome of a message that cannot be written in the provider's form.
fn unwritable(reason: &anyhow::Error) -> Outcome {
    let reason = model::cut_to_line(&reason.to_string());
    Outcome::Rejected { code: "unwritable".to_owned(), reason, effect: None }
}

/// Sends the messages of one channel.
pub trait Provider: Debug + Send + Sync {
    /// Sends messages and returns the outcome of each, in their order. A failure of the call is the outcome of the
    /// messages that it concerns.
    fn send<'a>(&'a self, batch: &'a [Outgoing]) -> Sending<'a>;

    /// Most messages of one call of [`Self::send`]; all of them are tried at the same time.
    fn batch_max(&self) -> usize;
}

pub type Sending<'a> = Pin<Box<dyn Future<Output = Vec<Sent>> + Send + 'a>>;

/// The result of sending one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub outcome: Outcome,
    /// Push: devices that no longer exist and are to be removed.
    pub gone: Vec<Device>,
}

impl From<Outcome> for Sent {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, gone: Vec::new() }
    }
}

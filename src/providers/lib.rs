//! Those who carry messages: one trait, a file or folder each, and who carries which channel.

mod basic;
pub mod callback;
mod callbacks;
pub mod client;
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
mod smtp;
mod twilio;
mod webhook;
mod whatsapp;

use std::{fmt::Debug, future::Future, pin::Pin, sync::Arc};

use anyhow::Context as _;
use campaigns::model::message::MessageChannel;
use config::{ProviderConfig, Settings};
use engines::vault::Vault;
use kernel::{Channel, Clock};

use self::client::{Client, ClientOptions};
use crate::model::{Device, Outcome, Outgoing};

pub use self::{entry::ProviderEntry, senders::sender_setup, webhook::signing_secret};

/// Every provider, a line each.
static PROVIDERS: &[&ProviderEntry] = &[
    &twilio::PROVIDER,
    &whatsapp::PROVIDER,
    &infobip::PROVIDER,
    &ses::PROVIDER,
    &sendgrid::PROVIDER,
    &postmark::PROVIDER,
    &mailgun::PROVIDER,
    &resend::PROVIDER,
];

/// Who carries the messages of each channel. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Providers(Arc<[(MessageChannel, Arc<dyn Provider>)]>);

/// What providers are made with beside their settings.
#[derive(Debug)]
struct ProviderDeps {
    /// Certificate authorities of the operator's own, in PEM.
    own_authorities: Option<Vec<u8>>,
    options: ClientOptions,
    client: Client,
    /// What calls that others choose the target of may reach.
    reach: webhook::Reach,
    /// Where callbacks of Twilio and Infobip are taken, if they are.
    twilio_callbacks: Option<url::Url>,
    infobip_callbacks: Option<url::Url>,
    clock: Clock,
}

impl Providers {
    /// Those that the settings name; webhooks need none and have one always.
    ///
    /// # Errors
    /// When one cannot be set up, with its channel and the reason in one line.
    pub fn from_settings(settings: &Settings, vault: Vault, clock: Clock) -> anyhow::Result<Self> {
        let means = ProviderDeps::from_settings(settings, clock.clone())?;
        let webhook = webhook::Webhook::new(&means.options, means.reach, vault, clock);
        let mut providers: Vec<(MessageChannel, Arc<dyn Provider>)> =
            vec![(MessageChannel::Webhook, Arc::new(webhook))];
        for (channel, carrier) in settings.channels.providers()? {
            let provider = means
                .provider(channel, &carrier)
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

impl ProviderDeps {
    fn from_settings(settings: &Settings, clock: Clock) -> anyhow::Result<Self> {
        let read = |path: &std::path::PathBuf| {
            std::fs::read(path)
                .with_context(|| format!("cannot read security.ca_file {}", path.display()))
        };
        let own_authorities = settings.security.ca_file.as_ref().map(read).transpose()?;
        let roots = client::roots(own_authorities.as_deref())
            .context("security.ca_file holds no certificates")?;
        let options = ClientOptions { roots: Arc::new(roots), http2_only: false };
        let client = Client::new(&options);
        let allows_private = settings.security.allow_private_webhook_targets;
        let reach = if allows_private { webhook::Reach::Private } else { webhook::Reach::Public };
        let (twilio_callbacks, infobip_callbacks) =
            (callbacks::of_twilio(settings), callbacks::of_infobip(settings));
        Ok(Self {
            own_authorities,
            options,
            client,
            reach,
            twilio_callbacks,
            infobip_callbacks,
            clock,
        })
    }

    fn provider(
        &self,
        channel: Channel,
        carrier: &ProviderConfig,
    ) -> anyhow::Result<Arc<dyn Provider>> {
        let clock = self.clock.clone();
        Ok(match carrier {
            ProviderConfig::Smtp(settings) => {
                let own = self.own_authorities.as_deref();
                Arc::new(smtp::Smtp::from_settings(settings, own, clock)?)
            }
            ProviderConfig::Http(settings) => {
                let client = self.client.clone();
                Arc::new(gateway::Gateway::from_settings(settings, channel.into(), client, clock)?)
            }
            ProviderConfig::Twilio(settings) => {
                let (client, callbacks) = (self.client.clone(), self.twilio_callbacks.clone());
                Arc::new(twilio::Twilio::new(settings.clone(), callbacks, client, clock))
            }
            ProviderConfig::Whatsapp(settings) => {
                Arc::new(whatsapp::Whatsapp::new(settings.clone(), self.client.clone(), clock))
            }
            ProviderConfig::Infobip(settings) => {
                let (client, callbacks) = (self.client.clone(), self.infobip_callbacks.clone());
                Arc::new(infobip::Infobip::new(settings.clone(), callbacks, client, clock))
            }
            ProviderConfig::Native(settings) => {
                let (options, client) = (&self.options, self.client.clone());
                let reach = native::Reaching { options, client, reach: self.reach };
                Arc::new(native::Native::new(settings.clone(), reach, &clock)?)
            }
        })
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

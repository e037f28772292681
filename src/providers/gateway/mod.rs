//! The generic gateway: an operator's own HTTP endpoint for any channel.

mod callback;
mod config;
mod send;

use std::sync::Arc;

use kernel::Channel;

use self::{config::GatewaySettings, send::Gateway};
use crate::{
    Provider,
    deps::ProviderDeps,
    entry::{ProviderEntry, SendingEntry},
    settings::{ChannelSettings, EmailSender, Host},
};

pub use self::callback::{Generic, Signal, TextBack};

/// Its callbacks have a route of their own, since their path names the channel.
pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "http",
    sending: Some(SendingEntry {
        schemes: &["http", "https"],
        ..SendingEntry::of::<GatewaySettings>(&Channel::ALL)
    }),
    callbacks: None,
};

impl ChannelSettings for GatewaySettings {
    fn provider(&self, channel: Channel, deps: &ProviderDeps) -> anyhow::Result<Arc<dyn Provider>> {
        let (client, clock) = (deps.client.clone(), deps.clock.clone());
        Ok(Arc::new(Gateway::from_settings(self, channel.into(), client, clock)?))
    }

    fn hosts(&self) -> Vec<Host> {
        Host::of_url(&self.url)
    }

    fn email_sender(&self) -> anyhow::Result<EmailSender> {
        Ok(EmailSender { from: self.from.clone(), ..EmailSender::default() })
    }
}

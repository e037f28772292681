//! WhatsApp messages by Meta's Cloud API.

mod callback;
mod config;
mod send;
mod signature;
mod template;

use std::sync::Arc;

use kernel::Channel;

use self::{config::WhatsappSettings, send::Whatsapp};
use crate::{
    Provider,
    callback::CallbackEntry,
    deps::ProviderDeps,
    entry::{ProviderEntry, SendingEntry},
    settings::{ChannelSettings, Host},
};

pub(crate) use self::template::text;

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "whatsapp",
    sending: Some(SendingEntry {
        channel_faults: &["190"],
        ..SendingEntry::of::<WhatsappSettings>(&[Channel::Whatsapp])
    }),
    callbacks: Some(CallbackEntry {
        is_verified_by_get: true,
        ..CallbackEntry::post::<callback::Whatsapp>("/callbacks/whatsapp", Channel::Whatsapp)
    }),
};

impl ChannelSettings for WhatsappSettings {
    fn provider(&self, _: Channel, deps: &ProviderDeps) -> anyhow::Result<Arc<dyn Provider>> {
        Ok(Arc::new(Whatsapp::new(self.clone(), deps.client.clone(), deps.clock.clone())))
    }

    fn hosts(&self) -> Vec<Host> {
        Host::of_url(&self.url)
    }
}

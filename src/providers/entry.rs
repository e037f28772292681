//! An entry of the registry of providers.

use kernel::Channel;
use serde::de::DeserializeOwned;
use toml::Table;

use crate::{callback::CallbackEntry, settings::ChannelSettings};

/// A provider of the registry.
#[derive(Debug)]
pub struct ProviderEntry {
    /// The name in settings and metrics.
    pub name: &'static str,
    /// How it sends; none for a provider that is used through another one, as through SMTP.
    pub sending: Option<SendingEntry>,
    pub callbacks: Option<CallbackEntry>,
}

/// How a provider sends messages.
#[derive(Debug)]
pub struct SendingEntry {
    pub channels: &'static [Channel],
    /// Schemes of the setting `url` that select the provider if it is not named.
    pub schemes: &'static [&'static str],
    /// Codes of failures that are due to the channel's settings and concern every recipient. Others concern one
    /// message.
    pub channel_faults: &'static [&'static str],
    /// Reads the channel's table.
    pub read: fn(Table) -> Result<Box<dyn ChannelSettings>, String>,
}

impl SendingEntry {
    /// A provider with these settings.
    pub(crate) const fn of<S>(channels: &'static [Channel]) -> Self
    where
        S: ChannelSettings + DeserializeOwned + 'static,
    {
        Self {
            channels,
            schemes: &[],
            channel_faults: &[],
            read: |table| match table.try_into::<S>() {
                Ok(settings) => Ok(Box::new(settings)),
                Err(error) => Err(error.to_string()),
            },
        }
    }
}

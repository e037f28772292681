//! What the list of providers says of each.

use kernel::Channel;
use serde::de::DeserializeOwned;
use toml::Table;

use crate::{callback::CallbackEntry, settings::ChannelSettings};

/// A provider.
#[derive(Debug)]
pub struct ProviderEntry {
    /// The name in settings and metrics.
    pub name: &'static str,
    /// How it sends; none where its messages leave by another provider, as by SMTP.
    pub sending: Option<SendingEntry>,
    /// Its callbacks, where it has any.
    pub callbacks: Option<CallbackEntry>,
}

/// How a provider sends messages.
#[derive(Debug)]
pub struct SendingEntry {
    pub channels: &'static [Channel],
    /// Schemes of the setting `url` by which the provider is known where it is not named.
    pub schemes: &'static [&'static str],
    /// Codes of failures that are due to the channel's settings, whoever the recipient is. Others are about one
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

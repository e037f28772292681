//! Look-ups in the registry of providers.

use config::{Callbacks, Channels};
use kernel::Channel;
use toml::{Table, Value};

use crate::{
    PROVIDERS,
    callback::CallbackEntry,
    client,
    entry::{ProviderEntry, SendingEntry},
    settings::ChannelSettings,
};

/// The callbacks of all providers, each with the provider's name.
pub fn callbacks() -> impl Iterator<Item = (&'static str, &'static CallbackEntry)> {
    PROVIDERS.iter().filter_map(|entry| Some((entry.name, entry.callbacks.as_ref()?)))
}

/// The codes of all providers for failures that are due to a channel's settings.
pub fn channel_fault_codes() -> impl Iterator<Item = &'static str> {
    let own = sending().flat_map(|(_, sending)| sending.channel_faults);
    client::CREDENTIALS_REFUSED.iter().chain(own).copied()
}

/// The provider that the table of a channel selects.
#[derive(Debug)]
pub struct ProviderSetup {
    /// The name of its entry.
    pub name: &'static str,
    /// The rest of the table.
    pub settings: Box<dyn ChannelSettings>,
}

/// Channels with the settings of their providers.
pub type ChannelList = Vec<(Channel, ProviderSetup)>;

/// The settings of every channel that has a provider.
///
/// # Errors
/// The first channel with invalid settings.
pub fn read_channels(channels: &Channels) -> Result<ChannelList, config::Error> {
    channels.read(read_channel)
}

/// The providers' knowledge of their settings, for [`config::Settings::load`].
#[derive(Debug, Clone, Copy)]
pub struct Registry;

impl config::ProviderSettings for Registry {
    fn check_channel(&self, channel: Channel, table: Table) -> Result<(), String> {
        read_channel(channel, table).map(drop)
    }

    fn check_callbacks(&self, given: &Callbacks) -> Result<(), config::Error> {
        let known = || callbacks().map(|(_, entry)| entry.key);
        if let Some(unknown) = given.keys().find(|key| known().all(|it| it != *key)) {
            let known: Vec<&str> = Callbacks::OWN_KEYS.into_iter().chain(known()).collect();
            let reason = format!("unknown key `{unknown}`, expected one of {}", known.join(", "));
            return Err(config::Error::Refused { source_name: "callbacks".to_owned(), reason });
        }
        callbacks().try_for_each(|(_, entry)| (entry.check)(given))
    }
}

/// Reads a channel's table as its provider's settings.
fn read_channel(channel: Channel, mut table: Table) -> Result<ProviderSetup, String> {
    let name = match table.remove("provider") {
        Some(Value::String(name)) => name,
        Some(_) => return Err("`provider` must be a string".to_owned()),
        None => by_url(&table).ok_or("missing field `provider`")?.to_owned(),
    };
    let of_channel = || sending().filter(|(_, sending)| sending.channels.contains(&channel));
    let Some((entry, sending)) = of_channel().find(|(entry, _)| entry.name == name) else {
        let known: Vec<&str> = of_channel().map(|(entry, _)| entry.name).collect();
        return Err(format!("unknown provider `{name}`, expected one of {}", known.join(", ")));
    };
    Ok(ProviderSetup { name: entry.name, settings: (sending.read)(table)? })
}

/// The provider implied by the URL if none is named.
fn by_url(table: &Table) -> Option<&'static str> {
    let scheme = table.get("url").and_then(Value::as_str).and_then(|url| url.split(':').next())?;
    sending().find(|(_, sending)| sending.schemes.contains(&scheme)).map(|(entry, _)| entry.name)
}

fn sending() -> impl Iterator<Item = (&'static ProviderEntry, &'static SendingEntry)> {
    PROVIDERS.iter().filter_map(|entry| Some((*entry, entry.sending.as_ref()?)))
}

#[cfg(test)]
mod tests;

//! The generic gateway: an operator's own HTTP endpoint for any channel.

mod callback;
mod config;
mod send;

use kernel::Channel;

use self::config::GatewaySettings;
use crate::entry::{ProviderEntry, SendingEntry};

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

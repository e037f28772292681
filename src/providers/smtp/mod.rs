//! Email by a mail server.

mod config;
mod conversation;
mod dkim;
mod mail;
mod reply;
mod send;

use kernel::Channel;

use self::config::SmtpSettings;
use crate::entry::{ProviderEntry, SendingEntry};

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "smtp",
    sending: Some(SendingEntry {
        schemes: &["smtp", "smtps"],
        // Credentials that the server refuses, or asks for (RFC 4954); none that it takes.
        channel_faults: &["530", "535", "5.7.8", "5.7.0", "auth"],
        ..SendingEntry::of::<SmtpSettings>(&[Channel::Email])
    }),
    callbacks: None,
};

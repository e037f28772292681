//! Viber messages by Infobip.

mod callback;
mod config;
mod send;

use kernel::Channel;

use self::config::InfobipSettings;
use crate::{
    callback::CallbackEntry,
    entry::{ProviderEntry, SendingEntry},
};

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "infobip",
    sending: Some(SendingEntry::of::<InfobipSettings>(&[Channel::Viber])),
    callbacks: Some(CallbackEntry::post::<callback::Infobip>(callback::PATH, Channel::Viber)),
};

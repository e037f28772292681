//! WhatsApp messages by Meta's Cloud API.

mod callback;
mod config;
mod send;
mod signature;
mod template;

use kernel::Channel;

use self::config::WhatsappSettings;
use crate::{
    callback::CallbackEntry,
    entry::{ProviderEntry, SendingEntry},
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

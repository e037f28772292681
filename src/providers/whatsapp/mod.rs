//! WhatsApp messages by Meta's Cloud API.

mod callback;
mod send;
mod signature;
mod template;

use kernel::Channel;

use crate::{callback::CallbackEntry, entry::ProviderEntry};

pub(crate) use self::{send::Whatsapp, template::text};

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "whatsapp",
    callbacks: Some(CallbackEntry {
        is_verified_by_get: true,
        ..CallbackEntry::post::<callback::Whatsapp>("/callbacks/whatsapp", Channel::Whatsapp)
    }),
};

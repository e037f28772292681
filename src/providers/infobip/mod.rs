//! Viber messages by Infobip.

mod callback;
mod send;

use kernel::Channel;

use crate::{callback::CallbackEntry, entry::ProviderEntry};

pub(crate) use self::send::Infobip;

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "infobip",
    callbacks: Some(CallbackEntry::post::<callback::Infobip>(
        "/callbacks/viber/infobip",
        Channel::Viber,
    )),
};

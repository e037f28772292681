//! Email by Resend, sent by SMTP: its webhooks.

mod callback;
#[cfg(test)]
mod tests;

use kernel::Channel;

use crate::{callback::CallbackEntry, entry::ProviderEntry};

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "resend",
    sending: None,
    callbacks: Some(CallbackEntry::post::<callback::Resend>(
        "/callbacks/email/resend",
        Channel::Email,
    )),
};

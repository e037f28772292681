//! Email by SendGrid, sent by SMTP: its event webhook.

mod callback;
mod signature;
#[cfg(test)]
mod tests;

use kernel::Channel;

use crate::{callback::CallbackEntry, entry::ProviderEntry};

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "sendgrid",
    sending: None,
    callbacks: Some(CallbackEntry::post::<callback::Sendgrid>(
        "/callbacks/email/sendgrid",
        Channel::Email,
    )),
};

//! Email by Mailgun, sent by SMTP: its webhooks.

mod callback;
mod signature;
#[cfg(test)]
mod tests;

use kernel::Channel;

use crate::{
    callback::{BodyKind, CallbackEntry},
    entry::ProviderEntry,
};

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "mailgun",
    sending: None,
    callbacks: Some(CallbackEntry {
        body: BodyKind::Json,
        ..CallbackEntry::post::<callback::Mailgun>("/callbacks/email/mailgun", Channel::Email)
    }),
};

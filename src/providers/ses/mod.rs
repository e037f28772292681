//! Email by Amazon SES, sent by SMTP: its notifications by SNS.

mod callback;
mod sns;
mod source;
#[cfg(test)]
mod tests;

use kernel::Channel;

use crate::{callback::CallbackEntry, entry::ProviderEntry};

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "ses",
    sending: None,
    callbacks: Some(CallbackEntry::post::<source::Ses>("/callbacks/email/ses", Channel::Email)),
};

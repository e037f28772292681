//! Email by Postmark, sent by SMTP: its webhooks.

mod callback;
#[cfg(test)]
mod tests;

use kernel::Channel;

use crate::{callback::CallbackEntry, entry::ProviderEntry};

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "postmark",
    sending: None,
    callbacks: Some(CallbackEntry::post::<callback::Postmark>(
        "/callbacks/email/postmark",
        Channel::Email,
    )),
};

//! Email by a mail server.

mod config;
mod conversation;
mod dkim;
mod mail;
mod reply;
mod send;

use std::sync::Arc;

use kernel::Channel;

use self::{config::SmtpSettings, send::Smtp};
use crate::{
    Provider,
    deps::ProviderDeps,
    entry::{ProviderEntry, SendingEntry},
    settings::{ChannelSettings, EmailSender, Host},
};

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

impl ChannelSettings for SmtpSettings {
    fn provider(&self, _: Channel, deps: &ProviderDeps) -> anyhow::Result<Arc<dyn Provider>> {
        let own = deps.own_authorities.as_deref();
        Ok(Arc::new(Smtp::from_settings(self, own, deps.clock.clone())?))
    }

    fn hosts(&self) -> Vec<Host> {
        Smtp::host(self).into_iter().collect()
    }

    fn email_sender(&self) -> anyhow::Result<EmailSender> {
        Ok(EmailSender {
            from: self.from.clone(),
            dkim: Smtp::dkim_key(self)?,
            // With a domain for bounces, receivers check that one's SPF record.
            is_return_path: self.bounce_domain.is_none(),
        })
    }
}

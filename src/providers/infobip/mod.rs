//! Viber messages by Infobip.

mod callback;
mod config;
mod send;

use std::sync::Arc;

use kernel::Channel;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::ExposeSecret as _;
use url::Url;

use self::{config::InfobipSettings, send::Infobip};
use crate::{
    Provider,
    callback::{BasicCredentials, CallbackEntry, FromSettings as _},
    deps::ProviderDeps,
    entry::{ProviderEntry, SendingEntry},
    settings::{ChannelSettings, Host},
};

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "infobip",
    sending: Some(SendingEntry::of::<InfobipSettings>(&[Channel::Viber])),
    callbacks: Some(CallbackEntry::post::<callback::Infobip>(callback::PATH, Channel::Viber)),
};

impl ChannelSettings for InfobipSettings {
    fn provider(&self, _: Channel, deps: &ProviderDeps) -> anyhow::Result<Arc<dyn Provider>> {
        let callbacks = callback_url(deps);
        let (client, clock) = (deps.client.clone(), deps.clock.clone());
        Ok(Arc::new(Infobip::new(self.clone(), callbacks, client, clock)))
    }

    fn hosts(&self) -> Vec<Host> {
        Host::of_url(&self.url)
    }
}

/// The URL for delivery reports at this server, with the credentials that Infobip shall send.
fn callback_url(deps: &ProviderDeps) -> Option<Url> {
    let key = callback::Infobip::KEY;
    let credentials = deps.callbacks.credentials::<BasicCredentials>(key).ok()??;
    let mut url = deps.callback_url(callback::PATH)?;
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    url.set_username(&encoded(&credentials.username)).ok()?;
    url.set_password(Some(&encoded(credentials.password.expose_secret()))).ok()?;
    Some(url)
}

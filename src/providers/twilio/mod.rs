//! Text messages by Twilio, or by a service with the same API.

mod callback;
mod config;
mod send;
mod signature;

use std::sync::Arc;

use kernel::Channel;
use url::Url;

use self::{config::TwilioSettings, send::Twilio};
use crate::{
    Provider,
    callback::{BodyKind, CallbackEntry, FixedAnswer, FromSettings as _},
    deps::ProviderDeps,
    entry::{ProviderEntry, SendingEntry},
    settings::{ChannelSettings, Host},
};

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "twilio",
    sending: Some(SendingEntry {
        channel_faults: &["20003"],
        ..SendingEntry::of::<TwilioSettings>(&[Channel::Sms])
    }),
    callbacks: Some(CallbackEntry {
        body: BodyKind::Form,
        // TwiML without an instruction: the recipient gets no reply.
        answer: Some(FixedAnswer {
            content_type: "text/xml",
            body: "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response/>",
        }),
        ..CallbackEntry::post::<callback::Twilio>(callback::PATH, Channel::Sms)
    }),
};

impl ChannelSettings for TwilioSettings {
    fn provider(&self, _: Channel, deps: &ProviderDeps) -> anyhow::Result<Arc<dyn Provider>> {
        let callbacks = callback_url(deps);
        let (client, clock) = (deps.client.clone(), deps.clock.clone());
        Ok(Arc::new(Twilio::new(self.clone(), callbacks, client, clock)))
    }

    fn hosts(&self) -> Vec<Host> {
        Host::of_url(&self.url)
    }
}

/// The URL for delivery reports at this server; none where their signature could not be checked.
fn callback_url(deps: &ProviderDeps) -> Option<Url> {
    deps.callbacks.has(callback::Twilio::KEY).then(|| deps.callback_url(callback::PATH)).flatten()
}

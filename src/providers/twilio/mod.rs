//! Text messages by Twilio, or by a service with the same API.

mod callback;
mod config;
mod send;
mod signature;

use kernel::Channel;

use self::config::TwilioSettings;
use crate::{
    callback::{BodyKind, CallbackEntry, FixedAnswer},
    entry::{ProviderEntry, SendingEntry},
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

//! Text messages by Twilio, or by a service with the same API.

mod callback;
mod send;
mod signature;

use kernel::Channel;

use crate::{
    callback::{BodyKind, CallbackEntry, FixedAnswer},
    entry::ProviderEntry,
};

pub(crate) use self::send::Twilio;

pub(crate) static PROVIDER: ProviderEntry = ProviderEntry {
    name: "twilio",
    callbacks: Some(CallbackEntry {
        body: BodyKind::Form,
        // TwiML without an instruction: the recipient gets no reply.
        answer: Some(FixedAnswer {
            content_type: "text/xml",
            body: "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response/>",
        }),
        ..CallbackEntry::post::<callback::Twilio>("/callbacks/sms/twilio", Channel::Sms)
    }),
};

//! What a message is on its way out: pure values.

mod callback;
pub mod claimed;
mod content;
mod context;
mod feedback;
pub mod gate;
mod keyword;
pub mod message;
mod outcome;
mod outgoing;
pub mod plan;
mod recipient;
mod reference;
pub mod retry;
mod segments;

pub use self::{
    callback::{Callback, Happened, Inbound},
    content::{
        Content, EmailContent, PushContent, SmsContent, ViberContent, WebhookContent,
        WhatsappContent,
    },
    context::{Context, Named, Said},
    feedback::{BounceKind, Feedback, Heard, Whose, Why},
    keyword::Keyword,
    outcome::{Effect, Outcome, cut_to_line},
    outgoing::{Device, NewDevice, Outgoing, Platform},
    recipient::Recipient,
    reference::{NotAReference, Reference},
    segments::{Alphabet, Segments, segments},
};

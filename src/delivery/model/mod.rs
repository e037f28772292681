//! What a message is on its way out: pure values.

mod callback;
mod content;
pub mod message;
mod outcome;
mod outgoing;
pub mod plan;

pub use self::{
    callback::{Callback, Happened, Inbound},
    content::{
        Content, EmailContent, PushContent, SmsContent, ViberContent, WebhookContent,
        WhatsappContent,
    },
    outcome::{Effect, Outcome, cut_to_line},
    outgoing::{Device, NewDevice, Outgoing, Platform},
};

//! A message as a provider takes it, and what becomes of it: pure values.

mod callback;
mod content;
mod feedback;
mod outcome;
mod outgoing;
mod reference;
mod report;

pub use self::{
    callback::{Callback, Happened, Inbound},
    content::{
        Content, EmailContent, PushContent, SmsContent, ViberContent, WebhookContent,
        WhatsappContent,
    },
    feedback::{AddressClaim, BounceKind, Feedback, FeedbackKind, FeedbackReason},
    outcome::{Effect, Outcome, cut_to_line},
    outgoing::{Device, NewDevice, Outgoing, Platform},
    reference::{NotAReference, Reference},
    report::{Name, Report},
};

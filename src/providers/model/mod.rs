//! A message as a provider receives it, the result of sending it, and later reports. Pure.

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

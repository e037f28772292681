//! What providers and mail servers say, each in its own form, brought into one: pure functions over bytes.

mod generic;
mod mail;
mod mailgun;
mod postmark;
mod proof;
mod resend;
mod sendgrid;
mod ses;
mod sns;
mod status;

use kernel::Timestamp;
use providers::model::{Callback, Feedback, Reference};
use serde_json::Value;

pub use self::{
    generic::{Generic, Signal, TextBack},
    mail::{NotMail, Returned, returned},
    mailgun::Mailgun,
    proof::{Basic, Secret, SigningKey, Unproven, standard, standard_head},
    sns::{Certificate, Envelope, Kind, Unsigned},
};

/// Something heard of a message, and what names the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The message's names, best first: the first that names one of ours does.
    pub names: Vec<Name>,
    pub feedback: Feedback,
}

impl Report {
    /// What a callback of a messaging provider says.
    pub fn of_callback(source: &'static str, callback: Callback) -> impl Iterator<Item = Self> {
        let reference = callback.reference.map(Name::Reference).into_iter();
        let provider = Some(callback.provider_id.clone()).filter(|id| !id.is_empty());
        let names: Vec<Name> = reference.chain(provider.map(Name::Provider)).collect();
        Feedback::of_callback(source, callback)
            .into_iter()
            .map(move |feedback| Self { names: names.clone(), feedback })
    }
}

/// How a message is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    Reference(Reference),
    Provider(String),
}

impl Name {
    /// The names among what a provider gives back: texts that may be references, and the provider's own
    /// id.
    fn among<'a>(references: impl IntoIterator<Item = &'a str>, provider_id: &str) -> Vec<Self> {
        let references = references.into_iter().filter_map(Reference::of_message_id);
        let mut names: Vec<Self> = references.map(Self::Reference).collect();
        if !provider_id.is_empty() {
            names.push(Self::Provider(provider_id.to_owned()));
        }
        names
    }
}

/// Reads one provider's JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Ses,
    Sendgrid,
    Postmark,
    Mailgun,
    Resend,
}

impl Dialect {
    /// What is said; nothing where it is about nothing that is kept here. `event` is the id of the call
    /// where the call has one.
    pub fn reports(self, body: &Value, event: &str) -> Vec<Report> {
        match self {
            Self::Ses => ses::reports(body),
            Self::Sendgrid => sendgrid::reports(body),
            Self::Postmark => postmark::report(body).into_iter().collect(),
            Self::Mailgun => mailgun::report(body).into_iter().collect(),
            Self::Resend => resend::reports(body, event),
        }
    }
}

/// A text in JSON; empty where there is none.
fn text<'a>(json: &'a Value, pointer: &str) -> &'a str {
    json.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The elements of a list in JSON.
fn list<'a>(json: &'a Value, pointer: &str) -> &'a [Value] {
    json.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A time in JSON, as RFC 3339.
fn time(json: &Value, pointer: &str) -> Option<Timestamp> {
    Timestamp::parse(text(json, pointer)).ok()
}

/// A time in JSON, as seconds since 1970, with a fraction or without.
fn unix_time(json: &Value, pointer: &str) -> Option<Timestamp> {
    /// Nothing a provider tells of happened after the year 9999.
    const SECONDS_MAX: f64 = 253_402_300_799.0;
    let seconds = json.pointer(pointer)?.as_f64().filter(|s| (0.0..=SECONDS_MAX).contains(s))?;
    #[expect(clippy::cast_possible_truncation, reason = "held between 0 and the year 9999")]
    Some(Timestamp::from_millis((seconds * 1000.0) as i64))
}

#[cfg(test)]
mod tests;

//! A report of a provider, and the message it is about.

use super::{Callback, Feedback, Reference};

/// Feedback on a message, and what identifies the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Names of the message, best first: the first that is known counts.
    pub names: Vec<Name>,
    pub feedback: Feedback,
}

impl Report {
    /// The reports in a callback of a messaging provider.
    pub fn of_callback(source: &'static str, callback: Callback) -> impl Iterator<Item = Self> {
        let reference = callback.reference.map(Name::Reference).into_iter();
        let provider = Some(callback.provider_id.clone()).filter(|id| !id.is_empty());
        let names: Vec<Name> = reference.chain(provider.map(Name::Provider)).collect();
        Feedback::of_callback(source, callback)
            .into_iter()
            .map(move |feedback| Self { names: names.clone(), feedback })
    }
}

/// What identifies a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    Reference(Reference),
    /// The provider's own id of it.
    Provider(String),
}

impl Name {
    /// The names in what a provider returns: texts that may be references, and the provider's own id.
    pub fn among<'a>(
        references: impl IntoIterator<Item = &'a str>,
        provider_id: &str,
    ) -> Vec<Self> {
        let references = references.into_iter().filter_map(Reference::of_message_id);
        let mut names: Vec<Self> = references.map(Self::Reference).collect();
        if !provider_id.is_empty() {
            names.push(Self::Provider(provider_id.to_owned()));
        }
        names
    }
}

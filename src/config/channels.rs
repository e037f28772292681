//! `[channels.*]`: who carries the messages of a channel.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::Deserialize;

/// One provider a channel; a channel without one accepts campaigns and fails their sends.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    /// Mail.
    pub email: Option<Provider>,
    /// Text messages.
    pub sms: Option<Provider>,
    /// WhatsApp.
    pub whatsapp: Option<Provider>,
    /// Push notifications.
    pub push: Option<Provider>,
    /// Viber.
    pub viber: Option<Provider>,
}

/// How a provider is reached.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// `smtp`, `http` or a named provider.
    pub provider: Option<String>,
    /// Where it listens; may hold credentials.
    pub url: SecretString,
    /// The sender that recipients see.
    pub from: Option<String>,
    /// Headers of every call; may hold credentials.
    #[serde(default)]
    pub headers: BTreeMap<String, SecretString>,
}

impl Channels {
    /// Whether any channel has a provider.
    pub fn is_set(&self) -> bool {
        [&self.email, &self.sms, &self.whatsapp, &self.push, &self.viber]
            .into_iter()
            .any(Option::is_some)
    }
}

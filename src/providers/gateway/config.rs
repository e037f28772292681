//! `provider = "http"`: the generic gateway, which receives the messages of any channel as JSON.

use secrecy::SecretString;
use serde::Deserialize;

use crate::settings::{Headers, text};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GatewaySettings {
    /// The URL that messages are posted to.
    #[serde(deserialize_with = "text::web_address")]
    pub(crate) url: SecretString,
    /// The sender of messages without one.
    pub(crate) from: Option<String>,
    /// Headers of every request; may hold credentials.
    #[serde(default)]
    pub(crate) headers: Headers,
    /// Seconds to wait for an answer.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub(crate) timeout_seconds: usize,
    /// Requests at the same time.
    #[serde(default = "connections", deserialize_with = "text::count")]
    pub(crate) connections: usize,
}

fn timeout_seconds() -> usize {
    10
}

fn connections() -> usize {
    128
}

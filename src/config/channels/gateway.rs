//! `provider = "http"`: the generic gateway, which receives the messages of any channel as JSON.

use secrecy::SecretString;
use serde::Deserialize;

use super::{Headers, text};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// The URL that messages are posted to.
    #[serde(deserialize_with = "text::web_address")]
    pub url: SecretString,
    /// The sender of messages without one.
    pub from: Option<String>,
    /// Headers of every request; may hold credentials.
    #[serde(default)]
    pub headers: Headers,
    /// Seconds to wait for an answer.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub timeout_seconds: usize,
    /// Concurrent requests.
    #[serde(default = "connections", deserialize_with = "text::count")]
    pub connections: usize,
}

fn timeout_seconds() -> usize {
    10
}

fn connections() -> usize {
    128
}

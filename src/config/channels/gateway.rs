//! `provider = "http"`: the generic gateway, which takes the messages of any channel as JSON.

use secrecy::SecretString;
use serde::Deserialize;

use super::{Headers, text};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// Where messages are posted.
    #[serde(deserialize_with = "text::web_address")]
    pub url: SecretString,
    /// The sender of messages that do not name theirs.
    pub from: Option<String>,
    /// Headers of every call; may hold credentials.
    #[serde(default)]
    pub headers: Headers,
    /// Seconds an answer is awaited.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub timeout_seconds: usize,
    /// Calls at the same time.
    #[serde(default = "connections", deserialize_with = "text::count")]
    pub connections: usize,
}

fn timeout_seconds() -> usize {
    10
}

fn connections() -> usize {
    128
}

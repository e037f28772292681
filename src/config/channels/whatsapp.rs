//! `provider = "whatsapp"`: WhatsApp messages by Meta's Cloud API.

use secrecy::SecretString;
use serde::Deserialize;

use super::text;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Whatsapp {
    #[serde(default = "url", deserialize_with = "text::web_address")]
    pub url: SecretString,
    /// The version of its API.
    #[serde(default = "api_version")]
    pub api_version: String,
    /// The number that messages come from which do not name theirs: Meta's id of it.
    pub phone_number_id: String,
    /// The system user's token.
    pub access_token: SecretString,
    /// The language of templates that do not name theirs (`name:de`).
    #[serde(default = "language")]
    pub language: String,
    /// Seconds an answer is awaited.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub timeout_seconds: usize,
}

fn url() -> SecretString {
    "https://graph.facebook.com".into()
}

fn api_version() -> String {
    "v23.0".to_owned()
}

fn language() -> String {
    "en".to_owned()
}

fn timeout_seconds() -> usize {
    15
}

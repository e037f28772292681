//! `provider = "whatsapp"`: WhatsApp messages by Meta's Cloud API.

use secrecy::SecretString;
use serde::Deserialize;

use crate::settings::text;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WhatsappSettings {
    #[serde(default = "url", deserialize_with = "text::web_address")]
    pub(crate) url: SecretString,
    #[serde(default = "api_version")]
    pub(crate) api_version: String,
    /// Meta's id of the sender's number for messages without one.
    pub(crate) phone_number_id: String,
    /// The system user's token.
    pub(crate) access_token: SecretString,
    /// The language of templates that do not name one (`name:de`).
    #[serde(default = "language")]
    pub(crate) language: String,
    /// Seconds to wait for an answer.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub(crate) timeout_seconds: usize,
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

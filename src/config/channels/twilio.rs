//! `provider = "twilio"`: text messages by Twilio, or by whoever answers as it does.

use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::text;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Twilio {
    #[serde(default = "url", deserialize_with = "text::web_address")]
    pub url: SecretString,
    /// The account: `AC…`.
    pub account_sid: String,
    pub auth_token: SecretString,
    /// The sender of messages that do not name theirs.
    pub from: Option<String>,
    /// The messaging service that chooses a sender where there is none: `MG…`.
    pub messaging_service_sid: Option<String>,
    /// Where statuses are told to. Default: this program, where `public_url` and
    /// `callbacks.twilio_auth_token` are set.
    #[serde(default, deserialize_with = "text::optional_url")]
    pub callback_url: Option<Url>,
    /// Seconds an answer is awaited.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub timeout_seconds: usize,
}

fn url() -> SecretString {
    "https://api.twilio.com".into()
}

fn timeout_seconds() -> usize {
    15
}

//! `provider = "twilio"`: text messages by Twilio, or by a service with the same API.

use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use crate::settings::text;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TwilioSettings {
    #[serde(default = "url", deserialize_with = "text::web_address")]
    pub(crate) url: SecretString,
    /// The account's SID: `AC…`.
    pub(crate) account_sid: String,
    pub(crate) auth_token: SecretString,
    /// The sender of messages without one.
    pub(crate) from: Option<String>,
    /// The messaging service that selects a sender if there is none: `MG…`.
    pub(crate) messaging_service_sid: Option<String>,
    /// The URL for delivery reports. Default: this server, if `public_url` and `callbacks.twilio_auth_token`
    /// are set.
    #[serde(default, deserialize_with = "text::optional_url")]
    pub(crate) callback_url: Option<Url>,
    /// Seconds to wait for an answer.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub(crate) timeout_seconds: usize,
}

fn url() -> SecretString {
    "https://api.twilio.com".into()
}

fn timeout_seconds() -> usize {
    15
}

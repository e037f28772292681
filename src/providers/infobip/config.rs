//! `provider = "infobip"`: Viber messages by Infobip.

use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use crate::settings::text;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InfobipSettings {
    /// The account's base URL: `https://….api.infobip.com`.
    #[serde(deserialize_with = "text::web_address")]
    pub(crate) url: SecretString,
    pub(crate) api_key: SecretString,
    /// The sender of messages without one.
    pub(crate) from: Option<String>,
    /// The content type that templates are sent as.
    #[serde(default = "template_type")]
    pub(crate) template_type: String,
    /// The URL for delivery reports. Default: this server, if `public_url` and `callbacks.infobip` are set.
    #[serde(default, deserialize_with = "text::optional_url")]
    pub(crate) callback_url: Option<Url>,
    /// Seconds to wait for an answer.
    #[serde(default = "timeout_seconds", deserialize_with = "text::count")]
    pub(crate) timeout_seconds: usize,
}

fn template_type() -> String {
    "OTP_TEMPLATE".to_owned()
}

fn timeout_seconds() -> usize {
    15
}

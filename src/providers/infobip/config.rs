//! `provider = "infobip"`: Viber messages by Infobip.

use std::sync::Arc;

use kernel::Channel;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;

use super::{
    callback::{self, PATH},
    send::Infobip,
};
use crate::{
    Provider,
    callback::{BasicCredentials, FromSettings as _},
    deps::ProviderDeps,
    settings::{ChannelSettings, text},
};

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

impl ChannelSettings for InfobipSettings {
    fn provider(&self, _: Channel, deps: &ProviderDeps) -> anyhow::Result<Arc<dyn Provider>> {
        let callbacks = callback_url(deps);
        let (client, clock) = (deps.client.clone(), deps.clock.clone());
        Ok(Arc::new(Infobip::new(self.clone(), callbacks, client, clock)))
    }
}

fn template_type() -> String {
    "OTP_TEMPLATE".to_owned()
}

fn timeout_seconds() -> usize {
    15
}

/// The URL for delivery reports at this server, with the credentials that Infobip shall send.
fn callback_url(deps: &ProviderDeps) -> Option<Url> {
    let key = callback::Infobip::KEY;
    let credentials = deps.callbacks.credentials::<BasicCredentials>(key).ok()??;
    let mut url = deps.callback_url(PATH)?;
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    url.set_username(&encoded(&credentials.username)).ok()?;
    url.set_password(Some(&encoded(credentials.password.expose_secret()))).ok()?;
    Some(url)
}

//! `provider = "http"`: the generic gateway, which receives the messages of any channel as JSON.

use std::sync::Arc;

use kernel::Channel;
use secrecy::SecretString;
use serde::Deserialize;

use super::send::Gateway;
use crate::{
    Provider,
    deps::ProviderDeps,
    settings::{ChannelSettings, EmailSender, Headers, text},
};

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

impl ChannelSettings for GatewaySettings {
    fn provider(&self, channel: Channel, deps: &ProviderDeps) -> anyhow::Result<Arc<dyn Provider>> {
        let (client, clock) = (deps.client.clone(), deps.clock.clone());
        Ok(Arc::new(Gateway::from_settings(self, channel.into(), client, clock)?))
    }

    fn email_sender(&self) -> anyhow::Result<EmailSender> {
        Ok(EmailSender { from: self.from.clone(), ..EmailSender::default() })
    }
}

fn timeout_seconds() -> usize {
    10
}

fn connections() -> usize {
    128
}

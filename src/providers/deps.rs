//! Dependencies of providers beside their own settings.

use std::sync::Arc;

use anyhow::Context as _;
use config::{Callbacks, Settings};
use kernel::Clock;
use url::Url;

use crate::{
    client::{self, Client, ClientOptions},
    webhook::Reach,
};

/// What providers are made with beside their own settings.
#[derive(Debug)]
pub struct ProviderDeps {
    /// The operator's certificate authorities, in PEM.
    pub(crate) own_authorities: Option<Vec<u8>>,
    pub(crate) options: ClientOptions,
    pub(crate) client: Client,
    /// The networks that calls to targets chosen by users may reach.
    pub(crate) reach: Reach,
    /// The credentials of callbacks: without a provider's, its callbacks are refused.
    pub(crate) callbacks: Callbacks,
    public_url: Option<Url>,
    pub(crate) clock: Clock,
}

impl ProviderDeps {
    pub(crate) fn from_settings(settings: &Settings, clock: Clock) -> anyhow::Result<Self> {
        let read = |path: &std::path::PathBuf| {
            std::fs::read(path)
                .with_context(|| format!("cannot read security.ca_file {}", path.display()))
        };
        let own_authorities = settings.security.ca_file.as_ref().map(read).transpose()?;
        let roots = client::roots(own_authorities.as_deref())
            .context("security.ca_file holds no certificates")?;
        let options = ClientOptions { roots: Arc::new(roots), http2_only: false };
        let allows_private = settings.security.allow_private_webhook_targets;
        Ok(Self {
            own_authorities,
            client: Client::new(&options),
            options,
            reach: if allows_private { Reach::Private } else { Reach::Public },
            callbacks: settings.callbacks.clone(),
            public_url: settings.public_url.clone(),
            clock,
        })
    }

    /// The URL of a path of callbacks at this server; none if its public URL is not set.
    pub(crate) fn callback_url(&self, path: &str) -> Option<Url> {
        let mut url = self.public_url.clone()?;
        let segments = path.trim_start_matches('/').split('/');
        url.path_segments_mut().ok()?.pop_if_empty().extend(segments);
        Some(url)
    }
}

//! The sources of callbacks that the settings have credentials for.

use std::collections::BTreeMap;

use config::Settings;
use providers::{
    callback::{CallbackSource, Secret},
    registry,
};

/// The configured sources; callbacks of others do not exist.
#[derive(Debug)]
pub struct CallbackSources {
    providers: BTreeMap<&'static str, Box<dyn CallbackSource>>,
    /// The secret of the operator's gateways and mail servers.
    pub generic: Option<Secret>,
}

impl CallbackSources {
    /// The sources that the settings have credentials for.
    ///
    /// # Errors
    /// If a setting cannot be used, with its key and the reason in one line.
    pub fn from_settings(settings: &Settings) -> anyhow::Result<Self> {
        let mut providers = BTreeMap::new();
        for (name, entry) in registry::callbacks() {
            if let Some(source) = (entry.from_settings)(settings)? {
                providers.insert(name, source);
            }
        }
        let generic = settings.callbacks.generic.as_ref().map(|one| Secret::read(&one.secret));
        let generic = generic
            .transpose()
            .map_err(|problem| anyhow::anyhow!("callbacks.generic.secret {problem}"))?;
        Ok(Self { providers, generic })
    }

    /// A provider's source of callbacks.
    pub fn of(&self, provider: &str) -> Option<&dyn CallbackSource> {
        self.providers.get(provider).map(Box::as_ref)
    }
}

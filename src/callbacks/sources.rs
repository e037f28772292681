//! The sources of callbacks that the settings have credentials for.

use std::collections::BTreeMap;

use config::Settings;
use providers::{
    callback::{CallbackSource, Secret},
    registry,
};

/// The sources that are set up; callbacks of others do not exist.
#[derive(Debug)]
pub struct CallbackSources {
    /// Providers, by name.
    providers: BTreeMap<&'static str, Box<dyn CallbackSource>>,
    /// Gateways and mail servers of the operator's own.
    pub generic: Option<Secret>,
}

impl CallbackSources {
    /// Reads the settings.
    ///
    /// # Errors
    /// When one of them cannot be used, with its key and the reason in one line.
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

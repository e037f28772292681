//! `[callbacks]`: delivery reports and replies from providers. Callbacks of a provider without credentials
//! here are refused, since they cannot be authenticated.
//!
//! The keys of a provider's credentials are its own, so they are kept as TOML until all sources are merged. The crate of
//! providers reads them ([`Callbacks::credentials`]): unknown and missing keys are refused by name.

use std::{fmt, net::SocketAddr};

use secrecy::SecretString;
use serde::{
    Deserialize,
    de::{DeserializeOwned, Error as _},
};
use toml::{Table, Value};

use super::Error;

const SOFT_BOUNCE_LIMIT: &str = "soft_bounce_limit";
const GENERIC: &str = "generic";

/// Callbacks about sent messages.
#[derive(Clone, Default, Deserialize)]
#[serde(try_from = "Table")]
pub struct Callbacks {
    /// Consecutive soft bounces after which an address counts as invalid; 0: never.
    pub soft_bounce_limit: u32,
    /// Own gateways, and mail servers that forward bounces.
    pub generic: Option<GenericCallbacks>,
    /// The credentials of providers, as they were given.
    given: Table,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenericCallbacks {
    /// The signing secret (Standard Webhooks): `whsec_` and base64, or any text.
    pub secret: SecretString,
}

impl Callbacks {
    /// The keys of `[callbacks]` that are no provider's.
    pub const OWN_KEYS: [&str; 2] = [SOFT_BOUNCE_LIMIT, GENERIC];

    /// The credentials under a key of `[callbacks]`; none if they are not set.
    ///
    /// # Errors
    /// If they cannot be read as `T`.
    pub fn credentials<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Error> {
        let read = self.given.get(key).map(|given| given.clone().try_into::<T>());
        read.transpose().map_err(|error| Error::Refused {
            source_name: format!("callbacks.{key}"),
            reason: super::one_line(&error.to_string()),
        })
    }

    /// Whether there are credentials under a key.
    pub fn has(&self, key: &str) -> bool {
        self.given.contains_key(key)
    }

    /// The keys of the credentials that are set.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.given.keys().map(String::as_str)
    }
}

impl TryFrom<Table> for Callbacks {
    type Error = toml::de::Error;

    fn try_from(mut given: Table) -> Result<Self, toml::de::Error> {
        let soft_bounce_limit = take(&mut given, SOFT_BOUNCE_LIMIT)?.unwrap_or_default();
        let generic = take(&mut given, GENERIC)?;
        Ok(Self { soft_bounce_limit, generic, given })
    }
}

/// Takes a key that is not a provider's.
fn take<T: DeserializeOwned>(given: &mut Table, key: &str) -> Result<Option<T>, toml::de::Error> {
    let read = given.remove(key).map(Value::try_into).transpose();
    read.map_err(|error| {
        let reason = super::one_line(&error.to_string());
        toml::de::Error::custom(format_args!("`{key}`: {reason}"))
    })
}

impl fmt::Debug for Callbacks {
    /// Values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callbacks")
            .field("soft_bounce_limit", &self.soft_bounce_limit)
            .field("generic", &self.generic)
            .field("given", &self.keys().collect::<Vec<_>>())
            .finish()
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inbound {
    /// Address where bounces are accepted by SMTP or LMTP; none: they are not.
    pub listen: Option<SocketAddr>,
}

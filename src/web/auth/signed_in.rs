//! People who are signed in at the console, for whom this process asks its own API.

use std::sync::Arc;

use http::request::Parts;
use kernel::{KeyId, Tenant};

use super::ScopeSet;

/// A person with a session of the console. In the extensions of a request it is a credential like a key, with the
/// same checks of scopes: only this process can put it there.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The id of the session, where that of a key would be.
    pub session: KeyId,
    pub tenant: Tenant,
    /// The name in audit entries.
    pub actor: String,
    pub scopes: ScopeSet,
    /// The workspace's reporting currency (ISO 4217), where one is set.
    pub currency: Option<String>,
    /// The workspace's time zone, an IANA name.
    pub timezone: String,
}

impl SignedIn {
    /// The person for whom a request was made, if it was made for one.
    pub(super) fn of(head: &Parts) -> Option<Arc<Self>> {
        head.extensions.get::<Arc<Self>>().cloned()
    }

    /// For audit entries: `user:<name>`.
    pub fn audit_name(&self) -> String {
        format!("user:{}", self.actor)
    }
}

//! What the list of providers says of each.

use crate::callback::CallbackEntry;

/// A provider.
#[derive(Debug)]
pub struct ProviderEntry {
    /// The name in settings and metrics.
    pub name: &'static str,
    /// Its callbacks, where it has any.
    pub callbacks: Option<CallbackEntry>,
}

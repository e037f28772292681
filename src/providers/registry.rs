//! Questions to the list of providers.

use crate::{PROVIDERS, callback::CallbackEntry};

/// The callbacks of all providers, each with the provider's name.
pub fn callbacks() -> impl Iterator<Item = (&'static str, &'static CallbackEntry)> {
    PROVIDERS.iter().filter_map(|entry| Some((entry.name, entry.callbacks.as_ref()?)))
}

//! What the services have in common: keys, addresses, and what became of a message at a device.

use std::{path::Path, time::Duration};

use anyhow::Context as _;
use secrecy::{ExposeSecret as _, SecretString};

use crate::model::Outcome;

/// Seconds a message is kept for a device that cannot be reached, where it does not say itself: the most
/// that FCM and browsers' services keep one.
pub(super) const TTL_SECONDS_DEFAULT: u32 = 28 * 24 * 60 * 60;

/// What became of a message at one device.
pub(super) struct Pushed {
    pub(super) outcome: Outcome,
    /// Whether the device is no more.
    pub(super) is_gone: bool,
}

impl From<Outcome> for Pushed {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, is_gone: false }
    }
}

/// A key as it was given, or out of its file.
pub(super) fn key(
    name: &str,
    given: Option<SecretString>,
    file: Option<&Path>,
) -> anyhow::Result<SecretString> {
    match (given, file) {
        (Some(key), None) => Ok(key),
        (None, Some(file)) => std::fs::read_to_string(file)
            .map(Into::into)
            .with_context(|| format!("cannot read `{name}_file` {}", file.display())),
        _ => anyhow::bail!("one of `{name}` and `{name}_file` is needed"),
    }
}

/// An address with what the settings begin it with.
pub(super) fn base(url: &SecretString) -> String {
    url.expose_secret().trim_end_matches('/').to_owned()
}

pub(super) fn timeout(seconds: usize) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(u64::MAX))
}

/// Whether an icon is an address, and not the name of one in the app.
pub(super) fn is_address(icon: &str) -> bool {
    icon.starts_with("https://") || icon.starts_with("http://")
}

//! Suppressions: scopes, adding, importing, look-ups, removal and history.

mod access;
mod add;
pub(crate) mod history;
mod import;
mod lookup;
mod metrics;
mod remove;

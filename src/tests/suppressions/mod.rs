//! Suppressions: scopes, adding, importing, look-ups and removal.

mod access;
mod add;
mod import;
mod lookup;
mod metrics;
mod remove;

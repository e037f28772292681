//! The SQL of what apps show, and of what user tokens are checked with.

pub(super) mod recipients;
pub(super) mod token_keys;

//! The SQL of in-app recipients and of the keys that verify user tokens.

pub(super) mod recipients;
pub(super) mod token_keys;

//! The SQL of what apps show.

pub(super) mod recipients;

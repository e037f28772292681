//! `/users/*`: profiles, and the events of a profile.

pub mod api;

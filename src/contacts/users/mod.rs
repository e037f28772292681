//! `/users/*`: profiles, and the events of a profile.

pub mod api;
pub mod model;
pub mod ops;
mod store;

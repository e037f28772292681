//! Reports of campaigns, computed from message lifecycle events and from the events of profiles.

pub mod api;
pub mod model;
pub mod ops;
mod store;

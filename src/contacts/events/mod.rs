//! `/events/*`: tracking, querying and aggregating behavioural events.

pub mod api;
pub mod model;
pub mod ops;
mod store;

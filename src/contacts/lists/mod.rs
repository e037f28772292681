//! `/lists/*`: subscription lists and their members.

pub mod api;
pub mod model;
pub mod ops;
mod store;

//! `/lists/*`: what a contact can subscribe to by name, and who did.

pub mod api;
pub mod model;
pub mod ops;
mod store;

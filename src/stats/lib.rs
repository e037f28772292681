//! What campaigns achieved: every report, counted from what is told of messages and what people did.

pub mod api;
pub mod model;
pub mod ops;
mod store;

//! The SQL of delivery.

pub mod devices;
pub(in crate::delivery) mod feedback;
pub mod in_app;
pub mod messages;
pub mod short_links;

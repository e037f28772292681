//! The SQL of delivery.

pub mod devices;
pub mod messages;

//! The SQL of delivery.

pub mod messages;

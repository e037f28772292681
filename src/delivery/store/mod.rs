//! The SQL of delivery.

pub(in crate::delivery) mod claims;
pub(in crate::delivery) mod confirmations;
pub mod devices;
pub(in crate::delivery) mod feedback;
pub(in crate::delivery) mod idempotency;
pub mod in_app;
pub(in crate::delivery) mod lanes;
pub(in crate::delivery) mod limits;
pub mod messages;
pub(in crate::delivery) mod recipients;
pub(in crate::delivery) mod retention;
pub(in crate::delivery) mod runs;
pub mod short_links;
pub(in crate::delivery) mod volume;
pub(in crate::delivery) mod written;

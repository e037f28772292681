//! The SQL of delivery.

pub(crate) mod claims;
pub(crate) mod confirmations;
pub mod devices;
pub(crate) mod feedback;
pub(crate) mod idempotency;
pub mod in_app;
pub(crate) mod last_sender;
pub(crate) mod limits;
pub(crate) mod merged;
pub mod messages;
pub(crate) mod queues;
pub(crate) mod recipients;
pub(crate) mod restored;
pub(crate) mod retention;
pub(crate) mod runs;
pub(crate) mod scope;
pub mod short_links;
pub(crate) mod volume;

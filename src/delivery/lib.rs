//! Delivery: sends messages. A run of a campaign creates a message for each recipient; a message is claimed, checked for
//! eligibility, rendered and sent to the channel's provider, and its outcome is recorded.

pub mod api;
pub mod model;
pub mod ops;
pub mod render;
pub mod store;

mod state;

pub use self::state::{DeliveryParts, DeliveryState};
pub mod triggers;

//! Delivery: what leaves. A campaign's occurrence becomes recipients, each of them a message; a message
//! is claimed, judged at the gate, rendered, handed to the channel's provider, and its outcome kept.

pub mod api;
pub mod model;
pub mod ops;
pub mod render;
pub mod store;

mod state;

pub use self::state::{DeliveryParts, DeliveryState};
pub mod triggers;

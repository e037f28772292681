//! `/campaigns/*`: campaigns, their definitions, versions and lifecycle.

pub mod api;
pub mod model;
pub mod ops;
mod store;

mod state;

pub use self::state::{CampaignParts, CampaignState};
pub mod due_signal;

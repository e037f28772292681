//! `/campaigns/*`: what a campaign is, and all that can be done to one before and after it runs.

pub mod api;
pub mod model;
pub mod ops;
mod store;

mod state;

pub use self::state::{CampaignParts, CampaignState};
pub mod due_signal;

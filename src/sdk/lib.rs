//! `/v1/*`: the endpoints for apps and web pages. An SDK key is public, since every copy of an app contains
//! it; a user token, signed by the workspace's backend, proves who the person is.

pub mod api;
mod event_sdks;
pub mod model;
pub mod ops;
mod origins;
pub mod profile_calls;
mod store;

pub use self::origins::Origins;

mod state;

pub use self::state::{SdkParts, SdkState};

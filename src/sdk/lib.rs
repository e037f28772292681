//! `/v1/*`: what apps and pages talk to, by an SDK key that anybody who has the app can read. Whose calls they
//! are is proven by a user token, which the workspace's backend signs.

pub mod api;
pub mod model;
pub mod ops;
mod origins;
mod store;

pub use self::origins::Origins;

mod state;

pub use self::state::{SdkParts, SdkState};

//! `/o/:token`, `/l/:token`, `/s/:code`: the pixel and the links in messages. They record opens and clicks
//! and redirect; they never change consent, and redirect only to signed targets.

pub mod api;
mod machine;
mod stored_rate;

pub use self::stored_rate::StoredRate;

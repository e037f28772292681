//! `/o/:token`, `/l/:token`, `/s/:code`: the pixel and the links in messages. They tell what was opened and
//! followed, and lead on; they never change what anybody agreed to, and lead nowhere that we did not sign.

pub mod api;
mod machine;
mod stored_rate;

pub use self::stored_rate::StoredRate;

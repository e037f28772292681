//! Which in-app messages suit an app and a moment, what apps tell of them, and what user tokens prove. Pure.

mod impression_log;
mod occasion;
mod token_key;
pub mod user_token;

pub use self::{
    impression_log::{ImpressionLog, Kind, hash_of},
    occasion::{App, Occasion, Shown, may_show, suits},
    token_key::{KeyAlgorithm, PEM_BYTES_MAX, PublicKey},
    user_token::{TokenKeys, X_USER_TOKEN},
};

//! Selection of in-app messages, counting of displays, and verification of user tokens, without I/O.

mod impression_log;
mod occasion;
mod token_key;
pub mod user_token;

pub use self::{
    impression_log::{ImpressionLog, InAppEventKind, hash_of},
    occasion::{App, DisplayHistory, Occasion, may_display, suits},
    token_key::{KeyAlgorithm, PEM_BYTES_MAX, PublicKey},
    user_token::{TokenKeys, X_USER_TOKEN},
};

//! Which in-app messages suit an app and a moment, what apps tell of them, and what user tokens prove. Pure.

mod occasion;
mod token_key;
mod told;
pub mod user_token;

pub use self::{
    occasion::{App, Occasion, Shown, may_show, suits},
    token_key::{KeyAlgorithm, PEM_BYTES_MAX, PublicKey},
    told::{Kind, Told, hash_of},
    user_token::{TokenKeys, X_USER_TOKEN},
};

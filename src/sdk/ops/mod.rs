//! What apps ask for and tell.

pub(super) mod events;
mod live;
pub(super) mod messages;
pub(super) mod public_messages;
pub(super) mod subject;
pub mod token_keys;
mod user_tokens;

pub use self::{live::Live, user_tokens::UserTokens};
